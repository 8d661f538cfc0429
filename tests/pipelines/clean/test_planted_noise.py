"""Noise in a bitext's own pairs: which are spoilt, and that it shows in their scores."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pyarrow as pa

from encoder.inference import Encoder
from mining.scoring.classifier import FOLDER, load_classifier
from pipelines.clean.chunk_scores import Scorer
from pipelines.clean.planted_noise import sampled, spoil
from tests.pipelines.clean.conftest import toy_pairs


def _scored(rows: int, seed: int) -> pa.Table:
    source, target = zip(*toy_pairs(rows, seed), strict=True)
    ratios = pa.array(np.where(np.arange(rows) % 4, np.arange(rows, dtype=np.float32), np.nan), from_pandas=True)
    return pa.table({"line": np.arange(rows), "source": source, "target": target, "log_ratio": ratios})


def test_scored_pairs_of_all_tables_are_sampled_evenly() -> None:
    found = sampled([_scored(200, 1), _scored(8, 2), _scored(1, 3)], 50)  # of the last one none is scored
    values = found["log_ratio"].to_pylist()
    assert len(values) == 56 and None not in values
    assert values[0] == 1 and values[49] == 199
    assert np.diff(values[:50]).max() < 8


def test_spoilt_pairs_score_lower_than_before(scoring_encoder: Path) -> None:
    scorer = Scorer(Encoder.load(scoring_encoder), load_classifier(str(scoring_encoder / FOLDER)), (None, None))
    source, target = (list(side) for side in zip(*toy_pairs(300, 4), strict=True))
    before = scorer.scores(source, target)[:, 0].astype(np.float32)
    planted = spoil(pa.table({"source": source, "target": target, "log_ratio": before}), scorer)
    assert 80 < len(planted.after) < 150 and 0.6 < planted.flawed.mean() < 1
    assert (planted.after < planted.before).mean() > 0.9
    assert np.median(planted.after[planted.flawed]) > np.median(planted.after[~planted.flawed]) - 1


def test_one_pair_is_not_spoilt(scoring_encoder: Path) -> None:
    scorer = Scorer(Encoder.load(scoring_encoder), load_classifier(str(scoring_encoder / FOLDER)), (None, None))
    assert not len(spoil(_scored(2, 5).slice(1), scorer).after)
