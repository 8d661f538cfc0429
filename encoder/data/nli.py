"""Readers of natural language inference: premises with what follows from them and what contradicts them.

Known by their header, comma- or tab-separated; XNLI's form also as JSON lines:
- SimCSE: `sent0,sent1,hard_neg`, one triple a line;
- XNLI and everything in its form: `language, gold_label, sentence1, sentence2, promptID, pairID, ...`; pairs that share
  `promptID` and `pairID` in several languages become cross-lingual;
- XNLI's machine-translated training text: `premise, hypo, label`, one language a file; with `format: nli-parallel` the
  files of a glob are read line by line together, as they translate each other;
- two languages side by side: `label, sentence1_en, sentence2_en, sentence1_sw, sentence2_sw`.
"""

from __future__ import annotations

import csv
import json
import random
import re
from collections.abc import Callable, Iterable, Iterator, Mapping
from itertools import zip_longest
from pathlib import PurePosixPath
from typing import NamedTuple

from encoder.data.corpora import CorpusFile
from encoder.data.parallel_rows import Group, Malformed, Row, Triple
from encoder.languages import canonical
from mining.errors import InputError
from mining.files import readable_lines

_LABELS = {"entailment": "entailment", "contradiction": "contradiction", "contradictory": "contradiction"}
_SIDE = re.compile(r"sentence([12])_([A-Za-z]{2,3})")


class _Line(NamedTuple):
    number: int
    cells: dict[str, str]


class _Statement(NamedTuple):
    """One labelled hypothesis in one or more languages."""

    prompt: str
    label: str
    premise: dict[str, str]
    hypothesis: dict[str, str]


class _Premise(NamedTuple):
    """All that a file says about one premise; texts by language."""

    texts: dict[str, str]
    entailments: list[dict[str, str]]
    contradictions: list[dict[str, str]]


def read_triples(file: CorpusFile) -> Iterator[Row]:
    """A triple for each entailment: the k-th of a premise goes with its k-th contradiction, or its last.

    Where a premise has none, a contradiction of another one serves, drawn at random, as in mSimCSE's script. Premises
    are put together by `promptID` or text over the whole file, which is read before the first triple.
    """
    return _read(file, _triples)


def _read(file: CorpusFile, combine: Callable[[Iterable[_Statement | Malformed]], Iterator[Row]]) -> Iterator[Row]:
    lines = _lines(file)
    first = next(lines, None)
    if isinstance(first, _Line) and {"sent0", "sent1", "hard_neg"} <= first.cells.keys():
        yield from _simcse_triples(file, first, lines)
        return
    yield from combine(_statements(file, first, lines))


def read_parallel_triples(file: CorpusFile) -> Iterator[Row]:
    """Cross-lingual triples from files that have the same statements, line by line, in one language each."""
    return _triples(_parallel_statements([file._replace(paths=(path,)) for path in file.paths]))


def _triples(statements: Iterable[_Statement | Malformed]) -> Iterator[Row]:
    """None where nothing is contradicted: there would be no hard negative."""
    return (row for row in _entailments(statements) if not isinstance(row, Triple) or row.negative.texts)


def _entailments(statements: Iterable[_Statement | Malformed]) -> Iterator[Row]:
    """Triples, whose hard negatives are empty where the file has no contradiction at all."""
    by_prompt: dict[str, list[_Statement]] = {}
    for item in statements:
        if isinstance(item, Malformed):
            yield item
        else:
            by_prompt.setdefault(item.prompt, []).append(item)
    premises = [_premise(about) for about in by_prompt.values()]
    contradictions = [negative for premise in premises for negative in premise.contradictions] or [{}]
    draw = random.Random(0)
    for premise in premises:
        last = len(premise.contradictions) - 1
        for number, positive in enumerate(premise.entailments):
            negative = premise.contradictions[min(number, last)] if last >= 0 else draw.choice(contradictions)
            yield Triple(*map(_as_group, (premise.texts, positive, negative)))


def read_premises(file: CorpusFile) -> Iterator[Row]:
    """The premise of every line in all languages, as a group: what MPCL learns from. It repeats for each hypothesis."""
    for item in _parallel_statements([file._replace(paths=(path,)) for path in file.paths]):
        yield item if isinstance(item, Malformed) else _as_group(item.premise)


def _parallel_statements(files: list[CorpusFile]) -> Iterator[_Statement | Malformed]:
    for lines in zip_longest(*(_lines(file) for file in files)):
        if None in lines:
            short = files[lines.index(None)].name
            raise InputError(f"{short} ends before the others: files of a nli-parallel corpus need equally many lines")
        found = [
            line if isinstance(line, Malformed) else _statement(file, line)
            for file, line in zip(files, lines, strict=True)
        ]
        wrong = next((item for item in found if isinstance(item, Malformed)), None)
        if wrong is not None:
            yield wrong
            continue
        first, *others = (item for item in found if isinstance(item, _Statement))
        for file, other in zip(files[1:], others, strict=True):
            if twice := first.premise.keys() & other.premise.keys():
                raise InputError(
                    f"{file.name}: another file of this nli-parallel corpus is in {', '.join(sorted(twice))}, too; "
                    "their names must tell languages, as multinli.train.fr.tsv does"
                )
            first.premise.update(other.premise)
            first.hypothesis.update(other.hypothesis)
        yield first


def read_entailments(file: CorpusFile) -> Iterator[Row]:
    """Premise and entailed hypothesis of one language as a pair: what mSimCSE mixes with translations."""
    for row in _read(file, _entailments):
        if isinstance(row, Triple):
            texts = dict(row.positive.sentences)
            for lang, text in row.anchor.sentences:
                if lang in texts:
                    yield Group((lang, lang), (text, texts[lang]))
        else:
            yield row


def _premise(about: list[_Statement]) -> _Premise:
    texts: dict[str, str] = {}
    hypotheses: dict[str, dict[str, dict[str, str]]] = {"entailment": {}, "contradiction": {}}
    for _, label, said, hypothesis in about:
        texts |= said
        if label in hypotheses:
            hypotheses[label].setdefault(next(iter(hypothesis.values())), hypothesis)
    return _Premise(texts, *(list(found.values()) for found in hypotheses.values()))


def _as_group(texts: dict[str, str]) -> Group:
    return Group(tuple(texts), tuple(texts.values()))


def _simcse_triples(file: CorpusFile, first: _Line, rest: Iterable[_Line | Malformed]) -> Iterator[Row]:
    langs = (_language(file) or "en",)
    for line in (first, *rest):
        if isinstance(line, Malformed):
            yield line
            continue
        texts = [line.cells[name].strip() for name in ("sent0", "sent1", "hard_neg")]
        if all(texts):
            yield Triple(*(Group(langs, (text,)) for text in texts))
        else:
            yield Malformed(line.number, "empty side")


def _statements(
    file: CorpusFile, first: _Line | Malformed | None, rest: Iterable[_Line | Malformed]
) -> Iterator[_Statement | Malformed]:
    merged: dict[tuple[str, str], _Statement] = {}
    for line in (first, *rest):
        if line is None:
            return
        if isinstance(line, Malformed):
            yield line
            continue
        statement = _statement(file, line)
        if isinstance(statement, Malformed):
            yield statement
        elif "pairID" in line.cells:
            key = (statement.prompt, line.cells["pairID"])
            before = merged.setdefault(key, statement)
            before.premise.update(statement.premise)
            before.hypothesis.update(statement.hypothesis)
        else:
            yield statement
    yield from merged.values()


def _statement(file: CorpusFile, line: _Line) -> _Statement | Malformed:
    cells = line.cells
    label = _LABELS.get(cells.get("gold_label", cells.get("label", "")).strip(), "neutral")
    sides = {_SIDE.fullmatch(name): text.strip() for name, text in cells.items() if _SIDE.fullmatch(name)}
    try:
        if sides:
            premise = {canonical(match[2]): text for match, text in sides.items() if match and match[1] == "1"}
            hypothesis = {canonical(match[2]): text for match, text in sides.items() if match and match[1] == "2"}
        elif "sentence1" in cells:
            lang = canonical(cells["language"]) if cells.get("language") else _language(file) or "en"
            premise, hypothesis = {lang: cells["sentence1"].strip()}, {lang: cells["sentence2"].strip()}
        else:
            lang = _language(file) or "en"
            premise, hypothesis = {lang: cells["premise"].strip()}, {lang: cells["hypo"].strip()}
    except InputError as error:
        raise InputError(f"{file.name}, line {line.number}: {error}") from None
    if not all(premise.values()) or not all(hypothesis.values()):
        return Malformed(line.number, "empty side")
    return _Statement(cells.get("promptID") or next(iter(premise.values())), label, premise, hypothesis)


def _language(file: CorpusFile) -> str | None:
    """From the corpus settings, or from a name like multinli.train.fr.tsv."""
    if file.langs:
        return file.langs[0]
    match = re.search(r"\.([a-z]{2,3})\.(?:tsv|csv|jsonl)\b", PurePosixPath(file.name).name)
    return canonical(match[1]) if match else None


def _lines(file: CorpusFile) -> Iterator[_Line | Malformed]:
    texts = enumerate(readable_lines(file.name), 1)
    number, header = next(texts, (1, None))
    if header is None:
        raise InputError(f"{file.name}: empty, or its first line is not UTF-8")
    if header.lstrip().startswith("{"):
        yield _json_line(number, header)
        for number, text in texts:
            yield Malformed(number, "not valid UTF-8") if text is None else _json_line(number, text)
        return
    comma = "\t" not in header
    names = [name.strip() for name in _cells(header, comma)]
    _require_known(file, names)
    for number, text in texts:
        cells = [] if text is None else _cells(text, comma)
        if len(cells) == len(names):
            yield _Line(number, dict(zip(names, cells, strict=True)))
        else:
            yield Malformed(
                number, "not valid UTF-8" if text is None else f"{len(cells)} columns instead of {len(names)}"
            )


def _cells(line: str, comma: bool) -> list[str]:
    return next(csv.reader([line]), []) if comma else line.split("\t")


def _json_line(number: int, text: str) -> _Line | Malformed:
    try:
        entry = json.loads(text)
    except json.JSONDecodeError:
        return Malformed(number, "not valid JSON")
    if not isinstance(entry, Mapping) or "sentence1" not in entry or "sentence2" not in entry:
        return Malformed(number, "not an object with sentence1 and sentence2")
    return _Line(number, {name: str(value) for name, value in entry.items() if value is not None})


def _require_known(file: CorpusFile, names: list[str]) -> None:
    there = set(names)
    label = there & {"gold_label", "label"}
    sides = {match[1] for name in names if (match := _SIDE.fullmatch(name))}
    if {"sent0", "sent1", "hard_neg"} <= there or (
        label and ({"sentence1", "sentence2"} <= there or {"premise", "hypo"} <= there or sides == {"1", "2"})
    ):
        return
    raise InputError(
        f"{file.name}, line 1: not a header of NLI data; it must name sent0, sent1 and hard_neg, or gold_label, "
        "sentence1 and sentence2, or premise, hypo and label"
    )
