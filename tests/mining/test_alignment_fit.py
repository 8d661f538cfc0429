"""The fit of the bead model: its terms are those of the search, and it finds what made-up documents follow."""

from __future__ import annotations

import re
from collections import Counter

import numpy as np
import pytest

from mining.alignment import align_sentences, alignment_task, document_of
from mining.alignment_fit import Bounds, FitExample, fit, gold_bounds, log_likelihood, make_example, paragraph_bounds
from mining.alignment_formats import Bead, beads_of
from mining.alignment_lattice import search
from mining.alignment_weights import TERMS, default_model
from tests.benchmarks import fit_alignment
from tests.benchmarks.alignment_baselines import bertalign, vecalign
from tests.benchmarks.alignment_made import SOURCES, make_document
from tests.benchmarks.alignment_samples import PARTS, Sample
from tests.mining.test_alignment import make_pair

BEADS = [(1, 1), (2, 1), (1, 1), (1, 2), (1, 0), (1, 1), (1, 1), (0, 1), (1, 1), (1, 2), (1, 1), (2, 1)]


def example_of(beads: list[tuple[int, int]], seed: int) -> tuple[FitExample, list[Bead]]:
    source, target, gold = make_pair(beads, seed)
    source, target = (
        document_of(side.vectors, [f"{k} x" + ":" * (k % 3 == 0) for k in range(side.sentences)])
        for side in (source, target)
    )
    return make_example(source, target, gold_bounds(gold, source.sentences, target.sentences)), gold


def test_terms_times_weights_are_the_scores_of_the_search() -> None:
    source, target, gold = make_pair([sizes for sizes in BEADS if all(sizes)], 1)
    source, target = (
        document_of(side.vectors, [f"{k} x" + ":" * (k % 3 == 0) for k in range(side.sentences)])
        for side in (source, target)
    )
    model = default_model(worded=False)
    everything = Bounds(np.zeros(source.sentences, int), np.zeros(target.sentences, int), np.zeros(1, bool))
    example = make_example(source, target, everything)
    example = example._replace(allowed=np.ones_like(example.allowed))
    assert log_likelihood(model, example) == pytest.approx(0.0, abs=1e-9)
    narrow = make_example(source, target, gold_bounds(gold, source.sentences, target.sentences))
    total = search(alignment_task(source, target)).total
    scores = narrow.terms @ np.array([model[name] for name in TERMS])
    assert log_likelihood(model, narrow) == pytest.approx(
        scores[narrow.allowed].sum() - total, abs=0.02
    )  # unlikely beads are left out


def test_the_fit_beats_other_weights() -> None:
    examples = [example_of(BEADS, seed)[0] for seed in range(3)]
    model = fit(examples, l2=0.001)
    best = sum(log_likelihood(model, example) for example in examples)
    for name in ("distance", "bead 1-1", "deletion", "join colon", "further deletion"):
        for change in (-0.5, 0.5):
            other = sum(log_likelihood(model | {name: model[name] + change}, example) for example in examples)
            assert other < best + 0.01
    assert fit(examples, l2=0.1, without=("distance",))["distance"] == 0


def test_the_fitted_model_aligns_other_documents() -> None:
    model = fit([example_of(BEADS, seed)[0] for seed in range(6)], l2=0.1)
    source, target, gold = make_pair(BEADS * 2, 9)
    texts = [[f"{k} x" for k in range(side.sentences)] for side in (source, target)]
    sides = [document_of(side.vectors, lines) for side, lines in zip((source, target), texts, strict=True)]
    found = [
        set(beads_of(align_sentences(*sides, model=other).beads)) for other in (model, default_model(worded=False))
    ]
    assert len(found[0] & set(gold)) >= max(len(found[1] & set(gold)), len(gold) - 6)


def test_the_command_that_makes_the_weights_fits_and_prints(capsys: pytest.CaptureFixture[str]) -> None:
    """As it is run on the development sets, with made-up documents instead, all of which the published ways align."""
    rows = []
    for seed in range(PARTS):
        source, target, gold = make_pair(BEADS[:4], seed, noise=0.1)
        rows.append(Sample(source, target, gold_bounds(gold, source.sentences, target.sentences), gold))
        assert vecalign(source, target) == bertalign(source, target) == gold
    samples = {fit_alignment.ARTICLE[0]: rows}
    made = dict.fromkeys(SOURCES[:2], rows[:2])
    fitted = fit_alignment.fit_model(
        "fitted", fit_alignment.Known(samples, made, samples, samples), fit_alignment.WITHOUT_WORDS
    )
    assert set(fitted.model) == set(TERMS)
    assert fitted.usual["bead 1-2"] > fitted.usual["bead 2-2"]
    article, *others, manuals = capsys.readouterr().out.splitlines()
    assert len(others) == 2
    assert all("strict F1 100.0, lax 100.0" in line for line in (article, *others))
    assert "100.0% of" in manuals


def test_gold_that_crosses_or_has_holes_leaves_the_beads_open() -> None:
    crossing = gold_bounds([((0,), (0,)), ((1,), (2,)), ((2,), (1,)), ((3,), (3, 5)), ((4,), ())], 5, 6)
    assert crossing.source.tolist() == [0, 1, 1, 2, -1]
    assert crossing.target.tolist() == [0, 1, 1, 2, 2, 2]
    assert crossing.whole.tolist() == [True, False, False]


def test_paragraphs_bound_the_beads() -> None:
    bounds = paragraph_bounds([((0, 1), (0,)), ((3,), (1, 2))], 4, 3)
    assert bounds.source.tolist() == [0, 0, -1, 1]
    assert bounds.target.tolist() == [0, 1, 1]
    assert not bounds.whole.any()


def test_sentences_of_a_paragraph_are_not_left_out() -> None:
    source, target, _ = make_pair([(1, 1), (2, 1), (1, 0), (1, 1)], 2)
    example = make_example(source, target, paragraph_bounds([((0, 1, 2), (0, 1)), ((4,), (2,))], 5, 3))
    left_out = example.one_sided & example.allowed
    assert left_out.any()  # sentence 3, which is in no paragraph
    assert (example.start // 4 == 3)[left_out].all()  # a row of the band has four cells


def test_made_documents_hold_every_line_and_their_beads_are_in_order() -> None:
    rows = [(f"Line {k}, one; and {k} more of it.", f"Zeile {k}, eins; und {k} mehr davon.") for k in range(300)]
    pair = make_document(rows, ("en", "de"), np.random.default_rng(0))
    for side, lines in enumerate(pair.texts):
        assert [place for bead in pair.beads for place in bead[side]] == list(range(len(lines)))
    numbers = [[set(re.findall(r"\d+", line)) for line in lines] for lines in pair.texts]
    for src, tgt in pair.beads:
        if src and tgt:
            assert set.union(*(numbers[0][k] for k in src)) == set.union(*(numbers[1][k] for k in tgt))
    kinds = Counter((len(src), len(tgt)) for src, tgt in pair.beads)
    assert kinds[1, 1] > 150
    assert min(kinds[1, 2], kinds[2, 1], kinds[0, 1] + kinds[1, 0]) >= 5
    assert set.union(*numbers[0], *numbers[1]) == {str(k) for k in range(300)}
