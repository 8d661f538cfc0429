"""BUCC: thresholds from the training gold, forms of files, what is wrong with gold."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest

from encoder import default
from encoder.default import Probes
from mining.errors import InputError
from mining.margin import Margin
from mining.metrics import pair_metrics
from mining.retrieval import Edges, Retrieval
from pipelines.evaluation.benchmark_files import DataFolder
from pipelines.evaluation.bucc import CALIBRATED, MOVED, PROMISED, SAME, TUNED, Bucc, pair_counts
from pipelines.evaluation.calibrated import read_seed
from pipelines.evaluation.comparable import find_pairs, read_comparable
from pipelines.evaluation.samples import f1_percent
from tests.pipelines.evaluation.toys import LiteralVectors, literal, scores_of, write


def corpora(folder: Path, prefix: str, seed: int, noise: float, size: int = 60, gold: int = 20) -> None:
    """Two corpora of random directions of which the first `gold` are near-copies, under shuffled ids."""
    draw = np.random.default_rng(seed)
    source, target = draw.normal(size=(2, size, 8))
    target[:gold] = source[:gold] + noise * draw.normal(size=(gold, 8))
    order, english = draw.permutation(size), literal(target)
    write(folder, f"{prefix}.de", *(f"de-{i}\t{line}" for i, line in enumerate(literal(source))))
    write(folder, f"{prefix}.en", *(f"en-{i}\t{english[i]}" for i in order))
    write(folder, f"{prefix}.gold", *(f"de-{i}\ten-{i}" for i in range(gold)))


def brute_force(folder: Path, prefix: str, margin: Margin, k: int = 4) -> tuple[dict[tuple[str, str], float], set]:
    """Forward retrieval as LASER's text says, one pair at a time."""
    sides = []
    for ending in ("de", "en"):
        rows = [line.split("\t") for line in (folder / f"{prefix}.{ending}").read_text().splitlines()]
        vectors = np.array([[float(word) for word in row[1].split()] for row in rows])
        sides.append(([row[0] for row in rows], vectors / np.linalg.norm(vectors, axis=1, keepdims=True)))
    (source_ids, x), (target_ids, y) = sides
    cosines = x @ y.T
    a = np.sort(cosines, axis=1)[:, -k:].mean(axis=1)
    b = np.sort(cosines, axis=0)[-k:].mean(axis=0)
    found = {}
    for i, source in enumerate(source_ids):
        nearest = np.argsort(-cosines[i])[:k]
        scored = {
            j: {
                Margin.absolute: cosines[i, j],
                Margin.distance: cosines[i, j] - (a[i] + b[j]) / 2,
                Margin.ratio: cosines[i, j] / ((a[i] + b[j]) / 2),
            }[margin]
            for j in nearest
        }
        best = max(scored, key=lambda j: scored[j])
        found[source, target_ids[best]] = scored[best]
    gold = {tuple(line.split("\t")) for line in (folder / f"{prefix}.gold").read_text().splitlines()}
    return found, gold


def f1(found: set, gold: set) -> float:
    return 200 * len(found & gold) / (len(found) + len(gold))


@pytest.mark.parametrize("margin", list(Margin))
def test_threshold_of_the_training_gold_is_applied_to_the_test(tmp_path: Path, margin: Margin) -> None:
    corpora(tmp_path, "de-en/de-en.training", seed=1, noise=0.35)
    corpora(tmp_path, "de-en/de-en.test", seed=2, noise=0.6)
    scores = scores_of(Bucc(data=".").run(LiteralVectors(), DataFolder(tmp_path)))
    trained, gold = brute_force(tmp_path, "de-en/de-en.training", margin)
    values = sorted(set(trained.values()), reverse=True)
    threshold = max(values, key=lambda t: (f1({p for p, s in trained.items() if s >= t}, gold), t))
    middle = (threshold + values[values.index(threshold) + 1]) / 2
    tested, gold = brute_force(tmp_path, "de-en/de-en.test", margin)
    expected = f1({pair for pair, score in tested.items() if score >= middle}, gold)
    same = max(f1({p for p, s in tested.items() if s >= t}, gold) for t in tested.values())
    assert scores[f"de-en forward {margin}", TUNED] == pytest.approx(expected, abs=1e-3)
    assert scores[f"de-en forward {margin}", SAME] == pytest.approx(same, abs=1e-3)
    assert expected <= same


def test_threshold_moves_with_the_noise_of_a_larger_test(tmp_path: Path) -> None:
    corpora(tmp_path, "de-en.training", seed=1, noise=0.5, size=200, gold=80)
    corpora(tmp_path, "de-en.test", seed=2, noise=0.5, size=1600, gold=200)
    way = "de-en max distance"
    scores = scores_of(Bucc(data=".", main=["max", "distance"]).run(LiteralVectors(), DataFolder(tmp_path)))
    assert scores[way, TUNED] < scores[way, MOVED] <= scores[way, SAME] + 1e-9  # rivals come nearer


def test_every_way_to_mine_is_there_and_all_that_is_printed(tmp_path: Path) -> None:
    corpora(tmp_path, "de-en.training", seed=1, noise=0.3)
    corpora(tmp_path, "de-en.test", seed=2, noise=0.3)
    outcome = Bucc(data=".", examples=3).run(LiteralVectors(), DataFolder(tmp_path))
    ways = {tuple(score.dataset.split()[1:]) for score in outcome.scores}
    assert ways == {(r, m) for r in Retrieval for m in Margin}
    assert [score.metric for score in outcome.scores if score.headline] == [TUNED, MOVED, SAME] * 2
    tables = {table.name: table for table in outcome.attachments}
    assert set(tables) == {"de-en.max-ratio.curve", "de-en.forward-absolute.curve", "de-en.not-in-gold"}
    assert tables["de-en.max-ratio.curve"].columns == ("threshold", "precision", "recall", "f1", "kept")
    assert all(row[1].removeprefix("de-") != row[2].removeprefix("en-") for row in tables["de-en.not-in-gold"].rows)
    assert ("de-en threshold", "tuned on gold of de-en.training.de") in outcome.choices
    assert ("de-en reported on", "de-en.test.de, 20 gold pairs") in outcome.choices


def test_training_side_in_another_folder_and_none_at_all(tmp_path: Path) -> None:
    corpora(tmp_path, "dev/de-en/de-en", seed=1, noise=0.3)
    corpora(tmp_path, "test/de-en/de-en", seed=2, noise=0.3)
    data = DataFolder(tmp_path / "test")
    with_train = scores_of(Bucc(data=".", train="dev").run(LiteralVectors(), data))
    assert ("de-en max ratio", TUNED) in with_train
    assert {"train/de-en/de-en.gold", "de-en/de-en.gold"} <= set(data.digests)
    alone = Bucc(data=".").run(LiteralVectors(), data)
    assert {score.metric for score in alone.scores} == {SAME}
    assert ("de-en threshold", "same gold only") in alone.choices
    with pytest.raises(InputError, match="no training corpora of de-en with gold"):
        (tmp_path / "dev/de-en/de-en.gold").unlink()
        Bucc(data=".", train="dev").run(LiteralVectors(), data)


@pytest.mark.parametrize("split", ["sample", "dev"])
def test_a_split_by_its_own_gold(tmp_path: Path, split: str) -> None:
    """XTREME's dev is BUCC's sample, and stands beside its training side."""
    corpora(tmp_path, "de-en.training", seed=1, noise=0.3)
    corpora(tmp_path, f"de-en.{split}", seed=2, noise=0.3, gold=15)
    outcome = Bucc(data=".", split=split).run(LiteralVectors(), DataFolder(tmp_path))
    assert {score.metric for score in outcome.scores} == {SAME}
    assert ("de-en reported on", f"de-en.{split}.de, 15 gold pairs") in outcome.choices
    with pytest.raises(InputError, match="no corpora of the split test"):
        Bucc(data=".", split="test").run(LiteralVectors(), DataFolder(tmp_path))


def test_without_test_gold_the_training_side_is_reported(tmp_path: Path) -> None:
    corpora(tmp_path, "de-en.training", seed=1, noise=0.3)
    corpora(tmp_path, "de-en.test", seed=2, noise=0.3)
    (tmp_path / "de-en.test.gold").unlink()
    outcome = Bucc(data=".").run(LiteralVectors(), DataFolder(tmp_path))
    assert {score.metric for score in outcome.scores} == {SAME}
    assert ("de-en reported on", "de-en.training.de, 20 gold pairs") in outcome.choices


def test_threshold_without_gold(tmp_path: Path) -> None:
    corpora(tmp_path, "test/de-en", seed=2, noise=0.3, size=900, gold=300)
    draw = np.random.default_rng(9)
    vectors = draw.normal(size=(400, 8))
    english, german = literal(vectors), literal(vectors + 0.3 * draw.normal(size=(400, 8)))
    write(tmp_path, "seeds/en-de.tsv", *(f"{e}\t{d}" for e, d in zip(english, german, strict=True)))
    settings = Bucc(data=".", seed_pairs="../seeds/{target}-{source}.tsv", seed_size=300)
    scores = scores_of(settings.run(LiteralVectors(), DataFolder(tmp_path / "test")))
    same = scores["de-en max ratio", SAME]
    assert same - 6 < scores["de-en max ratio", CALIBRATED] <= same
    seed = read_seed(str(tmp_path / "seeds/{target}-{source}.tsv"), "de-en", 300, 0)
    assert seed.source.lines[0] in german and seed.target.lines[0] in english
    with pytest.raises(InputError, match=r"en-fr\.tsv: no such file of seed pairs"):
        read_seed(str(tmp_path / "seeds/{target}-{source}.tsv"), "fr-en", 300, 0)
    with pytest.raises(InputError, match=r"write \{source\} and \{target\}"):
        read_seed("seeds.tsv", "fr-en", 300, 0)


def test_threshold_by_the_probe_vectors_of_the_encoder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    corpora(tmp_path, "de-en", seed=2, noise=0.3, size=900, gold=300)
    draw = np.random.default_rng(9)
    vectors = draw.normal(size=(300, 8))
    asked = []

    def probes(source: str, target: str, *, encoder: str) -> Probes:
        asked.append((source, target, encoder))
        return Probes(vectors.astype(np.float32), (vectors + 0.3 * draw.normal(size=(300, 8))).astype(np.float32))

    monkeypatch.setattr(default, "probes", probes)
    for wanted in (0.9, 0.6):
        outcome = Bucc(data=".", probes="encoder", precision=wanted).run(LiteralVectors(), DataFolder(tmp_path))
        scores = scores_of(outcome)
        assert scores["de-en max ratio", SAME] - 6 < scores["de-en max ratio", CALIBRATED]
        assert abs(scores["de-en max ratio", PROMISED.format(wanted)] - 100 * wanted) < 8
    assert asked == [("de", "en", "literal")] * 2
    monkeypatch.undo()
    with pytest.raises(InputError, match="this is another encoder, so give seed pairs"):
        Bucc(data=".", probes="encoder").run(LiteralVectors(), DataFolder(tmp_path))


def test_gold_ids_that_do_not_exist(tmp_path: Path) -> None:
    corpora(tmp_path, "de-en", seed=1, noise=0.3)
    write(tmp_path, "de-en.gold", "de-0\ten-0", *(f"de-9{i}\ten-{i}" for i in range(7)))
    with pytest.raises(InputError, match="7 gold ids are not in the corpora, first de-90, de-91, de-92, de-93, de-94;"):
        read_comparable(DataFolder(tmp_path), "de-en", "only")


@pytest.mark.parametrize(
    ("name", "lines", "message"),
    [
        ("de-en.de", ["de-1 no tab"], r"de-en\.de, line 1: 1 tab-separated fields"),
        ("de-en.de", ["de-1\t1 0", "de-1\t0 1"], r"de-en\.de, line 2: the id de-1 was there before"),
        ("de-en.en", [], r"de-en\.en: the file is empty; there is nothing to mine in en"),
        ("de-en.gold", [], r"de-en\.gold: there are no gold pairs"),
    ],
)
def test_bad_corpora(tmp_path: Path, name: str, lines: list[str], message: str) -> None:
    corpora(tmp_path, "de-en", seed=1, noise=0.3)
    write(tmp_path, name, *lines)
    with pytest.raises(InputError, match=message):
        read_comparable(DataFolder(tmp_path), "de-en", "only")


def test_no_corpora_or_not_this_pair(tmp_path: Path) -> None:
    with pytest.raises(InputError, match="no corpora in the form of BUCC"):
        find_pairs(DataFolder(tmp_path))
    corpora(tmp_path, "de-en", seed=1, noise=0.3)
    with pytest.raises(InputError, match="no corpora of fr-en; there are de-en"):
        Bucc(data=".", pairs=("fr-en",)).run(LiteralVectors(), DataFolder(tmp_path))


def test_counts_by_source_sentence_make_the_f1() -> None:
    edges = Edges(
        np.array([0, 1, 2, 2]),
        np.array([0, 5, 2, 3]),
        np.array([0.9, 0.8, 0.7, 0.2], np.float32),
        np.zeros(4, np.float32),
        np.ones(4, np.uint8),
    )
    gold = np.array([[0, 0], [2, 2], [3, 3]])
    counts = pair_counts(edges, 0.7, gold, 5)
    assert counts.tolist() == [[1, 1, 1], [0, 1, 0], [1, 1, 1], [0, 0, 1], [0, 0, 0]]
    assert f1_percent(counts) == pytest.approx(100 * pair_metrics([[0, 0], [1, 5], [2, 2]], gold).f1)
