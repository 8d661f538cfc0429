"""What stands in the pages: their fenced blocks, by kind, and the commands in them.

A block without a kind is commands that `tests/test_readme_runs.py` runs as they stand; one of `bash` is run by
`test_bash_blocks.py`, or says there why not. A block of YAML whose first line is a comment with a file's name is that
file.
"""

from __future__ import annotations

import re
from pathlib import Path
from typing import NamedTuple

import yaml

ROOT = Path(__file__).resolve().parents[2]
DOCS = ROOT / "docs"
_FENCE = re.compile(r"^( *)```(\w*)\n(.*?)^\1```$", re.MULTILINE | re.DOTALL)


class Block(NamedTuple):
    kind: str
    text: str

    @property
    def lines(self) -> list[str]:
        """Those that go on are joined."""
        return self.text.replace("\\\n", " ").splitlines()

    @property
    def commands(self) -> list[str]:
        """The lines to run."""
        return [] if self.kind else self.lines

    @property
    def file(self) -> str | None:
        found = re.match(r"# ([\w./-]+\.yaml)\n", self.text)
        return found[1] if self.kind == "yaml" and found else None


def page_names() -> list[str]:
    """README and every page that people write, as paths below the root, in the order of the site."""
    nav = yaml.safe_load((ROOT / "mkdocs.yml").read_text())["nav"]
    parts = [pages for part in nav for pages in (part.values() if isinstance(part, dict) else [[part]])]
    return ["README.md", *(f"docs/{page}" for pages in parts for page in pages if (DOCS / page).exists())]


def text_of(page: str) -> str:
    return (ROOT / page).read_text(encoding="utf-8")


def blocks(page: str) -> list[Block]:
    return [Block(kind, text) for _, kind, text in _FENCE.findall(text_of(page))]


def commands(page: str) -> list[str]:
    """The `twinlode` commands of a page, whether they can be run here or not."""
    shown = [line for block in blocks(page) if block.kind in ("", "bash") for line in block.lines]
    return [line for line in shown if line.startswith("twinlode ")]


def python(page: str) -> list[str]:
    return [block.text for block in blocks(page) if block.kind == "python"]
