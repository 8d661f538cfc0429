"""Two small comparable corpora and an encoder that knows nothing of them, for tests of whole pipelines."""

from __future__ import annotations

from pathlib import Path

import numpy as np

from encoder.models import BagSettings
from mining.filters import FilterSettings
from pipelines.mine.mine_settings import JobSettings, SideSettings
from pipelines.prepare.readers import ReadSettings
from tests.encoder.fixtures import WORDS, write_checkpoint


def write_corpora(folder: Path, count: int = 160, seed: int = 0) -> None:
    """Sentences of which a third occur, slightly changed, on the other side, and some twice on their own."""
    rng = np.random.default_rng(seed)
    words = WORDS[:-1]
    common = [" ".join(rng.choice(words, rng.integers(3, 9))) for _ in range(count // 3)]
    for name, mark in (("src", "old"), ("tgt", "new")):
        own = [" ".join(rng.choice(words, rng.integers(1, 9))) for _ in range(count - len(common))]
        lines = [*own, *(f"{line} {mark}" for line in common), *own[:5], ""]
        order = rng.permutation(len(lines))
        (folder / f"{name}.txt").write_text("\n".join(lines[i] for i in order) + "\n")


def write_encoder(folder: Path, dim: int = 16, seed: int = 0) -> Path:
    return write_checkpoint(folder, BagSettings(dim=dim), seed=seed)


def job(folder: Path, work: str = "work", **changes: object) -> JobSettings:
    """A job over the corpora and encoder in a folder."""
    sides = {
        side: SideSettings(inputs=[str(folder / f"{name}.txt")], read=ReadSettings(lang="en"), lang_filter="assume")
        for side, name in (("source", "src"), ("target", "tgt"))
    }
    base = {"encoder": str(folder / "encoder"), "work": str(folder / work), "filters": FilterSettings.none()}
    return JobSettings(**sides | base | changes)
