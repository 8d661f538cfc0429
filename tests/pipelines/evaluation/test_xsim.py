"""Retrieval among candidates and xsim, against literal loops."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest

from mining.errors import InputError
from mining.margin import Margin, margin_scores
from pipelines.evaluation.aligned import read_nway, sampled_queries
from pipelines.evaluation.benchmark import graph_of
from pipelines.evaluation.benchmark_files import DataFolder
from pipelines.evaluation.xsim import CrossLingualRetrieval, Xsim, best_by_margin
from tests.pipelines.evaluation.test_bucc import corpora
from tests.pipelines.evaluation.toys import LiteralVectors, literal, scores_of, write


@pytest.mark.parametrize("margin", list(Margin))
def test_best_by_margin_equals_a_loop(margin: Margin) -> None:
    draw = np.random.default_rng(3)
    x, y = draw.normal(size=(20, 4)).astype(np.float32), draw.normal(size=(30, 4)).astype(np.float32)
    graph = graph_of(x, y, 4)
    a, b = graph.forward.means(), graph.backward.means()
    for row in range(20):
        ids, cosines = graph.forward.ids[row], graph.forward.scores[row]
        scores = [float(margin_scores(c, a[row], b[j], margin)) for c, j in zip(cosines, ids, strict=True)]
        assert best_by_margin(graph, margin)[row] == ids[int(np.argmax(scores))]


def test_xsim_is_the_share_of_wrong_candidates_of_highest_margin(tmp_path: Path) -> None:
    draw = np.random.default_rng(4)
    english = draw.normal(size=(40, 5))
    other = english + draw.normal(size=(40, 5))
    write(tmp_path, "q.en.txt", *literal(english))
    write(tmp_path, "q.de.txt", *literal(other))
    graph = graph_of(*(np.array(side, np.float32) for side in (other.round(6), english.round(6))), 4)
    a, b = graph.forward.means(), graph.backward.means()
    forward = margin_scores(graph.forward.scores, a[:, None], b[graph.forward.ids])
    backward = margin_scores(graph.backward.scores, b[:, None], a[graph.backward.ids])
    errors = [
        100 * np.mean(found.ids[np.arange(40), margins.argmax(axis=1)] != np.arange(40))
        for found, margins in ((graph.forward, forward), (graph.backward, backward))
    ]
    scores = scores_of(Xsim(data=".", files="q.{lang}.txt").run(LiteralVectors(), DataFolder(tmp_path)))
    assert scores["de-en", "xsim error to en"] == pytest.approx(errors[0])
    assert scores["de-en", "xsim error from en"] == pytest.approx(errors[1])
    assert scores["mean of 1", "xsim error both ways"] == pytest.approx(sum(errors) / 2)
    assert 0 < errors[0] != errors[1] < 100


def test_xsim_of_the_files_of_flores(tmp_path: Path) -> None:
    for code in ("eng_Latn", "deu_Latn", "zho_Hans", "zho_Hant_HK"):
        write(tmp_path, f"{code}.devtest", "1 0", "0 1")
    outcome = Xsim(data=".", files="{lang}.devtest", pivot="eng_Latn").run(LiteralVectors(), DataFolder(tmp_path))
    scores = scores_of(outcome)
    assert scores["zho_Hant_HK-eng_Latn", "xsim error to eng_Latn"] == 0.0
    assert ("mean of 3", "xsim error both ways") in scores


def test_xsim_bad_data(tmp_path: Path) -> None:
    write(tmp_path, "q.en.txt", "1 0", "0 1")
    with pytest.raises(InputError, match="only en is there"):
        Xsim(data=".", files="q.{lang}.txt").run(LiteralVectors(), DataFolder(tmp_path))
    write(tmp_path, "q.de.txt", "1 0")
    with pytest.raises(InputError, match=r"q\.de\.txt has 1 lines, but q\.en\.txt has 2"):
        Xsim(data=".", files="q.{lang}.txt").run(LiteralVectors(), DataFolder(tmp_path))
    with pytest.raises(InputError, match="for the pivot fr; there are de"):
        (tmp_path / "q.en.txt").unlink()
        Xsim(data=".", files="q.{lang}.txt", pivot="fr").run(LiteralVectors(), DataFolder(tmp_path))
    with pytest.raises(InputError, match="for nl; there are de"):
        read_nway(DataFolder(tmp_path), "q.{lang}.txt", ("nl",))


def test_sample_of_a_parallel_file(tmp_path: Path) -> None:
    write(tmp_path, "de-en.tsv", *(f"s{i}\tt{i // 2}\textra" for i in range(200)))
    path = tmp_path / "de-en.tsv"
    found = sampled_queries(path, "de-en.tsv", queries=20, candidates=60, seed=5)
    again = sampled_queries(path, "de-en.tsv", queries=20, candidates=60, seed=5)
    other = sampled_queries(path, "de-en.tsv", queries=20, candidates=60, seed=6)
    assert found.queries.lines == again.queries.lines != other.queries.lines
    assert len(set(found.candidates.lines)) == len(found.candidates) <= 60  # the same translation is there once
    for query, row in zip(found.queries.lines, found.gold, strict=True):
        assert found.candidates.lines[row] == f"t{int(query[1:]) // 2}"
    assert (found.queries.lang, found.candidates.lang) == ("de", "en")


def test_every_line_is_as_likely_to_be_sampled(tmp_path: Path) -> None:
    write(tmp_path, "de-en.tsv", *(f"s{i}\tt{i}" for i in range(40)))
    counts = np.zeros(40)
    for seed in range(300):
        sample = sampled_queries(tmp_path / "de-en.tsv", "de-en.tsv", queries=1, candidates=10, seed=seed)
        counts[[int(line[1:]) for line in sample.candidates.lines]] += 1
    assert counts.sum() == 3000
    assert counts[:20].sum() == pytest.approx(1500, abs=150)  # six standard deviations
    assert counts.min() > 30 and counts.max() < 125


def test_retrieval_from_tsv_and_from_gold(tmp_path: Path) -> None:
    draw = np.random.default_rng(8)
    vectors = draw.normal(size=(30, 6))
    lines = (f"{s}\t{t}" for s, t in zip(literal(vectors), literal(vectors + 0.01), strict=True))
    write(tmp_path / "tsv", "de-en.tsv", *lines)
    outcome = CrossLingualRetrieval(data=".", queries=10, candidates=25).run(
        LiteralVectors(), DataFolder(tmp_path / "tsv")
    )
    assert scores_of(outcome)["de-en", "P@1 margin"] == scores_of(outcome)["de-en", "P@1 cosine"] == 100.0
    assert ("de-en", "10 queries in 25") in outcome.choices
    (tmp_path / "tsv/de-en.tsv").rename(tmp_path / "tsv/de-en.bicleaner.txt")  # as ParaCrawl publishes it
    write(tmp_path / "tsv", "read-me.txt", "not a parallel file")
    again = CrossLingualRetrieval(data=".", queries=10, candidates=25).run(
        LiteralVectors(), DataFolder(tmp_path / "tsv")
    )
    assert scores_of(again) == scores_of(outcome)
    with pytest.raises(InputError, match=r"no corpora in the form of BUCC; .*; or parallel files such as de-en\.tsv"):
        CrossLingualRetrieval(data=".").run(LiteralVectors(), DataFolder(tmp_path))
    corpora(tmp_path / "gold", "de-en", seed=1, noise=0.1)
    outcome = CrossLingualRetrieval(data=".", queries=15).run(LiteralVectors(), DataFolder(tmp_path / "gold"))
    assert ("de-en", "15 queries in 60") in outcome.choices
    assert scores_of(outcome)["mean of 1", "P@1 margin"] == 100.0


@pytest.mark.parametrize(
    ("name", "lines", "message"),
    [
        ("de-en.tsv", ["a\tb", "no tab"], "line 2: no tab"),
        ("de-en.tsv", ["a\tb", "c\tb"], "1 distinct pairs"),
        ("german.tsv", ["a\tb"], "call it by its languages"),
        ("de-en.tsv", ["0.9\ta\tb", "1e-05\tc\td"], "first column has numbers only"),  # as pairs are written
    ],
)
def test_bad_parallel_file(tmp_path: Path, name: str, lines: list[str], message: str) -> None:
    write(tmp_path, name, *lines)
    with pytest.raises(InputError, match=message):
        sampled_queries(tmp_path / name, name, 5, 10, 0)
