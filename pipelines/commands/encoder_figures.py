"""Which encoder a command used, and how well it knows the languages at hand."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from pathlib import Path

from encoder import default


def encoder_row(encoder: str | None, languages: Iterable[str]) -> tuple[str, str]:
    """A row of a summary; of the default encoder with its figure for each language."""
    if not is_default(encoder):
        return "encoder", str(encoder)
    figures = [(status.lang, status.figure) for status in map(default.status, dict.fromkeys(languages))]
    known = [f"{lang}: {figure.benchmark} P@1 {figure.precision:.1f}" for lang, figure in figures if figure]
    return "encoder", default.card().name + (f" ({', '.join(known)})" if known else "")


def is_default(encoder: str | None) -> bool:
    if not default.has_default():
        return False
    return encoder is None or Path(encoder).resolve() == default.model_folder().resolve()


def warnings(encoder: str | None, languages: Sequence[str]) -> list[str]:
    """A sentence for each language that the default encoder does not know well."""
    if not is_default(encoder):
        return []
    return [warning for lang in dict.fromkeys(languages) if (warning := default.status(lang).warning)]
