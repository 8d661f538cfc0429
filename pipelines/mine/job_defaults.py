"""What a mine does where nothing was said: languages from the text, and the choices that suit the default encoder."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import suppress
from typing import Any

from mining.errors import InputError

PRECISION = 0.9
SIDES = ("source", "target")
FindFiles = Callable[[list[str]], list[str]]


def fill_in_languages(tree: dict[str, Any], documents: FindFiles | None = None) -> list[str]:
    """Detect each language that is missing in a tree of settings with two sides; returns notes for a person.

    Of an alignment, `documents` finds the files.
    """
    from encoder.settings import validate_settings
    from mining.language_id import require_language
    from pipelines.prepare.corpus_sample import sample_sentences
    from pipelines.prepare.readers import ReadSettings

    notes = []
    for side, inputs, read in _sides(tree):
        if read.get("lang"):
            continue
        settings = validate_settings(ReadSettings, read | {"lang": "en"}, f"{side}.read")
        files = documents(inputs) if documents else inputs
        sample = sample_sentences(files, settings, documents=documents is not None)
        if not sample:
            raise InputError(f"{', '.join(inputs)}: there is no text in it")
        read["lang"] = require_language(sample, ", ".join(inputs))
        notes.append(f"{side} language: {read['lang']}, detected from the text")
    languages = {_language(tree.get(side)) for side in SIDES}
    if len(languages) == 1 and all(languages):
        equal = "" if documents else ", and the standard filters drop those of equal sentences"
        notes.append(f"both sides are {languages.pop()}: pairs will be of one language{equal}")
    return notes


def columns_read(tree: dict[str, Any], documents: FindFiles | None = None) -> list[str]:
    """Notes on the columns of TSV files that are read where none was chosen; an error where one is plainly no text.

    Of an alignment, `documents` finds the files.
    """
    from pydantic import ValidationError

    from pipelines.prepare.corpus_notes import column_notes
    from pipelines.prepare.readers import ReadSettings

    notes = []
    for _, inputs, read in _sides(tree):
        with suppress(ValidationError):  # of the settings, as a sentence, comes later
            settings = ReadSettings.model_validate(read | {"lang": "en"})
            files = documents(inputs) if documents else inputs
            notes += column_notes(files, settings, documents=documents is not None)
    return notes


def fill_in_choices(tree: dict[str, Any]) -> list[str]:
    """The probes and threshold that suit the default encoder, or the seed pairs; returns notes for a person.

    Its probe vectors are added whatever the threshold, so that another choice finds the same graph. The margin
    stays the ratio, which is ahead of the distance on europarl-dev with this encoder (docs/tried.md).
    """
    from encoder import default
    from mining.probes import FEWEST_PAIRS

    languages = [_language(tree.get(side)) for side in SIDES]
    if tree.get("seed"):
        tree["threshold"] = tree.get("threshold") or _unasked_precision()
    if tree.get("encoder") is not None or not default.has_default() or not all(languages):
        return []
    notes = [warning for lang in languages if (warning := default.status(lang).warning)]
    if tree.get("seed"):
        return notes
    probes = len(default.probes(*languages).source)
    if probes < FEWEST_PAIRS:
        notes.append(
            f"{default.card().name} has {probes} probe pairs of {'-'.join(languages)}, too few to estimate a precision"
        )
    tree["probes"] = "encoder" if probes >= FEWEST_PAIRS else "none"
    tree["threshold"] = tree.get("threshold") or _unasked_precision()
    threshold = tree["threshold"]
    if isinstance(threshold, dict) and "at_least" in threshold and not tree.get("rescore"):
        notes.append("--threshold is a margin here; with --rescore on it is a score of the pair classifier")
    return notes


def _unasked_precision() -> dict[str, Any]:
    """Where probes cannot tell, there are pairs and a warning instead of an error: nobody asked for this precision."""
    return {"precision": PRECISION, "in_doubt": "classifier"}


def _sides(tree: dict[str, Any]) -> Iterator[tuple[str, list[str], dict[str, Any]]]:
    """Each side, its files and how they are read; what is of another form is a mistake that validation will name."""
    for side in SIDES:
        given = tree.get(side)
        if isinstance(given, dict):
            inputs, read = given.get("inputs"), given.setdefault("read", {})
            if isinstance(inputs, list) and inputs and isinstance(read, dict):
                yield side, inputs, read


def _language(side: Any) -> str:
    """The language of a side in a tree that is not validated yet."""
    read = side.get("read") if isinstance(side, dict) else None
    return str(read.get("lang") or "") if isinstance(read, dict) else ""
