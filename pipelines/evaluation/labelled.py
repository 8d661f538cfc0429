"""Texts with labels: `label TAB text`, MTOP's own tables, JSON lines of CLUE, MTEB and MARC, CLS's XML."""

from __future__ import annotations

import json
from typing import NamedTuple
from xml.etree import ElementTree

import numpy as np

from mining.errors import InputError
from pipelines.evaluation.benchmark_files import DataFolder, Texts, language_code, plain

_MTOP_COLUMNS = 8  # id, intent, slots, utterance, domain, locale, decoupled form, tokens


class Labelled(NamedTuple):
    path: str  # for messages
    texts: Texts
    labels: list[str]


def read_labelled(data: DataFolder, name: str, lang: str | None) -> Labelled:
    """A file of labelled texts, which must not be empty."""
    ending = plain(name).rsplit(".", 1)[-1]
    read = {"json": _json, "jsonl": _json, "review": _reviews}.get(ending, _tsv)
    labels, lines = read(data, plain(name))
    if not labels:
        raise InputError(f"{data.root / name}: the file is empty; there is nothing to evaluate for {lang or name}")
    code = None if lang is None else language_code(lang)
    return Labelled(str(data.root / name), Texts(data.named(name), lines, code), labels)


def some_of(labelled: Labelled, most: int | None, seed: int) -> Labelled:
    """At most this many texts, drawn at random, equally many of each label."""
    if most is None or most >= len(labelled.labels):
        return labelled
    order = np.random.default_rng(seed).permutation(len(labelled.labels))
    number = {label: n for n, label in enumerate(sorted(set(labelled.labels)))}
    of = np.array([number[labelled.labels[row]] for row in order])
    turn = np.zeros(len(order), np.int64)  # how many texts of the label came before
    for label in range(len(number)):
        turn[of == label] = np.arange((of == label).sum())
    rows = np.sort(order[np.argsort(turn, kind="stable")[:most]]).tolist()
    texts = labelled.texts.take(rows, f"{labelled.texts.name}.{most}")
    return Labelled(labelled.path, texts, [labelled.labels[row] for row in rows])


def codes(labelled: Labelled, classes: list[str]) -> np.ndarray:
    """Label numbers; a label that training did not have is an error."""
    number = {label: code for code, label in enumerate(classes)}
    for line, label in enumerate(labelled.labels, 1):
        if label not in number:
            raise InputError(
                f"{labelled.path}, line {line}: the label {label!r} is not in the training data, "
                f"which has {', '.join(classes[:20])}"
            )
    return np.array([number[label] for label in labelled.labels])


def _tsv(data: DataFolder, name: str) -> tuple[list[str], list[str]]:
    rows = [fields for _, fields in data.rows(name, 2, "a line is `label TAB text`")]
    if rows and len(rows[0]) == _MTOP_COLUMNS and rows[0][1].startswith("IN:"):
        table = [fields for _, fields in data.rows(name, _MTOP_COLUMNS, "a line of MTOP has 8")]
        return [fields[4] for fields in table], [fields[3] for fields in table]  # the domain is the label
    return [fields[0] for fields in rows], ["\t".join(fields[1:]) for fields in rows]


def _json(data: DataFolder, name: str) -> tuple[list[str], list[str]]:
    labels, lines = [], []
    for number, line in enumerate(data.lines(name), 1):
        try:
            record = json.loads(line)
            label = _sentiment(float(record["stars"])) if "stars" in record else str(record["label"])
            text = next(str(record[key]) for key in ("sentence", "text", "review_body") if key in record)
        except (ValueError, KeyError, TypeError, StopIteration):
            raise InputError(
                f"{data.root / name}, line {number}: not a JSON object with label, and sentence or text; nor with "
                "stars and review_body, as MARC has them"
            ) from None
        if label is not None:
            labels.append(label)
            lines.append(text)
    return labels, lines


def _reviews(data: DataFolder, name: str) -> tuple[list[str], list[str]]:
    """CLS (Prettenhofer and Stein 2010) as published: `<items>` of `<item>` with `<rating>` and `<text>`."""
    labels, lines = [], []
    try:
        for item in ElementTree.fromstring("\n".join(data.lines(name))).iter("item"):
            label = _sentiment(float(item.findtext("rating") or ""))
            if label is not None:
                labels.append(label)
                lines.append(" ".join((item.findtext("text") or "").split()))
    except (ElementTree.ParseError, ValueError) as error:
        raise InputError(f"{data.root / name}: not reviews with rating and text, as CLS has them ({error})") from None
    return labels, lines


def _sentiment(stars: float) -> str | None:
    """Of a rating from 1 to 5; one of 3 says nothing, and both papers leave it out."""
    return None if stars == 3 else "positive" if stars > 3 else "negative"
