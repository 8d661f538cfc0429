"""Sentence pairs with a similarity, in the forms in which SemEval and others published them."""

from __future__ import annotations

import csv
import json
import re
from collections.abc import Callable, Iterator
from pathlib import PurePosixPath
from typing import NamedTuple

import numpy as np

from mining.errors import InputError
from mining.language_id import is_known, language_probabilities
from pipelines.evaluation.benchmark_files import DataFolder, Texts, plain

_LOOKED_AT = 100  # sentences that tell the language of a column
# Folders of SemEval's archives whose names do not say the year.
_FOLDERS_OF_YEARS = {"test-gold": "2012", "test-gs": "2013", "test_evaluation_task2a": "2015"}


class StsSet(NamedTuple):
    """One dataset: line n of both texts has similarity n."""

    name: str
    group: str  # STS12 ... STS17, STS22, STS-B, SICK
    first: Texts
    second: Texts
    gold: np.ndarray  # (pairs,) float64, higher is more similar


class _Row(NamedTuple):
    line: int
    first: str
    second: str
    gold: str
    languages: str | None = None  # where one file has several pairs of languages


def read_sets(data: DataFolder, short_gold: bool) -> list[StsSet]:
    """Every dataset in the folder; training and development parts are left out."""
    found: dict[str, StsSet] = {}
    for name in data.matching("**/*"):
        if re.search(r"(?i)(train|trial)|(dev|readme|license)[^/]*$", name):
            continue
        read = _reader(plain(name).rsplit("/", 1)[-1])
        if read is not None:
            rows = list(read(data, plain(name), short_gold))
            for languages in sorted({row.languages or "" for row in rows}) or [""]:
                part = [row for row in rows if (row.languages or "") == languages]
                one = _assemble(data, plain(name), languages, part)
                _require_new(data, one, found)
                found[one.name] = one
    if not found:
        raise InputError(
            f"{data.root}: no STS files; known are STS.input.*.txt with STS.gs.*.txt, YEAR/*.test.tsv, sts-test.csv, "
            "stsb-xx-test.csv, SICK_test_annotated.txt and the STS22 files xx-yy.jsonl or final_evaluation_data.csv "
            "with its articles"
        )
    return list(found.values())


def _require_new(data: DataFolder, one: StsSet, known: dict[str, StsSet]) -> None:
    """Refuse two datasets of one name: every year has its headlines, and averages must not mix them up."""
    if one.name in known:
        files = " and ".join(texts.name.removesuffix(".1") for texts in (known[one.name].first, one.first))
        raise InputError(
            f"{data.root}: {files} are both {one.name!r}; keep one of them, or each year in a folder that says it, "
            "such as 2014"
        )


_Reader = Callable[[DataFolder, str, bool], Iterator[_Row]]


def _reader(file: str) -> _Reader | None:
    for pattern, reader in _READERS:
        if re.fullmatch(pattern, file):
            return reader
    return None


def _assemble(data: DataFolder, name: str, languages: str, rows: list[_Row]) -> StsSet:
    """Rows without gold are left out, as the organisers do."""
    kept: list[_Row] = []
    gold: list[float] = []
    for row in rows:
        if not row.gold.strip():
            continue
        try:
            gold.append(float(row.gold))
        except ValueError:
            raise InputError(f"{data.root / name}, line {row.line}: {row.gold!r} is not a number") from None
        kept.append(row)
    if len(kept) < 3:
        raise InputError(f"{data.root / name}: {len(kept)} pairs have a gold similarity; a correlation needs 3 or more")
    first, second = [row.first for row in kept], [row.second for row in kept]
    codes = _in_order(_languages(f"{languages}.jsonl" if languages else name), first, second)
    base = data.named(f"{name}.{languages}" if languages else name)
    return StsSet(
        languages or _set_name(data, name),
        _group(data, name),
        Texts(f"{base}.1", first, codes[0]),
        Texts(f"{base}.2", second, codes[1]),
        np.array(gold),
    )


def _input_and_gold(data: DataFolder, name: str, short_gold: bool) -> Iterator[_Row]:
    """SemEval: `STS.input.X.txt` and `STS.gs.X.txt`, in one folder or in folders side by side."""
    gold_name = _gold_of(data, name)
    sentences = list(data.rows(name, 2, "a line is two sentences"))
    gold = data.lines(gold_name)
    if len(gold) > len(sentences) or (len(gold) < len(sentences) and not short_gold):
        raise InputError(
            f"{data.root}: {name} has {len(sentences):,} lines, but {gold_name} has {len(gold):,}"
            + ("; if the gold is of the first lines, set short_gold=true" if len(gold) < len(sentences) else "")
        )
    for (number, fields), value in zip(sentences, gold, strict=False):
        yield _Row(number, fields[0], fields[1], value)


def _gold_of(data: DataFolder, name: str) -> str:
    """The gold beside the input, or else elsewhere, but not of another year, whose `headlines` have as many lines."""
    file = PurePosixPath(name).name.replace("STS.input.", "STS.gs.")
    if data.find(beside := PurePosixPath(name).with_name(file).as_posix()):
        return beside
    places = [plain(place) for place in data.matching(f"**/{file}")]
    places = [place for place in places if len({_year(data, place), _year(data, name)} - {None}) < 2]
    if not places:
        raise InputError(f"{data.root / name}: its gold {file} is not in {data.root}")
    if len(places) > 1:
        raise InputError(f"{data.root / name}: its gold may be {' or '.join(places)}; put it beside the input")
    return places[0]


def _scored_tsv(data: DataFolder, name: str, short_gold: bool) -> Iterator[_Row]:
    for number, fields in data.rows(name, 3, "a line is similarity and two sentences"):
        yield _Row(number, fields[1], fields[2], fields[0])


def _extended(data: DataFolder, name: str, short_gold: bool) -> Iterator[_Row]:
    """STS2017-extended of sentence-transformers."""
    for number, fields in data.rows(name, 3, "a line is two sentences and similarity"):
        yield _Row(number, fields[0], fields[1], fields[2])


def _benchmark_tsv(data: DataFolder, name: str, short_gold: bool) -> Iterator[_Row]:
    what = "a line is genre, file, year, id, similarity and two sentences"
    for number, fields in data.rows(name, 7, what):
        yield _Row(number, fields[5], fields[6], fields[4])


def _multilingual_csv(data: DataFolder, name: str, short_gold: bool) -> Iterator[_Row]:
    for number, fields in enumerate(csv.reader(data.lines(name)), 1):
        if len(fields) != 3:
            raise InputError(f"{data.root / name}, record {number}: {len(fields)} fields, not 2 sentences and a number")
        yield _Row(number, *fields)


def _sick(data: DataFolder, name: str, short_gold: bool) -> Iterator[_Row]:
    for number, fields in data.rows(name, 5, "a line is id, two sentences, relatedness and entailment"):
        if number > 1:
            yield _Row(number, fields[1], fields[2], fields[3])


def _jsonl(data: DataFolder, name: str, short_gold: bool) -> Iterator[_Row]:
    for number, line in enumerate(data.lines(name), 1):
        try:
            record = json.loads(line)
            yield _Row(number, record["sentence1"], record["sentence2"], str(record["score"]))
        except (ValueError, KeyError, TypeError):
            raise InputError(
                f"{data.root / name}, line {number}: not a JSON object with sentence1, sentence2 and score"
            ) from None


def _articles(data: DataFolder, name: str, short_gold: bool) -> Iterator[_Row]:
    """STS22 as SemEval published it: pairs of article ids, the articles as `ID.json` with title and text.

    Pairs of which an article could not be downloaded any more are left out. `Overall` is 1 for the same story and 4 for
    unrelated ones, so it is negated.
    """
    articles = {path.rsplit("/", 1)[-1].removesuffix(".json"): path for path in data.matching("**/*.json")}
    if not articles:
        raise InputError(
            f"{data.root / name}: the articles, ID.json as SemEval's downloader writes them, are not there"
        )
    for number, record in enumerate(csv.DictReader(data.lines(name)), 2):
        try:
            ids = record["pair_id"].split("_")
            languages = "-".join((record["url1_lang"], record["url2_lang"]))
            overall = -float(record["Overall"])
        except (KeyError, ValueError, TypeError):
            raise InputError(
                f"{data.root / name}, line {number}: no pair_id, url1_lang, url2_lang or Overall; gold is needed"
            ) from None
        if len(ids) == 2 and all(one in articles for one in ids):
            first, second = (_article(data, articles[one]) for one in ids)
            yield _Row(number, first, second, str(overall), languages)


def _article(data: DataFolder, name: str) -> str:
    try:
        record = json.loads("\n".join(data.lines(name)))
        return " ".join(f"{record.get('title') or ''} {record.get('text') or ''}".split())
    except (ValueError, AttributeError):
        raise InputError(f"{data.root / name}: not a JSON object with title and text") from None


_READERS: tuple[tuple[str, _Reader], ...] = (
    (r"STS\.input\..*\.txt", _input_and_gold),
    (r"STS\.[a-z]{2}-[a-z]{2}\.txt", _extended),
    (r"sts-test\.csv", _benchmark_tsv),
    (r"stsb-[a-z]{2}-test\.csv", _multilingual_csv),
    (r"SICK_test.*\.txt", _sick),
    (r".*\.test\.tsv", _scored_tsv),
    (r"[a-z]{2}(-[a-z]{2})?\.jsonl", _jsonl),
    (r"final_evaluation.*\.csv", _articles),
)


def _year(data: DataFolder, name: str) -> str | None:
    """The year of SemEval that the nearest folder tells; `--data` itself may be that folder."""
    for part in reversed((data.root.resolve().name, *name.split("/"))):
        if part in _FOLDERS_OF_YEARS:
            return _FOLDERS_OF_YEARS[part]
        if match := re.search(r"(?i)(?:20|sts[-_]?)(1[2-7])(?!\d)", part):
            return f"20{match[1]}"
    return None


def _set_name(data: DataFolder, name: str) -> str:
    file = re.sub(r"^STS\.(input\.)?|\.(test\.tsv|txt|csv|jsonl|tsv)$", "", plain(name).rsplit("/", 1)[-1])
    group = _group(data, name)
    return f"20{group[3:]} {file}" if re.fullmatch(r"STS1[2-6]", group) else file


def _group(data: DataFolder, name: str) -> str:
    file = name.rsplit("/", 1)[-1]
    if file.startswith("stsb-"):
        return "STS-B multilingual"
    if file.startswith("sts-test"):
        return "STS-B"
    if file.startswith("SICK"):
        return "SICK"
    if re.search(r"\btrack\d", file):
        return "STS17"
    year = _year(data, name)
    if (file.endswith(".jsonl") and year != "2017") or file.startswith("final_evaluation"):
        return "STS22"
    return f"STS{year[2:]}" if year else "other"


def _languages(name: str) -> tuple[str, str]:
    """The languages that a file is named after, English without any."""
    file = name.rsplit("/", 1)[-1]
    if match := re.search(r"(?:^|[.\-_])([a-z]{2})-([a-z]{2})\.(?:txt|jsonl)$", file):
        return match[1], match[2]
    if match := re.match(r"stsb-([a-z]{2})-", file) or re.match(r"([a-z]{2})\.jsonl", file):
        return match[1], match[1]
    return "en", "en"


def _in_order(codes: tuple[str, str], first: list[str], second: list[str]) -> tuple[str, str]:
    """Track 4b, es-en, has English first: the columns themselves say which language is where."""
    a, b = codes
    if a == b or not (is_known(a) and is_known(b)):
        return codes
    likely = {
        (code, side): language_probabilities(lines[:_LOOKED_AT], code).mean()
        for code in codes
        for side, lines in enumerate((first, second))
    }
    return codes if likely[a, 0] + likely[b, 1] >= likely[b, 0] + likely[a, 1] else (b, a)
