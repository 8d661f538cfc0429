"""Documents of one language as files have them: order and repeats kept, each sentence with its line."""

from __future__ import annotations

import re
from collections import Counter, defaultdict
from collections.abc import Iterable, Iterator, Sequence
from itertools import chain, groupby
from typing import NamedTuple

import numpy as np

from mining.errors import InputError
from mining.language_id import is_known, language_probabilities
from mining.paths import expand, resolve
from pipelines.datasets.manifest import Dataset
from pipelines.datasets.sentences import read_shard
from pipelines.prepare.parts import clean
from pipelines.prepare.readers import Block, ReadSettings, document_format, read_block
from pipelines.prepare.readers.blocks import Format
from pipelines.prepare.readers.formats import reader_format

_LOOKED_AT = 20  # sentences that tell the language
_LEAST_PROBABILITY = 0.3
_CODE = re.compile(r"(?<![A-Za-z0-9])([a-z]{2,3})(?:[-_][A-Za-z]{2,4})?(?![A-Za-z0-9])")
EMPTY, OTHER_LANGUAGE = "empty", "other language"
REPEATED = "a document of this name came before"
_ARCHIVES = ("wet", "warc")


class DocumentText(NamedTuple):
    """Sentences in order; `lines` are those of the file, or of an archive the number of the record."""

    name: str
    texts: list[str]
    lines: list[int]
    alternates: dict[str, str] | None = None  # what a page says its name in other languages is
    ids: tuple[range, ...] = ()  # of its sentences, in a dataset
    file: str = ""  # that its name is known in; none for a page, whose URL is its name in any archive
    paragraphs: list[int] | None = None  # of each sentence, where its line does not tell


class _Names:
    """Names of the documents so far, each in its file."""

    def __init__(self) -> None:
        self._files: dict[str, set[str]] = {}

    def is_repeated(self, document: DocumentText) -> bool:
        files = self._files.setdefault(document.name, set())
        repeated = document.file in files
        files.add(document.file)
        return repeated

    def full(self, name: str, file: str) -> str:
        """The name, with its file where other files have documents of that name."""
        return f"{file}#{name}" if file and len(self._files[name]) > 1 else name


class Corpus(NamedTuple):
    """The documents that can be aligned, and why others cannot."""

    lang: str
    documents: list[DocumentText]
    refused: list[tuple[str, str]]  # document, reason
    dropped: Counter[str]  # lines that readers dropped

    @property
    def sentences(self) -> int:
        return sum(len(document.texts) for document in self.documents)

    @property
    def texts(self) -> list[str]:
        """All sentences, one document behind another."""
        return [text for document in self.documents for text in document.texts]

    @property
    def starts(self) -> np.ndarray:
        return np.concatenate([[0], np.cumsum([len(document.texts) for document in self.documents])]).astype(np.int64)


def read_corpus(inputs: Iterable[str], settings: ReadSettings, lang_filter: str = "detect") -> Corpus:
    """All documents of files, folders and globs, in order; an empty one or one in another language is refused."""
    dropped: Counter[str] = Counter()
    files = document_files(inputs)
    documents = (document for file in files for document in _of_file(file, settings, dropped))
    return _accepted(documents, settings.lang, lang_filter, files, dropped)


def read_prepared(dataset: Dataset, lang: str, lang_filter: str = "detect") -> Corpus:
    """The same from a dataset of `prepare` that has documents; each has the ids of its sentences."""
    files = [given.name for given in dataset.manifest.request.inputs]
    read: set[str] = set()
    corpus = _accepted(_of_dataset(dataset, read), lang, lang_filter, files, Counter(dataset.manifest.counters.dropped))
    return corpus._replace(refused=[*corpus.refused, *((file, EMPTY) for file in files if file not in read)])


def _accepted(
    found: Iterable[DocumentText], lang: str, lang_filter: str, files: Sequence[str], dropped: Counter[str]
) -> Corpus:
    check = lang_filter == "detect"
    if check and not is_known(lang):
        raise InputError(f"the language detector does not know {lang}; use --lang-filter assume")
    documents: list[DocumentText] = []
    refused: list[tuple[str, str, str]] = []
    names = _Names()
    for document in _grouped(found):
        reason = None
        if names.is_repeated(document):
            reason = REPEATED
            dropped["repeated_document"] += len(document.texts)
        elif not document.texts:
            reason = EMPTY
        elif check and _language(document, lang) < _LEAST_PROBABILITY:
            reason = f"{OTHER_LANGUAGE} than {lang}"
        if reason is None:
            documents.append(document)
        else:
            refused.append((document.name, document.file, reason))
    if not documents:
        why = ", ".join(f"{count} {reason}" for reason, count in Counter(reason for *_, reason in refused).items())
        raise InputError(f"{', '.join(files[:3])}: no document is left to align ({why or 'there is none'})")
    documents = [document._replace(name=names.full(document.name, document.file)) for document in documents]
    named = [(names.full(name, file), reason) for name, file, reason in refused]
    return Corpus(lang, documents, named, dropped)


def _grouped(runs: Iterable[DocumentText]) -> Iterator[DocumentText]:
    """Lines of one name in a file are one document, for which the file is held; pages of archives pass as they are."""
    for file, same in groupby(runs, key=lambda run: run.file):
        if not file:
            yield from same
            continue
        documents: dict[str, list[DocumentText]] = defaultdict(list)
        for run in same:
            documents[run.name].append(run)
        yield from map(_joined, documents.values())


def _joined(runs: list[DocumentText]) -> DocumentText:
    columns = zip(*((run.texts, run.lines, run.ids) for run in runs), strict=True)
    texts, lines, ids = (list(chain.from_iterable(column)) for column in columns)
    return runs[0]._replace(texts=texts, lines=lines, ids=tuple(ids))


def _of_dataset(dataset: Dataset, files: set[str]) -> Iterator[DocumentText]:
    """Runs of its documents; `files` gets the names of those that have a sentence."""
    current: DocumentText | None = None
    begin = 0
    kind = ReadSettings.model_validate(dataset.manifest.request.configuration["read"]).format
    for shard in dataset.shards:
        table = read_shard(dataset.shard_url(shard), ["id", "document", "position", "line", "text", "source"])
        if "position" not in table.column_names:
            raise InputError(f"{dataset.url} has no documents; make it with `twinlode prepare --documents`")
        files.update(table["source"].unique().to_pylist())
        for first, name, place, line, text, source in zip(
            *(column.to_pylist() for column in table.columns), strict=True
        ):
            if place == 0 or current is None:
                if current is not None:
                    yield _numbered(current, begin)
                current, begin = DocumentText(name, [], [], file=_file_of_names(source, kind)), first
            current.texts.append(text)
            current.lines.append(line)
    if current is not None:
        yield _numbered(current, begin)


def _numbered(run: DocumentText, first: int) -> DocumentText:
    return run._replace(ids=(range(first, first + len(run.texts)),))


def document_files(inputs: Iterable[str]) -> list[str]:
    """The files of paths, globs and folders (all files under them but hidden ones), each once."""
    files: dict[str, None] = {}
    for given in inputs:
        filesystem, path = resolve(given)
        if not filesystem.isdir(path):
            files |= dict.fromkeys(expand([given]))
            continue
        inside = [str(name) for name in sorted(filesystem.find(path))]
        inside = [name for name in inside if not any(part.startswith(".") for part in name[len(path) :].split("/"))]
        if not inside:
            raise InputError(f"{given}: there is no file in this folder")
        local = "file" in filesystem.protocol
        files |= dict.fromkeys(name if local else str(filesystem.unstrip_protocol(name)) for name in inside)
    return list(files)


def _file_of_names(file: str, kind: Format | None) -> str:
    """The file in which names of documents are known, none for an archive: a URL is one page in all of them."""
    return "" if (kind or reader_format(file)) in _ARCHIVES else file


def _of_file(file: str, settings: ReadSettings, dropped: Counter[str]) -> Iterator[DocumentText]:
    """The documents of one file: runs of one name where rows have names, else the whole file."""
    kind = document_format(file, settings)
    owner = _file_of_names(file, kind)
    current = DocumentText(file, [], [], file=owner)
    named = False
    for batch in (clean(batch, None) for batch in read_block(Block(0, file, kind), settings)):
        dropped.update(batch.dropped)
        for place, (text, line) in enumerate(zip(batch.texts, batch.lines.tolist(), strict=True)):
            ref = batch.refs[place] if batch.refs is not None else None
            name = file if ref is None else ref
            if not named or name != current.name:
                if named:
                    yield current
                paragraphs: list[int] | None = None if batch.paragraphs is None else []
                alternates = (batch.alternates or {}).get(name)
                current = DocumentText(name, [], [], alternates, file=owner, paragraphs=paragraphs)
            named = True
            current.texts.append(text)
            current.lines.append(line)
            if batch.paragraphs is not None and current.paragraphs is not None:
                current.paragraphs.append(int(batch.paragraphs[place]))
    yield current


def _language(document: DocumentText, lang: str) -> float:
    """The mean probability of the language over the longest sentences."""
    longest = sorted(document.texts, key=len)[-_LOOKED_AT:]
    return float(language_probabilities([text.replace("\n", " ") for text in longest], lang).mean())


def document_keys(source: Corpus, target: Corpus) -> tuple[list[str], list[str]]:
    """Keys that are equal for two documents whose names differ by the language alone, or of which one names the other
    as its translation (`hreflang`).
    """
    sides = source, target
    keys = [[document_key(document.name, side.lang) for document in side.documents] for side in sides]
    places = [{document.name: place for place, document in enumerate(side.documents)} for side in sides]
    for number, side in enumerate(sides):
        for place, document in enumerate(side.documents):
            mate = places[1 - number].get((document.alternates or {}).get(sides[1 - number].lang, ""))
            if mate is not None:
                keys[number][place] = keys[1 - number][mate] = f"hreflang {(place, mate)[number]}"
    return keys[0], keys[1]


def document_key(name: str, lang: str) -> str:
    """A path or URL with its language codes taken out (`/en/`, `page.en.html`, `?lang=en`); empty where it has none."""
    key, changes = _CODE.subn(lambda found: "*" if found[1] == lang else found[0], name)
    return key.lower() if changes and "*" in key else ""
