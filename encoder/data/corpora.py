"""Which files to train on: the `data` section of a training configuration."""

from __future__ import annotations

import re
from pathlib import PurePosixPath
from typing import Literal, NamedTuple

from pydantic import Field, field_validator, model_validator

from encoder.languages import canonical
from encoder.settings import Settings
from mining.errors import InputError
from mining.paths import COMPRESSIONS, extension, matching, own_name, require_file

# text: one sentence a line. nway: TSV whose first line names languages. nli: triples; nli-parallel: the same from
# files that translate each other line by line; nli-pairs: entailments alone; nli-premises: groups, the premises of such
# files.
Format = Literal[
    "tsv",
    "jsonl",
    "parquet",
    "moses",
    "po",
    "mo",
    "tmx",
    "text",
    "nway",
    "nli",
    "nli-parallel",
    "nli-pairs",
    "nli-premises",
]
_LINE_BY_LINE = ("nli-parallel", "nli-premises")
_ONE_LANGUAGE = ("text", "nli", "nli-pairs", *_LINE_BY_LINE)
_EXTENSIONS: dict[str, Format] = {
    "tsv": "tsv",
    "txt": "tsv",
    "jsonl": "jsonl",
    "parquet": "parquet",
    "po": "po",
    "mo": "mo",
    "tmx": "tmx",
}


class CorpusSettings(Settings):
    """Some files of one format. Languages not given are taken from the file itself or from a name like en-de.tsv.xz."""

    path: str = Field(description="Path, glob or URL; for moses the part before .de and .en.")
    format: Format | None = Field(None, description="Taken from the extension when not given.")
    langs: tuple[str, ...] | None = Field(None, description="Two of parallel text, one of text and NLI.")
    columns: tuple[int | str, int | str] | None = Field(
        None, description="TSV: column numbers from 0 (default 0 and 1). Parquet: names (default src_text, tgt_text)."
    )
    most: int | None = Field(None, ge=1, description="Draw this many pairs (groups, triples, sentences) at random.")
    weight: float = Field(1.0, gt=0, description="How much more often it is drawn from than by size.")

    @field_validator("langs")
    @classmethod
    def _known_languages(cls, langs: tuple[str, ...] | None) -> tuple[str, ...] | None:
        return langs and tuple(canonical(code) for code in langs)

    @model_validator(mode="after")
    def _number_of_languages(self) -> CorpusSettings:
        wanted = 1 if self.format in _ONE_LANGUAGE else 2
        if self.langs is not None and len(self.langs) != wanted:
            raise ValueError(f"{self.path}: langs must name {('', 'one language', 'two languages')[wanted]}")
        return self


class AssemblySettings(Settings):
    """Groups of translations out of pairs (or smaller groups) that have a sentence in common."""

    pivots: tuple[str, ...] = Field(("en",), min_length=1, description="Languages whose equal sentences join pairs.")
    most: int = Field(16, ge=3, description="Sentences of one group; what would be larger is split.")

    @field_validator("pivots")
    @classmethod
    def _known_languages(cls, pivots: tuple[str, ...]) -> tuple[str, ...]:
        return tuple(canonical(code) for code in pivots)


class DataSettings(Settings):
    """Which parallel text is trained on."""

    corpora: tuple[CorpusSettings, ...]
    languages: tuple[str, ...] | None = Field(None, description="Keep only these languages; all when not given.")
    pairs: Literal["english", "all"] = Field(
        "english", description="Pairs to make of a group of translations: those with English, or all."
    )
    temperature: float = Field(
        1.0, ge=1, description="Language pair with n pairs is drawn in proportion to n^(1/temperature)."
    )
    assemble: AssemblySettings | None = Field(
        None, description="For objectives on groups: join pairs with a common sentence into groups first."
    )
    cache: str | None = Field(None, description="Folder for tokenized data that runs may share; DIR/data by default.")

    @field_validator("corpora")
    @classmethod
    def _some_corpus(cls, corpora: tuple[CorpusSettings, ...]) -> tuple[CorpusSettings, ...]:
        if not corpora:
            raise ValueError("no corpus is listed; add one, for example {path: data/*.tsv, langs: [en, de]}")
        return corpora

    @field_validator("languages")
    @classmethod
    def _known_languages(cls, languages: tuple[str, ...] | None) -> tuple[str, ...] | None:
        return languages and tuple(sorted({canonical(code) for code in languages}))


class CorpusFile(NamedTuple):
    """One file of a corpus with everything decided; a Moses pair is one of these, with two paths."""

    corpus: int  # position in DataSettings.corpora
    paths: tuple[str, ...]
    format: Format
    langs: tuple[str, ...] | None
    columns: tuple[int | str, int | str] | None

    @property
    def name(self) -> str:
        return self.paths[0]


def find_files(data: DataSettings) -> list[CorpusFile]:
    """All files of all corpora, globs expanded and in a fixed order."""
    return [file for number, corpus in enumerate(data.corpora) for file in _corpus_files(number, corpus)]


def _corpus_files(number: int, corpus: CorpusSettings) -> list[CorpusFile]:
    if corpus.format == "moses":
        return [_moses_pair(number, corpus)]
    paths = matching(corpus.path)
    if not paths:
        raise InputError(f"{corpus.path}: no such file; paths in a configuration start from the current folder")
    if corpus.format in _LINE_BY_LINE:
        return [CorpusFile(number, tuple(paths), corpus.format, None, None)]
    files = []
    for path in paths:
        require_file(path)
        kind = corpus.format or corpus_format(path)
        langs = corpus.langs or (None if kind in _ONE_LANGUAGE else _languages_in_name(path))
        if langs is None and kind in ("tsv", "parquet"):
            raise InputError(f"{path}: which languages? Add `langs: [en, de]` to the corpus or name the file en-de.tsv")
        if langs is None and kind == "text":
            raise InputError(f"{path}: which language? Add `langs: [en]` to the corpus")
        files.append(CorpusFile(number, (path,), kind, langs, corpus.columns))
    return files


def corpus_format(path: str) -> Format:
    """By the extension."""
    kind = extension(path)
    if kind not in _EXTENSIONS:
        raise InputError(f"{path}: the format is not clear from the name; add `format:` to the corpus")
    return _EXTENSIONS[kind]


def _languages_in_name(path: str) -> tuple[str, str] | None:
    match = re.search(r"(?:^|[._])([A-Za-z]{2,3})-([A-Za-z]{2,3})\.", PurePosixPath(own_name(path)).name)
    try:
        return (canonical(match[1]), canonical(match[2])) if match else None
    except InputError as error:
        raise InputError(f"{path}: {error}; add `langs: [en, de]` to the corpus") from None


def _moses_pair(number: int, corpus: CorpusSettings) -> CorpusFile:
    if corpus.langs is None:
        raise InputError(f"{corpus.path}: a moses corpus needs `langs: [de, en]`, the endings of its two files")
    sides = []
    endings = [f".{name}" for name in COMPRESSIONS]
    for lang in corpus.langs:
        found = [path for end in ("", *endings) for path in matching(f"{corpus.path}.{lang}{end}")]
        if not found:
            raise InputError(f"{corpus.path}.{lang}: no such file (nor with {', '.join(endings)})")
        sides.append(found[0])
    return CorpusFile(number, tuple(sides), "moses", corpus.langs, None)
