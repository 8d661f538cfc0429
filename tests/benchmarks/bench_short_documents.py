"""Document pairs of very few sentences: manuals cut to their first n, recall and precision of the pairs found.

`python -m tests.benchmarks short_documents`; needs ../shared/data/eval. Documents that belong together are cut to the
same paragraphs, the others to as many sentences.
"""

from __future__ import annotations

import csv
import lzma
from collections import defaultdict
from pathlib import Path
from tempfile import TemporaryDirectory

from rich.console import Console
from rich.table import Table

from pipelines.align.align_job import align_documents
from pipelines.align.align_settings import AlignSettings, DocumentReadSettings, DocumentSideSettings
from tests.conftest import SHARED_DATA

DATA = SHARED_DATA / "eval/documents/dev"
LANGUAGES = "de", "fr", "ru", "zh"
SENTENCES = 1, 2, 3, 5, 10

Pairs = set[tuple[str, str]]


def read_documents(path: Path) -> dict[str, list[str]]:
    documents: dict[str, list[str]] = defaultdict(list)
    with lzma.open(path, "rt") as stream:
        for line in stream:
            name, sentence = line.rstrip("\n").split("\t", 1)
            documents[name].append(sentence)
    return documents


def rows(path: Path) -> list[list[str]]:
    with path.open(newline="") as stream:
        return list(csv.reader(stream, delimiter="\t", quoting=csv.QUOTE_NONE))


def first_paragraphs(folder: Path, sentences: int) -> dict[str, set[int]]:
    """For the documents of gold pairs the lines of their first paragraphs, of at least so many English sentences."""
    kept: dict[str, set[int]] = defaultdict(set)
    for english, other, *lines in rows(folder / "alignment.tsv"):
        if len(kept[english]) < sentences:
            for name, places in zip((english, other), lines, strict=True):
                kept[name].update(map(int, places.split(",")))
    return kept


def shortened(folder: Path, pair: str, sentences: int, out: Path) -> list[DocumentSideSettings]:
    """Both sides written as `docid TAB sentence`, and how to read them."""
    kept = first_paragraphs(folder, sentences)
    sides = []
    for lang in ("en", pair.removesuffix("-en")):
        path = out / f"{pair}.{sentences}.{lang}.tsv"
        with path.open("w") as stream:
            for name, lines in read_documents(folder / f"{pair}.{lang}.xz").items():
                places = sorted(kept[name]) if name in kept else range(min(sentences, len(lines)))
                stream.writelines(f"{name}\t{lines[place]}\n" for place in places)
        read = DocumentReadSettings(lang=lang)
        sides.append(DocumentSideSettings(inputs=[str(path)], read=read))
    return sides


def found_pairs(sides: list[DocumentSideSettings]) -> Pairs:
    result = align_documents(AlignSettings(source=sides[0], target=sides[1]))
    return {(pair.source.name, pair.target.name) for pair in result.pairs}


def main() -> None:
    if not DATA.exists():
        print(f"## short documents: skipped, {DATA} is not here")
        return
    report = Table("sentences", "pairs", "recall", "precision", title=f"documents with English: {' '.join(LANGUAGES)}")
    with TemporaryDirectory() as out:
        for sentences in SENTENCES:
            gold: Pairs = set()
            found: Pairs = set()
            for lang in LANGUAGES:
                folder = DATA / f"{lang}-en"
                gold |= {(row[0], row[1]) for row in rows(folder / "gold.tsv")}
                found |= found_pairs(shortened(folder, f"{lang}-en", sentences, Path(out)))
            right = len(gold & found)
            report.add_row(
                f"{sentences}", f"{len(gold)}", f"{right / len(gold):.1%}", f"{right / max(len(found), 1):.1%}"
            )
    Console().print(report)


if __name__ == "__main__":
    main()
