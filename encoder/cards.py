"""Cards in the form that Hugging Face reads: YAML in front, Markdown behind. Every card of ours is written here."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from pathlib import Path
from typing import Any

import yaml

from mining.files import atomic_text
from mining.paths import exists, open_url

CARD = "README.md"
TAG = "twinlode"


def card_text(head: Mapping[str, Any], body: str) -> str:
    shown = {name: list(value) if isinstance(value, tuple) else value for name, value in head.items()}
    return f"---\n{yaml.safe_dump(shown, sort_keys=False, allow_unicode=True)}---\n\n{body.strip()}\n"


def write_card(path: Path | str, head: Mapping[str, Any], body: str) -> None:
    """Write a card, unless it stands there as it is: what is finished is not touched again."""
    text = card_text(head, body)
    if exists(str(path)):
        with open_url(str(path)) as stream:
            if stream.read() == text.encode():
                return
    with atomic_text(str(path)) as writer:
        writer.write(text)


def markdown_table(header: Sequence[str], rows: Iterable[Sequence[object]]) -> str:
    lines = [list(header), ["---"] * len(header), *([str(cell) for cell in row] for row in rows)]
    return "\n".join("| " + " | ".join(cell.replace("|", "\\|") for cell in line) + " |" for line in lines)


def read_card(path: Path) -> tuple[dict[str, Any], str]:
    """Head and body; a text without a head is all body."""
    text = path.read_text(encoding="utf-8")
    if not text.startswith("---\n"):
        return {}, text
    head, _, body = text.removeprefix("---\n").partition("\n---\n")
    return dict(yaml.safe_load(head) or {}), body
