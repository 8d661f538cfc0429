"""Zero-shot classification of genre: which n-way corpus a sentence is of, in place of MLDoc, which is not free.

    python -m tests.benchmarks.genre ../shared/data/train/nway OUT

Writes `xx.train`, `xx.dev` and `xx.test` (`label TAB text`) for `twinlode eval classify`, and `exclude.txt` with all of
these sentences, which an encoder must not be trained on.
"""

from __future__ import annotations

import argparse
import json
import random
from pathlib import Path

from mining.files import iterate_lines

CORPORA = ("europarl7", "pydocs", "libreoffice", "multi30k", "quran")
SIZES = {"train": 200, "dev": 100, "test": 200}  # texts of each corpus
TRAINED, EVERYWHERE, TESTED = "en", "fr", ("de", "es", "fr")  # only French is in all corpora


def main() -> None:
    parser = argparse.ArgumentParser()
    parser.add_argument("corpora", type=Path)
    parser.add_argument("out", type=Path)
    options = parser.parse_args()
    options.out.mkdir(parents=True, exist_ok=True)
    files: dict[str, list[str]] = {}
    excluded: list[str] = []
    for corpus in CORPORA:
        groups = _drawn(options.corpora / f"{corpus}.jsonl.xz")
        excluded += [_line(text) for group in groups for text in group.values()]
        for split, group in zip((split for split, size in SIZES.items() for _ in range(size)), groups, strict=True):
            for lang in (lang for lang in (TESTED if split == "test" else (TRAINED,)) if lang in group):
                files.setdefault(f"{lang}.{split}", []).append(f"{corpus}\t{_line(group[lang])}")
    for name, lines in {**files, "exclude.txt": excluded}.items():
        (options.out / name).write_text("".join(f"{line}\n" for line in lines), encoding="utf-8")


def _drawn(path: Path) -> list[dict[str, str]]:
    """Groups in English and French, no two of the same English."""
    groups = [json.loads(line) for line in iterate_lines(str(path))]
    whole = {group[TRAINED]: group for group in groups if {TRAINED, EVERYWHERE} <= group.keys()}
    return random.Random(0).sample(list(whole.values()), sum(SIZES.values()))


def _line(text: str) -> str:
    return " ".join(text.split())


if __name__ == "__main__":
    main()
