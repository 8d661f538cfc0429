"""Texts with labels: `label TAB text`, MTOP's own tables, or JSON lines of CLUE and MTEB."""

from __future__ import annotations

import json
from typing import NamedTuple

import numpy as np

from mining.errors import InputError
from pipelines.evaluation.data import DataFolder, Texts, language_code, plain

_MTOP_COLUMNS = 8  # id, intent, slots, utterance, domain, locale, decoupled form, tokens


class Labelled(NamedTuple):
    path: str  # for messages
    texts: Texts
    labels: list[str]


def read_labelled(data: DataFolder, name: str, lang: str | None) -> Labelled:
    """A file of labelled texts, which must not be empty."""
    read = _json if plain(name).endswith((".json", ".jsonl")) else _tsv
    labels, lines = read(data, plain(name))
    if not labels:
        raise InputError(f"{data.root / name}: the file is empty; there is nothing to evaluate for {lang or name}")
    code = None if lang is None else language_code(lang)
    return Labelled(str(data.root / name), Texts(data.named(name), lines, code), labels)


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
            labels.append(str(record["label"]))
            lines.append(str(record["sentence"] if "sentence" in record else record["text"]))
        except (ValueError, KeyError, TypeError):
            raise InputError(
                f"{data.root / name}, line {number}: not a JSON object with label, and sentence or text"
            ) from None
    return labels, lines
