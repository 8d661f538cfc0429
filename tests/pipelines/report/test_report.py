"""The page of a work folder: what is in it, what is missing in a sentence, and texts that stay texts."""

import json
import re
import shutil
from pathlib import Path
from typing import Any

import pytest
from typer.testing import CliRunner

from mining.errors import InputError
from pipelines.cli import app
from pipelines.loop.records import LoopState, MinedPair, RoundRecord, TrainingRecord, write_round, write_state
from pipelines.mine.score_curve import ScoreCurve
from pipelines.mine.work_folder import find_mines
from pipelines.report import write_report
from pipelines.report.figures import funnel
from tests.pipelines.works import BELOW, Pair, pairs_of, write_work

HOSTILE = [
    Pair("</script><script>window.broken = 1</script>", "\"quoted\" & <b onclick='x'>bold</b>", 1.9),
    Pair("left \u202eright to left override", "<!-- <img src=x onerror=window.broken=1>", 1.8),
    Pair("line\u2028separator {{ 7 * 7 }} ${8}", "Python: القطة تجلس على الطاولة", 1.7),
]


def data_of(page: str, name: str) -> Any:
    found = re.search(rf'<script type="application/json" id="{name}">(.*?)</script>', page, re.DOTALL)
    assert found is not None
    return json.loads(found[1])


def test_page_has_pairs_charts_and_lineage(tmp_path: Path) -> None:
    work = write_work(tmp_path / "work", pairs_of(50))
    page = Path(write_report(str(work))).read_text()
    pairs = data_of(page, "pairs-0")
    assert pairs["src"] == [pair.src for pair in pairs_of(50)]
    assert sum(pairs["counts"]) == 50
    charts = data_of(page, "charts")["0"]["charts"]
    assert set(charts) == {"histogram", "yield", "funnel", "lengths", "hubs"}
    for phrase in ("Nothing is known of precision", "recall is not known", "This is not the folder of a loop"):
        assert phrase in page, "what is missing is said"
    mine = find_mines(str(work))[0]
    assert all(dataset.fingerprint in page for dataset in (mine.pairs, mine.graph) if dataset)
    assert all(phrase in page for phrase in ("pairs: margin", "graph: k", "source sentences: read.lang", "e1e2"))
    assert not re.search(r"""(src|href)\s*=\s*["']?(https?:)?//""", page.split("<script>")[0])


def test_histogram_says_what_became_of_every_matched_pair(tmp_path: Path) -> None:
    page = Path(write_report(str(write_work(tmp_path / "work", pairs_of(50))))).read_text()
    spec = data_of(page, "charts")["0"]["charts"]["histogram"]
    rows = spec["datasets"]["rows"]
    counts: dict[str, int] = {}
    for row in rows:
        counts[row["what"]] = counts.get(row["what"], 0) + row["pairs"]
    assert counts == {"kept": 50, "dropped by filters": 1, "below threshold": BELOW}


def test_funnel_accounts_for_every_row(tmp_path: Path) -> None:
    stages = funnel(find_mines(str(write_work(tmp_path / "work", pairs_of(20))))[0])
    assert [stage.name for stage in stages][:2] == ["source cleaned", "source embedded"]
    for stage in stages:
        assert stage.counters.rows_in == stage.counters.kept + sum(stage.counters.dropped.values())
    assert stages[-1].counters.dropped == {"identical": 1}


def test_gold_and_curves_are_drawn_where_they_are(tmp_path: Path) -> None:
    pairs = pairs_of(40)
    scores = [pair.score for pair in pairs]
    curve = ScoreCurve(
        basis="calibration", edges=[1.0, 1.5, 2.0], counts=[20, 20], threshold=scores, kept=list(range(1, 41)),
        precision=[0.9] * 40, precision_low=[0.8] * 40, precision_high=[1.0] * 40, recall=[i / 40 for i in range(40)],
        warning="the encoder is too weak here",
    )  # fmt: skip
    demo = tmp_path / "demo"
    write_work(demo / "work" / "en-de", pairs, curve=curve)
    write_work(demo / "work" / "en-fr", pairs_of(10), ("en", "fr"))
    gold = demo / "mine" / "en-de" / "gold.tsv"
    gold.parent.mkdir(parents=True)
    gold.write_text("".join(f"{pair.src}\t{pair.tgt}\n" for pair in pairs[:30]))
    page = Path(write_report(str(demo))).read_text()
    assert data_of(page, "pairs-0")["right"] == [True] * 30 + [False] * 10
    drawn = json.dumps(data_of(page, "charts")["0"]["charts"]["precision"])
    assert "estimate by probe pairs" in drawn and "truth, of pairs kept" in drawn
    assert "recall" in data_of(page, "charts")["0"]["charts"]
    assert "The estimate by probe pairs is not reliable: the encoder is too weak here." in page
    assert "75.0%" in page, "30 of 40 are right"
    assert "en-fr" in page


def test_the_round_of_a_demo_is_judged_by_the_gold_of_the_demo(tmp_path: Path) -> None:
    for folder in (tmp_path / "work", tmp_path / "round-1" / "work"):
        write_work(folder / "en-de", pairs_of(3))
    gold = tmp_path / "mine" / "en-de" / "gold.tsv"
    gold.parent.mkdir(parents=True)
    gold.write_text("one\teins\n")
    assert [(mine.name, mine.gold) for mine in find_mines(str(tmp_path))] == [
        ("en-de", str(gold)),
        ("round-1/en-de", str(gold)),
    ]


def test_a_demo_compares_its_mines_by_round(tmp_path: Path) -> None:
    for folder, count in ((tmp_path / "work", 3), (tmp_path / "round-1" / "work", 5)):
        write_work(folder / "en-de", pairs_of(count))
    page = Path(write_report(str(tmp_path))).read_text()
    assert list(data_of(page, "charts")["rounds"]["charts"]) == ["pairs"], "without gold nothing is known of precision"
    gold = tmp_path / "mine" / "en-de" / "gold.tsv"
    gold.parent.mkdir(parents=True)
    gold.write_text("".join(f"{pair.src}\t{pair.tgt}\n" for pair in pairs_of(3)))
    page = Path(write_report(str(tmp_path))).read_text()
    drawn = data_of(page, "charts")["rounds"]["charts"]
    assert list(drawn) == ["pairs", "precision", "recall", "f1"]
    assert "100.0%" in page and "60.0%" in page, "3 of 3 right, then 3 of 5"


def test_gold_by_document_ids_marks_no_pair_wrong(tmp_path: Path) -> None:
    write_work(tmp_path / "work" / "en-de", pairs_of(3))
    gold = tmp_path / "mine" / "en-de" / "gold.tsv"
    gold.parent.mkdir(parents=True)
    gold.write_text("en-1\tde-1\n")
    assert data_of(Path(write_report(str(tmp_path))).read_text(), "pairs-0")["right"] is None


def test_a_moved_folder_and_lost_inputs_are_no_error(tmp_path: Path) -> None:
    work = write_work(tmp_path / "work", pairs_of(20))
    moved = work.rename(tmp_path / "elsewhere")
    mine = find_mines(str(moved))[0]
    assert mine.graph is not None and mine.source.vectors is not None and mine.target.lang == "de"
    shutil.rmtree(moved / "graph")
    shutil.rmtree(moved / "src")
    (moved / "pairs" / "curve.json").unlink()
    page = Path(write_report(str(moved))).read_text()
    assert "The graph is no longer there" in page
    assert "before scores below the threshold were recorded" in page


def test_a_mine_without_pairs_has_a_page(tmp_path: Path) -> None:
    page = Path(write_report(str(write_work(tmp_path / "work", [])))).read_text()
    assert "No pair was kept." in page
    assert data_of(page, "pairs-0")["src"] == []


def test_hostile_texts_are_data(tmp_path: Path) -> None:
    page = Path(write_report(str(write_work(tmp_path / "work", HOSTILE, ("en", "ar"))))).read_text()
    pairs = data_of(page, "pairs-0")
    assert list(zip(pairs["src"], pairs["tgt"], strict=True)) == [(pair.src, pair.tgt) for pair in HOSTILE]
    assert len(re.findall("<script[ >]", page)) == page.count("</script>") == 5, "two of data and three of code"
    assert "\u2028" not in page[page.index('id="charts"') :], "not in a script"
    assert "<img src=x" not in page and "<b onclick" not in page


def test_many_pairs_are_sampled_evenly(tmp_path: Path) -> None:
    work = write_work(tmp_path / "work", pairs_of(5000))
    page = Path(write_report(str(work), str(tmp_path / "page.html"), pairs=300)).read_text()
    pairs = data_of(page, "pairs-0")
    assert len(pairs["src"]) == 300
    assert "300 of 5,000 pairs" in page
    assert min(pairs["band"].count(band) for band in set(pairs["band"])) >= 300 // len(pairs["bands"])


def test_rounds_of_a_loop_are_shown(tmp_path: Path) -> None:
    loop = tmp_path / "loop"
    training = TrainingRecord(
        objective={"kind": "ems"}, start="scratch", seed_pairs=9, mined_pairs=0, seed_weight=1, updates=5, examples=50
    )
    for number, score in enumerate((50.0, 61.5)):
        mined = [MinedPair(pair="de-en", matched=30, selected=20, estimated_precision=0.9)] if number else []
        record = RoundRecord(
            round=number, parent=None, encoder=f"encoder{number}", mined=mined, training=training,
            scores={"F1 de-en": score}, score=score, seconds={"train": 60.0},
        )  # fmt: skip
        write_round(loop / f"round-{number}", record)
    write_state(loop, LoopState(configuration={}, inputs=[], finished=2, best=1, stopped="two rounds were asked for"))
    assert "There are no finished pairs in this folder" in Path(write_report(str(loop))).read_text()
    write_work(loop / "round-1", pairs_of(10))
    page = Path(write_report(str(loop))).read_text()
    assert "The loop stopped: two rounds were asked for. The best round is 1." in page
    assert "61.50" in page and "90.0%" in page
    assert set(data_of(page, "charts")["rounds"]["charts"]) == {"scores", "pairs", "precision"}


def test_pairs_by_language_in_one_folder_are_mines_of_their_own(tmp_path: Path) -> None:
    for name in ("de-en", "fr-en"):
        write_work(tmp_path / name, pairs_of(20), pairs_folder=tmp_path / "loop" / "round-1" / "pairs" / name)
    mines = find_mines(str(tmp_path / "loop"))
    assert [mine.name for mine in mines] == ["round-1/de-en", "round-1/fr-en"]
    assert len({mine.folder for mine in mines}) == 2, "each has its own review"
    assert all(mine.graph is not None for mine in mines), "found where they were made"
    assert find_mines(mines[0].pairs.url)[0].pairs == mines[0].pairs
    with pytest.raises(InputError, match="holds sentences; pairs are needed"):
        find_mines(str(tmp_path / "de-en" / "src"))


@pytest.mark.parametrize("name", ["nothing", "empty"])
def test_a_folder_without_pairs_is_one_sentence(tmp_path: Path, name: str) -> None:
    (tmp_path / "empty").mkdir()
    with pytest.raises(InputError, match=rf"{name}: (no such folder|there are no finished pairs)"):
        write_report(str(tmp_path / name))


def test_command_says_where_the_page_is(tmp_path: Path) -> None:
    work = write_work(tmp_path / "w", pairs_of(5))
    result = CliRunner().invoke(app, ["report", str(work)], catch_exceptions=False, env={"COLUMNS": "300"})
    assert result.exit_code == 0
    assert str(work / "report.html") in result.output


def test_command_writes_nothing_but_pages(tmp_path: Path) -> None:
    work = write_work(tmp_path / "work", pairs_of(3))
    (tmp_path / "corpus.txt").write_text("kept")
    for name, told in (("corpus.txt", "ends with .html"), ("corpus.txt/page.html", "cannot be written")):
        error = CliRunner().invoke(app, ["report", str(work), "--out", str(tmp_path / name)]).exception
        assert isinstance(error, InputError) and told in str(error)
    assert (tmp_path / "corpus.txt").read_text() == "kept"
