"""Probe pairs: drawn once for both sides, and their plan read back."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest

from mining.errors import InputError
from mining.probes import plan_probes, probe_rows
from pipelines.datasets.side_folders import SideFolders
from pipelines.mine.probe_pairs import ProbeSide, add_probes, read_plan, read_seed_pairs
from tests.pipelines.works import write_sentences


def test_the_plan_is_stored_and_read(tmp_path: Path) -> None:
    corpora = [
        write_sentences(tmp_path / lang, [f"{lang} {i}" for i in range(rows)], lang)
        for lang, rows in (("de", 7), ("en", 9))
    ]
    seed = tmp_path / "seed.tsv"
    pairs = [f"quelle {i}\tsource {i}" for i in range(90)]
    seed.write_text("\n".join([*pairs[:10], *pairs[:10], *pairs[10:]]) + "\n")  # ten lines twice
    source, target = add_probes(
        str(seed), ProbeSide(corpora[0], "de", f"{tmp_path}/p"), ProbeSide(corpora[1], "en", f"{tmp_path}/q")
    )
    plan = read_plan(
        SideFolders(corpus=corpora[0].url, probes=source.url), SideFolders(corpus=corpora[1].url, probes=target.url)
    )
    expected = plan_probes(90)
    drawn = probe_rows(expected.sources(), expected.targets(), 7, 9)
    for ours, theirs in zip(plan.rows, drawn, strict=True):
        np.testing.assert_array_equal(ours, theirs)
    assert (plan.n_src, plan.n_tgt) == (7 + source.rows, 9 + target.rows)


def test_a_line_that_is_no_pair_is_named(tmp_path: Path) -> None:
    seed = tmp_path / "seed.tsv"
    seed.write_text("a\tb\nc\n")
    with pytest.raises(InputError, match=r"seed\.tsv, line 2: a seed pair is"):
        read_seed_pairs(str(seed))
