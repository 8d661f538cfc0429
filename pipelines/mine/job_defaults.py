"""What a mine does where nothing was said: languages from the text, and the choices that suit the default encoder."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from mining.errors import InputError

PRECISION = 0.9
SIDES = ("source", "target")


def fill_in_languages(tree: dict[str, Any], files: Callable[[list[str]], list[str]] = list) -> list[str]:
    """Detect each language that is missing in a tree of settings with two sides; returns notes for a person."""
    from mining.language_id import require_language
    from pipelines.prepare.corpus_sample import sample_sentences
    from pipelines.prepare.readers import ReadSettings

    notes = []
    for side in SIDES:
        given = tree.get(side)
        read = given.setdefault("read", {}) if isinstance(given, dict) else None
        inputs = given.get("inputs") if isinstance(given, dict) else None
        if not isinstance(read, dict) or read.get("lang") or not isinstance(inputs, list) or not inputs:
            continue  # nothing to do, or a mistake that validation will name
        sample = sample_sentences(files(inputs), ReadSettings.model_validate(read | {"lang": "en"}))
        if not sample:
            raise InputError(f"{', '.join(inputs)}: there is no text in it")
        read["lang"] = require_language(sample, ", ".join(inputs))
        notes.append(f"{side} language: {read['lang']}, detected from the text")
    languages = {_language(tree.get(side)) for side in SIDES}
    if notes and len(languages) == 1:
        notes.append(
            f"both sides are {languages.pop()}: pairs will be of one language, and equal sentences are dropped"
        )
    return notes


def fill_in_choices(tree: dict[str, Any]) -> list[str]:
    """The probes and threshold that suit the default encoder, where it is used; returns notes for a person.

    Its probe vectors are added whatever the threshold, so that another choice finds the same graph. The margin
    stays the ratio, which is ahead of the distance on europarl-dev with this encoder (docs/results.md).
    """
    from encoder import default
    from mining.probes import FEWEST_PAIRS

    languages = [_language(tree.get(side)) for side in SIDES]
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
    # Nobody asked for this precision, so where probes cannot tell there are pairs and a warning instead of an error.
    tree["threshold"] = tree.get("threshold") or {"precision": PRECISION, "in_doubt": "classifier"}
    threshold = tree["threshold"]
    if isinstance(threshold, dict) and "at_least" in threshold and not tree.get("rescore"):
        notes.append("--threshold is a margin here; with --rescore on it is a score of the pair classifier")
    return notes


def _language(side: Any) -> str:
    """The language of a side in a tree that is not validated yet."""
    read = side.get("read") if isinstance(side, dict) else None
    return str(read.get("lang") or "") if isinstance(read, dict) else ""
