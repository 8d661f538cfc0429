"""What `clean` keeps of real bitexts at a claimed 95%: none, a fifth or half of their pairs spoilt.

`python -m tests.benchmarks spoilt_bitext`; needs ../shared/data/train. News that the packaged encoder never saw (WMT)
and text that it did (Europarl, Tatoeba). Half of the spoilt pairs have another row's target, half one cut to 60%.
PAIRS (default: 1,500) are taken of each.
"""

from __future__ import annotations

import json
import lzma
import os
from collections.abc import Iterator
from itertools import islice
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import NamedTuple

import numpy as np
from rich.console import Console
from rich.table import Table

from encoder import default
from pipelines.clean.bitext_rows import BitextSettings
from pipelines.clean.clean_settings import CleanSettings
from pipelines.clean.clean_stage import clean, read_scored
from tests.conftest import SHARED_DATA

DATA = SHARED_DATA / "train"
PAIRS = int(os.environ.get("PAIRS", 1500))
SPOILT = 0.0, 0.2, 0.5
_CUT = 0.6
_UNSPACED = "zh", "ja"


class Bitext(NamedTuple):
    kind: str
    lang: str  # English is the other
    file: Path

    def pairs(self) -> Iterator[tuple[str, str]]:
        with lzma.open(self.file, "rt") as stream:
            for line in stream:
                if self.file.suffixes[0] == ".tsv":
                    source, target = line.rstrip("\n").split("\t")[:2]
                else:
                    group = json.loads(line)
                    source, target = group.get("en", ""), group.get(self.lang, "")
                source, target = " ".join(source.split()), " ".join(target.split())
                if source and target:
                    yield source, target


BITEXTS = (
    *(Bitext("WMT", lang, DATA / f"wmt21-24/en-{lang}.tsv.xz") for lang in ("zh", "ja", "cs", "uk", "ru", "he", "hi")),
    *(Bitext("Europarl", lang, DATA / "nway/europarl7.jsonl.xz") for lang in ("de", "fr")),
    *(Bitext("Tatoeba", lang, DATA / f"tatoeba/en-{lang}.tsv.xz") for lang in ("tr", "ja")),
)


def spoil(targets: list[str], share: float, lang: str, rng: np.random.Generator) -> tuple[list[str], np.ndarray]:
    """The targets with a share of them spoilt, and which are still right."""
    rows = rng.permutation(len(targets))[: round(share * len(targets))]
    moved, cut = np.array_split(rows, 2)
    spoilt = list(targets)
    for row, other in zip(moved.tolist(), np.roll(moved, 1).tolist(), strict=True):
        spoilt[row] = targets[other]
    joint = "" if lang in _UNSPACED else " "
    for row in cut.tolist():
        words = list(targets[row]) if lang in _UNSPACED else targets[row].split()
        spoilt[row] = joint.join(words[: max(int(_CUT * len(words)), 1)])
    right = np.ones(len(targets), bool)
    right[rows] = False
    return spoilt, right


def recall_and_precision(bitext: Bitext, share: float, folder: Path) -> tuple[float, float]:
    sources, targets = (list(side) for side in zip(*islice(bitext.pairs(), PAIRS), strict=True))
    spoilt, right = spoil(targets, share, bitext.lang, np.random.default_rng(0))
    path = folder / f"{bitext.kind}.{bitext.lang}.{share}.tsv"
    path.write_text("".join(f"{source}\t{target}\n" for source, target in zip(sources, spoilt, strict=True)))
    settings = CleanSettings(
        bitext=BitextSettings(path=str(path), src_lang="en", tgt_lang=bitext.lang),
        encoder=str(default.model_folder()),
        work=f"{path}.work",
        precision=0.95,
    )
    kept = np.concatenate([table["reason"].is_null().to_numpy() for table in read_scored(clean(settings))])
    true = (kept & right).sum()
    return float(true / right.sum()), float(true / kept.sum()) if kept.any() else float("nan")


def main() -> None:
    if not DATA.exists():
        print(f"## spoilt bitext: skipped, {DATA} is not here")
        return
    report = Table("bitext", *(f"{share:.0%} spoilt: recall, precision" for share in SPOILT))
    figures = []
    with TemporaryDirectory() as folder:
        for bitext in BITEXTS:
            figures.append([recall_and_precision(bitext, share, Path(folder)) for share in SPOILT])
            report.add_row(f"{bitext.kind} en-{bitext.lang}", *(f"{r:.1%} {p:.1%}" for r, p in figures[-1]))
    report.add_section()
    report.add_row("mean", *(f"{r:.1%} {p:.1%}" for r, p in np.nanmean(figures, 0)))
    Console().print(report)


if __name__ == "__main__":
    main()
