"""A folder with everything that the commands of a soak read: small files, made once."""

from __future__ import annotations

import os
from itertools import product
from pathlib import Path

import numpy as np
import yaml

from encoder.models import BagSettings
from tests.encoder.fixtures import write_checkpoint
from tests.encoder.training.conftest import OBJECTS, SUBJECTS, VERBS
from tests.pipelines.align.test_align import two_folders
from tests.pipelines.clean.conftest import toy_pairs
from tests.pipelines.corpora import write_corpora
from tests.pipelines.demo.test_walk import write_wheels
from tests.pipelines.loop.corpora import one_pair, write_world

TRAINING = {
    "data": {"corpora": [{"path": "en-fr.tsv"}]},
    "subword": {"vocabulary": 90, "character_coverage": 1.0},
    "model": {"kind": "bag", "dim": 16},
    "objective": {"kind": "ems", "xtr": 0, "projection_dim": 0, "temperature": 0.1},
    "optimizer": {"lr": 0.02, "weight_decay": 0},
    "batch": {"pairs": 16},
    "evaluation": {"pairs": 8, "every": 6},
    "limits": {"steps": 24},
    "save_every": 4,
}
# Rows end when nothing is better for long: were minutes to end them, no two runs would be alike.
COMPARISON = {
    "minutes": 1000,
    "train": {key: value for key, value in TRAINING.items() if key != "limits"}
    | {
        "schedule": {"decay": "inverse-sqrt", "warmup": 2},
        "evaluation": {"pairs": 8, "every": 4, "patience": 2},
    },
    "rows": [
        {"name": "EMS", "change": {}},
        {"name": "mSimCSE", "change": {"objective": {"kind": "msimcse"}}},
    ],
    "data": ".",
    "benchmarks": [{"benchmark": "tatoeba", "data": "tatoeba"}],
    "columns": [{"title": "Tatoeba", "benchmark": "tatoeba", "score": "fra P@1"}],
}
CLASSIFIER = {"data": {"corpora": [{"path": "toy.de-en.tsv"}]}, "pairs": 400, "lexicon_pairs": 0, "word_dim": 16}


def write_inputs(folder: Path) -> None:
    """All of it, in the working folder: names in settings are relative, and so the same wherever it is copied to."""
    os.chdir(folder)
    here = Path()
    write_corpora(here, count=90)
    write_checkpoint(here / "encoder", BagSettings(dim=24))
    two_folders(here)
    triples = product(SUBJECTS, VERBS, OBJECTS)
    pairs = [(f"{s} {v} {o}", f"{SUBJECTS[s]} {VERBS[v]} {OBJECTS[o]}") for s, v, o in triples]
    _write_table(here / "en-fr.tsv", pairs)
    (here / "tatoeba").mkdir()
    for side, lines in zip(("eng", "fra"), zip(*pairs[:9], strict=True), strict=True):
        (here / "tatoeba" / f"tatoeba.fra-eng.{side}").write_text("\n".join(lines) + "\n")
    _write_table(here / "toy.de-en.tsv", toy_pairs(420, 1))
    wrong = [(source, other) for (source, _), (_, other) in zip(toy_pairs(60, 2), toy_pairs(60, 3), strict=True)]
    _write_table(here / "bitext.tsv", [*toy_pairs(150, 4), *wrong, ("empty", "")])
    loop = one_pair(write_world(here)) | {
        "max_rounds": 1,
        "updates": 100,
        "rounds": [{"precision": 0.3, "updates": 24}],
    }
    loop["train"]["save_every"] = 16
    for name, tree in (("train", TRAINING), ("compare", COMPARISON), ("classifier", CLASSIFIER), ("loop", loop)):
        (here / f"{name}.yaml").write_text(yaml.safe_dump(tree, sort_keys=False))
    write_wheels(here / "registry")
    rng = np.random.default_rng(5)
    vectors = rng.normal(size=(2, 90, 16)).astype(np.float32)
    vectors[1, :40] = vectors[0, :40] + 0.1 * rng.normal(size=(40, 16))
    for name, array in zip(("src", "tgt"), vectors, strict=True):
        array.tofile(here / f"{name}.bin")
        (here / f"{name}.lines").write_text("".join(f"{name} line {number}\n" for number in range(90)))


def _write_table(path: Path, rows: list[tuple[str, str]]) -> None:
    path.write_text("".join(f"{source}\t{target}\n" for source, target in rows), encoding="utf-8")
