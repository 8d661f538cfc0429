"""Which matched edges a threshold keeps, and what is said of it."""

from pathlib import Path

import numpy as np
import pyarrow as pa
import pytest

from mining.calibration import CalibratedCurve, Calibration, CredibleInterval, TopBand
from mining.errors import InputError
from mining.score_counts import ScoreCounts
from pipelines.datasets.manifest import Counters, Dataset, Request, Shard
from pipelines.datasets.sentences import SCHEMA, constant, write_shard
from pipelines.datasets.work import Work, begin, new_name
from pipelines.mine.edges import EDGE
from pipelines.mine.mine_settings import ThresholdSettings
from pipelines.mine.score_curve import ScoreCurve
from pipelines.mine.thresholding import NO_GOLD, Matched, _calibrated, gold_ids, select
from tests.pipelines.works import begun_work

EDGES = np.array([(n, n, score, 0.5, 3) for n, score in enumerate([2.0, 1.5, 1.5, 1.25, 1.0])], EDGE)


def write_sentences(folder: Path, texts: list[str], refs: list[str]) -> str:
    work = begin(str(folder), Request(kind="sentences", configuration={}, inputs=[]))
    assert isinstance(work, Work)
    name, count = new_name(0, "parquet"), len(texts)
    columns = [pa.array(np.arange(count, dtype=np.uint64)), constant("a.txt", count), pa.array(np.arange(count))]
    table = pa.table([*columns, pa.array(refs), constant("en", count), pa.array(texts)], schema=SCHEMA)
    shard = work.note(Shard(index=0, name=name, rows=count, digest=write_shard(work.place(name), table)))
    dataset = work.complete([shard], Counters(rows_in=count, kept=count))
    assert isinstance(dataset, Dataset)
    return dataset.url


@pytest.fixture
def sides(tmp_path: Path) -> tuple[str, str]:
    return (
        write_sentences(tmp_path / "src", [f"source {n}" for n in range(5)], [f"en-{n}" for n in range(5)]),
        write_sentences(tmp_path / "tgt", [f"target {n}" for n in range(5)], [f"de-{n}" for n in range(5)]),
    )


@pytest.fixture
def work(tmp_path: Path) -> Work:
    return begun_work(tmp_path, "pairs")


CASES = [
    ({}, 5, None),
    ({"at_least": 1.5}, 3, 1.5),
    ({"at_least": 9}, 0, 9.0),
    ({"top": 2}, 2, 1.5),
    ({"top": 0}, 0, None),
    ({"top": 99}, 5, 1.0),
]


@pytest.mark.parametrize(("asked", "kept", "threshold"), CASES, ids=str)
def test_select(work: Work, sides: tuple[str, str], asked: dict, kept: int, threshold: float | None) -> None:
    matched = Matched.of(EDGES, (5, 5), NO_GOLD)
    found = select(work, matched, NO_GOLD, [sides[0]], [sides[1]], ThresholdSettings(**asked))
    assert (found.rows, found.kept, found.threshold) == (5, kept, threshold)
    assert found.dropped == {"below_threshold": 5 - kept, "probe_pairs": 0}
    curve = ScoreCurve.read(work.url)
    assert curve is not None and sum(curve.counts) == 5, "the curve tells of what does not pass, too"


@pytest.mark.parametrize("names", [("source {}", "target {}"), ("en-{}", "de-{}"), ("source {}", "de-{}")], ids=str)
def test_gold_by_text_or_document_id(
    work: Work, sides: tuple[str, str], tmp_path: Path, names: tuple[str, str]
) -> None:
    gold = tmp_path / "gold.tsv"
    gold.write_text("".join(f"{names[0].format(n)}\t{names[1].format(n)}\n" for n in range(3)) + "gone\tgone\n")
    ids = gold_ids(str(gold), *sides)
    matched = Matched.united([Matched.of(part, (5, 5), ids) for part in np.array_split(EDGES, 3)])
    found = select(work, matched, ids, [sides[0]], [sides[1]], ThresholdSettings(gold=str(gold)))
    assert (found.kept, found.precision, found.recall) == (3, 1.0, 0.75)


def test_edges_to_probes_are_counted_apart(work: Work, sides: tuple[str, str]) -> None:
    """Ids behind those of the corpus are of probes; with a fixed threshold they are left out all the same."""
    edges = np.array([(0, 0, 2.0, 0.9, 3), (5, 1, 1.9, 0.9, 3), (1, 7, 0.5, 0.1, 3), (2, 2, 0.4, 0.1, 3)], EDGE)
    matched = Matched.of(edges, (5, 5), NO_GOLD)
    found = select(work, matched, NO_GOLD, [sides[0]], [sides[1]], ThresholdSettings(at_least=1))
    assert (found.kept, found.dropped) == (1, {"below_threshold": 1, "probe_pairs": 2})


BAD = [
    ("a\tb\tc\n", r"gold.tsv, line 1: 3 columns where `source TAB target` are needed"),
    ("source 0\ttarget 0\n\nalone\n", r"gold.tsv, line 3: 1 columns"),
    ("x\ty\n", "gold.tsv: no pair names sentences of .*src and .*tgt by document id or text"),
]


@pytest.mark.parametrize(("text", "phrase"), BAD)
def test_bad_gold_is_one_sentence(sides: tuple[str, str], tmp_path: Path, text: str, phrase: str) -> None:
    (tmp_path / "gold.tsv").write_text(text)
    with pytest.raises(InputError, match=phrase):
        gold_ids(str(tmp_path / "gold.tsv"), *sides)


@pytest.mark.parametrize(("wrong", "kept"), [(400, 1000), (60, 1060)])
def test_probes_that_the_classifier_contradicts_are_not_believed(wrong: int, kept: int) -> None:
    """The estimate keeps everything, also what the classifier finds wrong."""
    levels = np.array([4.0, -4.0])
    counts = np.array([1000, wrong])
    expected = np.array([0.99, 0.92])
    curve = CalibratedCurve(
        levels, expected, expected - 0.05, np.minimum(expected + 0.05, 1), expected, counts.cumsum()
    )
    calibration = Calibration(
        curve, 1000.0, CredibleInterval(900, 1100), 0.0, TopBand(np.inf, 0, 0.0, False), 300, 400
    )  # fmt: skip
    asked = ThresholdSettings(precision=0.9, in_doubt="classifier")
    found = _calibrated(ScoreCounts.of(np.repeat(levels, counts)), calibration, asked, rescored=True)
    assert found.kept == kept
    assert ("by the pair classifier" in found.warning) == (wrong == 400)


IN_DOUBT = [
    ([0.99, 0.95, 0.92, 0.8, 0.7], 300, 2.0, "anything from"),  # the estimate is stricter than a score of 0
    ([0.99, 0.98, 0.97, 0.95, 0.92], 300, 0.0, "anything from"),  # and here it is laxer
    ([0.99, 0.95, 0.92, 0.8, 0.7], 10, 0.0, "too weak"),  # it rests on next to nothing
    ([0.8, 0.7, 0.6, 0.5, 0.4], 300, 0.0, "no threshold reaches 90%"),
]


@pytest.mark.parametrize(("precision", "probes_found", "threshold", "said"), IN_DOUBT, ids=range(len(IN_DOUBT)))
def test_in_doubt_the_stricter_of_estimate_and_classifier(
    precision: list[float], probes_found: int, threshold: float, said: str
) -> None:
    levels = np.array([4.0, 3.0, 2.0, 0.0, -2.0])
    scores = ScoreCounts.of(np.repeat(levels, 100))
    expected = np.array(precision)
    kept = np.arange(100, 501, 100)
    curve = CalibratedCurve(
        levels, expected, expected - 0.3, np.minimum(expected + 0.1, 1), np.linspace(0.2, 1, 5), kept
    )
    nothing_odd = TopBand(np.inf, 0, 0.0, False)
    calibration = Calibration(curve, 400.0, CredibleInterval(200, 500), 0.0, nothing_odd, probes_found, 400)
    asked = ThresholdSettings(precision=0.9, in_doubt="classifier")
    found = _calibrated(scores, calibration, asked, rescored=True)
    assert found.about["threshold"] == threshold
    assert found.kept == (np.repeat(levels, 100) >= threshold).sum()
    assert said in found.warning
    assert "precision" not in found.about
