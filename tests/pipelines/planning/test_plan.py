"""Plans: what grows as the rows, what as their product, which limit comes first, and a budget that refuses."""

import json
from pathlib import Path

import numpy as np
import pytest
from typer.testing import CliRunner

from encoder import default
from encoder.text import NewWords
from mining.errors import InputError
from pipelines.cli import app
from pipelines.datasets.manifest import open_dataset
from pipelines.planning import bill, sample_runs
from pipelines.planning import gpu_rates as rates
from pipelines.planning.bill import planned_side, size
from pipelines.planning.calibrated_machine import Calibrated
from pipelines.planning.cost_model import CostPlan, exact_seconds, predict
from pipelines.planning.counted_files import Traffic
from pipelines.planning.gpu_rates import CoreRates, GpuRates, assumed_rates, with_stated
from pipelines.planning.index_rates import IndexRates
from pipelines.planning.kernel_rates import CellSpread, CentroidLine, Kernels
from pipelines.planning.plan_settings import GpuSettings, PlanSettings, Prices
from pipelines.planning.sample_runs import STAGES, MeasuredRun, SampleRun, embed_row_seconds
from pipelines.planning.word_growth import NO_WORDS, WordGrowth
from tests.pipelines.corpora import write_encoder


def run(lines: int, shards: int, seconds: float) -> SampleRun:
    """Reading takes 100 bytes a line and 5,000 a shard; a comparison of the graph 1e-8 seconds, a row of it 1e-5."""
    files = Traffic(10 * 2 * shards, 5 * 2 * shards, 100 * lines + 5000 * 2 * shards, 50 * lines, 20 * lines)
    rows = lines * 9 // 10
    stages = dict.fromkeys(STAGES, MeasuredRun(seconds, files, 10**9))
    graph = MeasuredRun(1e-8 * (rows / 2) ** 2 + 1e-5 * rows, files, 10**9)
    return SampleRun(lines, shards, rows, lines // 4, stages | {"graph": graph})


KERNELS = Kernels(
    exact=1e8,
    cells=1e8,
    visit=1e-6,
    again=5e-7,
    truth=1e-5,
    nearest=CentroidLine(0.0, 1e-8),
    assigned=CentroidLine(0.0, 1e-8),
    ordered=1e-4,
    read=1e-9,
    spreads=(CellSpread(250, 2.5, 1.2, 1.0), CellSpread(1000, 4.6, 1.3, 1.0)),
)
FOUND = Calibrated(
    warm=run(400, 1, 3.0),
    whole=run(128_000, 1, 15.0),
    again=run(128_000, 1, 13.0),
    small=run(8000, 1, 1.0),
    wide=run(32_000, 1, 3.4),
    large=run(32_000, 4, 3.4),
    kernels=KERNELS,
    dim=256,
    line_bytes=(60.0, 60.0),
    growth=(NO_WORDS, NO_WORDS),
    embed_rows=(1e-4, 3e-4),
)


def plan(lines: int, **changes: object) -> CostPlan:
    return predict((lines, lines), FOUND, PlanSettings(encoder="e", **changes), 1e15)  # type: ignore[arg-type]


def hours(found: CostPlan) -> dict[str, float]:
    return {stage.stage: stage.core_hours for stage in found.stages}


def test_stages_grow_as_they_should() -> None:
    small, large = hours(plan(10**6, search="exact")), hours(plan(10**7, search="exact"))
    for stage in ("prepare", "embed", "mine"):
        assert large[stage] / small[stage] == pytest.approx(10, rel=0.02)
    assert large["graph"] / small["graph"] == pytest.approx(100, rel=0.02)
    assert small["graph"] == pytest.approx((0.9e6**2 / 1e8 + 1.8e6 * 1e-5) / 3600, rel=0.001)
    further = 1.8e6 - 128_000 * 0.9
    assert small["mine"] == pytest.approx((15 + further * 12 / 108_000) / 3600, rel=0.001), "a shard, and further rows"
    linear = hours(plan(10**8))["graph"] / hours(plan(10**7))["graph"]
    assert 5 < linear < 12, "a partitioned search grows as its rows, and its training is bounded"
    assert plan(10**5).search == "exact" and plan(10**7).search == "partitioned"


def test_a_stage_takes_no_less_than_what_is_loaded() -> None:
    faster = FOUND.again._replace(stages=FOUND.small.stages)
    found = predict((1000, 1000), FOUND._replace(again=faster), PlanSettings(encoder="e"), 1e15)
    assert hours(found)["mine"] == pytest.approx(15 / 3600), "what took no longer for more rows has nothing to grow by"
    assert hours(plan(1000))["mine"] == pytest.approx(3 / 3600)


def test_embedding_takes_what_neighbours_of_each_side_take() -> None:
    found = predict((10**6, 2 * 10**5), FOUND, PlanSettings(encoder="e"), 1e15)
    assert hours(found)["embed"] == pytest.approx((3 + 0.9e6 * 1e-4 + 1.8e5 * 3e-4) / 3600)


@pytest.mark.skipif(not default.has_default(), reason="needs the encoder of the package")
def test_neighbours_are_embedded_by_an_encoder_that_is_loaded(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """The middle one of three measurements, without the time to load it, and every window a shard."""
    given: list[object] = []
    embed = sample_runs.embed
    monkeypatch.setattr(
        sample_runs, "embed", lambda *asked, encoder: (given.append(encoder), embed(*asked, encoder=encoder))[1]
    )
    seconds = iter([0.0, 5.0, 10.0, 11.0, 20.0, 22.0])
    monkeypatch.setattr(sample_runs, "_processor_seconds", lambda: next(seconds))
    windows = [[f"Line {number} of window {window}." for number in range(50)] for window in range(3)]
    found = embed_row_seconds(tmp_path / "near", PlanSettings(), windows, "en")
    assert found == pytest.approx(2.0 / 150)
    assert len(given) == 3 and len({id(encoder) for encoder in given}) == 1 and given[0] is not None
    shards = open_dataset(str(tmp_path / "near" / "sentences"), "sentences").shards
    assert [shard.rows for shard in shards] == [50, 50, 50]


def test_new_words_become_fewer() -> None:
    """A shard of each side meets 400,000 words in 4 of its 15 s, and once more 100,000 in 1 of 9."""
    growth = WordGrowth(lines=10_000, words=40_000, power=0.5, remembered=300_000)
    found = FOUND._replace(
        whole=with_words(FOUND.whole, NewWords(400_000, 2_000_000, 4.0)),
        again=with_words(run(128_000, 1, 9.0), NewWords(100_000, 500_000, 1.0)),
        growth=(growth, growth),
    )
    for lines in (100_000, 640_000):
        rows = 0.9 * lines
        foreseen = predict((lines, lines), found, PlanSettings(encoder="e"), 1e15).stages[0].core_hours * 3600
        known = 11 + (2 * rows - FOUND.whole.rows) * (8 - 1) / 108_000
        of_text = 40_000 * (rows / 10_000) ** 0.5 if rows < 562_500 else 300_000 * rows / 562_500
        assert foreseen == pytest.approx(known + 2 * of_text * 1e-5, rel=0.001)


def with_words(given: SampleRun, met: NewWords) -> SampleRun:
    return given._replace(stages=given.stages | {"prepare": given.stages["prepare"]._replace(met=met)})


def test_an_exact_graph_takes_its_comparisons_and_its_rows() -> None:
    rows = FOUND.small.rows / 2
    assert exact_seconds((rows, rows), FOUND) == pytest.approx(FOUND.small.stages["graph"].seconds)
    assert exact_seconds((10**6, 10**6), FOUND) == pytest.approx(1e12 / 1e8 + 2e6 * 1e-5)


def test_shards_and_rows_are_told_apart() -> None:
    mined = plan(10**6).stages[3]
    shards = 2 * -(-900_000 // 65_536)
    assert mined.read == pytest.approx(2e8 + 5000 * shards)
    assert mined.objects == pytest.approx(10 * shards)
    assert mined.shuffled == pytest.approx(4e7)
    assert mined.memory > 10**9


@pytest.mark.parametrize(
    ("lines", "changes", "limit"),
    [
        (10**5, {}, "memory of matching"),
        (3 * 10**6, {"search": "exact"}, "comparisons of an exact search"),
        (10**8, {}, "memory of a search in one process"),
        (10**9, {"memory": "1TB"}, "vectors that the codebook's cells begin with"),
    ],
)
def test_the_first_limit(lines: int, changes: dict, limit: str) -> None:
    assert plan(lines, **changes).first_limit.name == limit


def test_a_full_disk_comes_first() -> None:
    found = predict((10**6, 10**6), FOUND, PlanSettings(encoder="e"), 1e6)
    assert found.first_limit.name == "free disk" and found.first_limit.share > 1


def test_a_text_of_more_blocks_opens_more_files() -> None:
    short, long = (FOUND._replace(line_bytes=(size, 1.0)) for size in (16.0, 160.0))
    opens = [
        predict((10**6, 10**6), found, PlanSettings(encoder="e"), 1e15).stages[0].objects for found in (short, long)
    ]
    assert opens[1] - opens[0] == 6 * 9, "ten blocks instead of one"


def test_more_workers_than_work_items_do_not_help() -> None:
    found = plan(10**6, search="exact")
    assert found.hours(10) < found.hours(1)
    assert found.hours(10**6) == found.hours(10**7) > 0
    twice, once = (found.money(Prices(core_hour=price)) for price in (2.0, 1.0))
    assert twice - once == pytest.approx(sum(hours(found).values()))


GPU = GpuRates("T4", sentences=1e4, comparisons=1e10, memory=16e9, price=0.35, basis="assumed")


def gpu_plan(lines: int, **changes: object) -> CostPlan:
    asked = PlanSettings(encoder="e", **changes)  # type: ignore[arg-type]
    return predict((lines, lines), FOUND._replace(gpu=GPU), asked, 1e15)


def test_a_gpu_embeds_and_compares() -> None:
    found, alone = gpu_plan(10**6, search="exact"), plan(10**6, search="exact")
    by_stage = {stage.stage: 3600 * stage.gpu_hours for stage in found.stages}
    assert by_stage == pytest.approx({"prepare": 0, "embed": 1.8e6 / 1e4, "graph": 0.9e6**2 / 1e10, "mine": 0})
    assert hours(found)["graph"] == pytest.approx((0.9e6**2 / 1e10 + 1.8e6 * 1e-5) / 3600), "a core waits for it"
    assert hours(found)["graph"] < hours(alone)["graph"] and hours(found)["mine"] == hours(alone)["mine"]
    assert all(stage.gpu_hours == 0 for stage in alone.stages)
    assert found.hours(64, 2) < found.hours(64, 1)
    free = found._replace(gpu=GPU._replace(price=0.0)).money(Prices())
    assert found.money(Prices()) - free == pytest.approx(0.35 * sum(by_stage.values()) / 3600)


def test_a_partitioned_graph_is_one_of_cores() -> None:
    found = gpu_plan(10**7)
    assert found.search == "partitioned" and found.stages[2].gpu_hours == 0
    assert found.stages[2] == plan(10**7).stages[2]


def test_an_approximate_graph_is_one_of_indexes() -> None:
    """90 million vectors of a side: 4GiB hold no index of them, and a T4 one of 64 bytes a vector, but not of all."""
    found, exact = gpu_plan(10**8, search="approximate"), gpu_plan(10**8, search="exact")
    assert 0 < found.stages[2].gpu_hours < exact.stages[2].gpu_hours / 3
    assert found.first_limit.name == "memory of an approximate search" and found.first_limit.share > 1
    limits = [gpu_plan(10**8, search="approximate", memory=memory).limits for memory in ("64GiB", "512GiB")]
    shares = [limit.share for given in limits for limit in given if limit.name == "memory of the GPU"]
    assert shares == pytest.approx([9e7 * 72 / 16e9, 9e7 * 1032 / 16e9])


def test_without_a_gpu_an_approximate_graph_takes_the_pace_of_lists() -> None:
    """A quarter of a million vectors of a side: 2,000 lists trained on 128,000, and half of them searched."""
    lines, rows = 277_778, 250_000
    taken = [
        3600 * hours(predict((lines, lines), found, PlanSettings(encoder="e", search="approximate"), 1e15))["graph"]
        for found in (
            FOUND._replace(index_rates=IndexRates(products=1e8, listed=2e7)),
            FOUND._replace(index_rates=IndexRates(products=1e8, listed=1e7)),
            FOUND._replace(index_rates=IndexRates(1e8, 1e7), kernels=KERNELS._replace(truth=1.0)),
        )
    ]
    products = 2 * 2000 * (10 * 128_000 + 2 * rows) / 1e8
    assert taken[0] == pytest.approx(products + rows**2 / 2e7 + 2 * rows * 1e-5, rel=0.001)
    assert taken[1] - taken[0] == pytest.approx(rows**2 / 2e7, rel=0.001)
    assert taken[2] == taken[1], "true neighbours of a sample are found by bytes, those of an index by floats"


@pytest.mark.parametrize(
    ("core", "sentences"),
    [(CoreRates(1e11, 1e9, 100.0), 100 * 0.6 * 81), (CoreRates(1e9, 1e10, 100.0), 100 * 0.6 * 32)],
)
def test_an_assumed_gpu_is_as_fast_as_its_slower_part(core: CoreRates, sentences: float) -> None:
    found = assumed_rates("T4", 256, core)
    assert found.sentences == pytest.approx(sentences)
    assert found.comparisons == pytest.approx(0.6 / (512 / 8.1e12 + 40 / 320e9))
    assert found.basis == "assumed" and found.price == 0.35


@pytest.mark.parametrize(
    ("given", "basis", "price"),
    [
        ({}, "assumed", 0.35),
        ({"price_per_hour": 0.1}, "assumed", 0.1),
        ({"sentences_per_second": 7}, "assumed, sentences stated", 0.35),
        ({"sentences_per_second": 7, "comparisons_per_second": 9}, "stated", 0.35),
    ],
)
def test_stated_rates_come_first(given: dict, basis: str, price: float) -> None:
    found = with_stated(GPU, GpuSettings(**given))
    assert (found.basis, found.price) == (basis, price)
    assert found.sentences == given.get("sentences_per_second", GPU.sentences)
    assert found.comparisons == given.get("comparisons_per_second", GPU.comparisons)


def test_a_gpu_of_unknown_price_is_refused() -> None:
    unknown = GPU._replace(name="X9", price=float("nan"))
    with pytest.raises(InputError, match=r"what an hour of X9 costs is not known; give it by --set gpu.price_per_hour"):
        with_stated(unknown, GpuSettings())
    assert with_stated(unknown, GpuSettings(price_per_hour=2)).price == 2


def test_no_gpu_is_assumed_that_nobody_named(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(rates, "visible_gpu", lambda: None)
    units = [np.eye(16, dtype=np.float32)] * 2
    for name in ("auto", "none"):
        asked = PlanSettings(encoder="e", gpu=GpuSettings(name=name))
        assert rates.gpu_rates(asked, [], units, 1000.0) is None
    found = rates.gpu_rates(PlanSettings(encoder="e", gpu=GpuSettings(name="L4")), [], units, 1000.0)
    assert found is not None and found.basis == "assumed" and found.sentences > 1000


def test_the_gpu_of_this_machine_is_measured(monkeypatch: pytest.MonkeyPatch) -> None:
    """Where torch sees the one that was named, or none was named."""
    asked: list[str] = []
    monkeypatch.setattr(rates, "visible_gpu", lambda: asked.append("torch") or "Tesla T4")
    monkeypatch.setattr(rates, "_measured", lambda *given: GPU._replace(basis="measured here"))
    units = [np.eye(16, dtype=np.float32)] * 2
    for name, basis in (("auto", "measured here"), ("T4", "measured here"), ("L4", "assumed")):
        found = rates.gpu_rates(PlanSettings(encoder="e", gpu=GpuSettings(name=name)), [], units, 1000.0)
        assert found is not None and found.basis == basis
    assert len(asked) == 3, "torch is asked once a plan"


def test_the_table_and_the_json_have_gpu_hours(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(bill, "calibrate_machine", lambda *given: FOUND._replace(gpu=GPU))
    arguments = ["plan", "3000000", "2000000", "--encoder", "e", "--search", "exact", "--gpus", "4"]
    result = CliRunner().invoke(app, [*arguments, "--gpu", "T4", "--json", str(tmp_path / "plan.json")])
    assert result.exit_code == 0, result.output
    assert "GPU-hours" in result.output
    assert "GPU: 4 x T4 at 0.35 an hour, rates assumed: 1e+04 sentences and 1e+10 comparisons" in result.output
    record = json.loads((tmp_path / "plan.json").read_text())
    asked = PlanSettings(encoder="e", search="exact", gpu=GpuSettings(name="T4", count=4))
    expected = predict((3_000_000, 2_000_000), FOUND._replace(gpu=GPU), asked, 1e15)
    assert [stage["gpu_hours"] for stage in record["stages"]] == [stage.gpu_hours for stage in expected.stages]
    assert record["money"] == pytest.approx(expected.money(asked.prices))
    assert record["hours"] == pytest.approx(expected.hours(2, 4))
    assert record["gpu"]["basis"] == "assumed" and record["settings"]["gpu"]["count"] == 4


def test_sides_by_count_text_or_dataset(tmp_path: Path) -> None:
    assert planned_side("1_000_000", 300, 0)[:3:2] == (1_000_000, None)
    (tmp_path / "en.txt").write_text("This is a plain sentence of English text.\n" * 30)
    lines, sample, lang, windows = planned_side(str(tmp_path / "en.txt"), 10, 0)
    assert (lines, len(sample), lang, [len(window) for window in windows]) == (30, 10, "en", [30])
    (tmp_path / "sat.txt").write_text("ᱟᱢ ᱫᱚ ᱪᱮᱫ ᱮᱢ ᱪᱮᱠᱟᱭᱮᱫᱟ\n" * 30, encoding="utf-8")
    assert planned_side(str(tmp_path / "sat.txt"), 10, 0).lang is None, "no Santali is known: none is detected"


@pytest.mark.parametrize(
    ("name", "content", "told"),
    [
        ("empty.txt", b"\n", "there is no text in it"),
        ("a.npy", bytes(range(256)) * 400, "lines are not valid UTF-8"),
        ("a.txt", "Grüße\n".encode("latin-1") * 3000, "999 of 999 lines are not valid UTF-8"),
        ("b.txt", "text\n".encode("utf-16"), "is UTF-16, not UTF-8"),
        ("a.parquet", b"PAR1", "a plan reads plain lines; prepare it"),
        ("a.jsonl", b'{"text": "a"}\n', "a plan reads plain lines; prepare it"),
    ],
)
def test_what_is_no_plain_text_is_not_planned(name: str, content: bytes, told: str, tmp_path: Path) -> None:
    (tmp_path / name).write_bytes(content)
    with pytest.raises(InputError, match=told):
        planned_side(str(tmp_path / name), 10, 0)


def test_nothing_is_not_planned() -> None:
    with pytest.raises(InputError, match="nothing to plan for 0"):
        planned_side("0", 10, 0)


@pytest.mark.parametrize(("lines", "count"), [(7, 10), (10, 10), (1000, 10), (100_000, 300)])
def test_the_sample_is_spread_over_the_whole_text(lines: int, count: int, tmp_path: Path) -> None:
    for part in range(2):
        (tmp_path / f"{part}.txt").write_text("".join(f"{part * lines + n}\n\n" for n in range(lines)))
    seen, sample, _ = sample_runs.sampled_lines([str(tmp_path / f"{part}.txt") for part in range(2)], count)
    numbers = [int(text) for text in sample]
    assert seen == 4 * lines
    assert len(numbers) == min(count, 2 * lines) and numbers == sorted(set(numbers))
    assert numbers[0] < 2 * lines / len(numbers) and numbers[-1] >= 2 * lines * (1 - 2 / len(numbers))


@pytest.mark.parametrize(("budget", "refused"), [("1000", False), ("0.001", True)])
def test_a_budget_refuses(budget: str, refused: bool, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(bill, "calibrate_machine", lambda *given: FOUND)
    result = CliRunner().invoke(app, ["plan", "3000000", "2000000", "--encoder", "e", "--budget", budget])
    assert "3,000,000 and 2,000,000 lines, partitioned search" in result.output
    assert "limit that" in result.output
    if refused:
        assert isinstance(result.exception, InputError) and "more than the budget of 0.001" in str(result.exception)
    else:
        assert result.exit_code == 0


@pytest.mark.parametrize(
    ("lines", "search", "told"),
    [
        (10**7, "auto", ""),
        (10**7, "partitioned", ""),
        (10**5, "auto", "note: --copies: not used, because the search was exact, which --search auto chose"),
        (10**7, "exact", "--copies: for a partitioned search only"),
        (10**7, "approximate", "--copies: for a partitioned search only"),
    ],
)
def test_copies_of_another_search_are_not_ignored_silently(
    lines: int, search: str, told: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(bill, "calibrate_machine", lambda *given: FOUND)
    arguments = ["plan", str(lines), str(lines), "--encoder", "e", "--search", search, "--copies", "8"]
    result = CliRunner().invoke(app, arguments)
    assert (result.exception is None) == ("only" not in told)
    shown = f"{result.stderr} {result.exception}"
    assert told in shown and ("--copies" in shown) == bool(told)


def test_more_copies_take_more() -> None:
    few, usual, given = (hours(plan(10**7, copies=copies))["graph"] for copies in (4, None, 20))
    assert few < usual == given


@pytest.mark.slow
def test_small_mines_are_measured(tmp_path: Path, capfd: pytest.CaptureFixture[str]) -> None:
    write_encoder(tmp_path / "encoder")
    text = tmp_path / "en.txt"
    text.write_text("".join(f"House number {n} stands near the old river and the green hill.\n" for n in range(500)))
    asked = PlanSettings(encoder=str(tmp_path / "encoder"), sample=600)
    made = bill.make_bill("600", "600", asked)
    assert made.calibrated.dim == 16 and min(made.calibrated.embed_rows) > 0
    assert "WARNING" not in capfd.readouterr().err, "of the new processes, too"
    assert all(measured.seconds > 0 and measured.files.opens > 0 for measured in made.calibrated.large.stages.values())
    assert made.plan.stages[3].written > 0
    side = planned_side(str(text), 50, 0)
    assert (side.lang, side.lines) == ("en", pytest.approx(500, rel=0.1))


def test_a_classifier_that_is_missing_is_refused_at_once(tmp_path: Path) -> None:
    write_encoder(tmp_path / "encoder")
    asked = PlanSettings(encoder=str(tmp_path / "encoder"), sample=600, rescore="on")
    with pytest.raises(InputError, match=r"--rescore on: .* has no pair classifier"):
        bill.make_bill("600", "600", asked)


@pytest.mark.slow
@pytest.mark.parametrize(("rescore", "scored_again"), [("auto", True), ("off", False)])
def test_small_mines_score_again_as_a_mine_would(rescore: str, scored_again: bool, tmp_path: Path) -> None:
    files = [tmp_path / "en.txt", tmp_path / "de.txt"]
    for file in files:
        file.write_text("".join(f"House number {n} stands near the old river.\n" for n in range(300)))
    asked = PlanSettings.model_validate({"rescore": rescore})
    sample_runs.run_stages(tmp_path / "mine", asked, [sample_runs.PlainText(file, None) for file in files])
    request = open_dataset(str(tmp_path / "mine" / "pairs"), "pairs").manifest.request
    assert (request.configuration["rescore"] is not None) == scored_again


@pytest.mark.parametrize(("lines", "ranges"), [(30_000, 1), (10_000_000, 275)])
def test_ranges_of_candidates_that_small_mines_have_one_of(lines: int, ranges: int) -> None:
    asked = PlanSettings(encoder="e", k=4)
    plain, rescored = (
        predict((lines, lines), FOUND._replace(rescored=given), asked, 1e15).stages[3] for given in (False, True)
    )
    assert rescored.objects - plain.objects == 3 * (ranges - 1)
    times = (rescored.shuffled - plain.shuffled) / (0.9 * lines) / (60 + 16)
    assert times == pytest.approx(0 if ranges == 1 else 1.6 * 4 - 1, abs=0.1), "nearly every candidate in another range"


def test_all_candidates_are_matched_where_they_are_scored_again() -> None:
    asked = PlanSettings(encoder="e", k=4)
    plain, rescored = (
        predict((10**8, 10**8), FOUND._replace(rescored=given), asked, 1e15).limits[-1].needed
        for given in (False, True)
    )
    assert rescored == pytest.approx(plain * 1.6 * 4 / 2), "of each target, in place of one of each row"


def test_words_that_pair_scoring_remembers_are_bounded() -> None:
    growth = WordGrowth(lines=16_000, words=30_000, power=0.8, remembered=300_000)
    asked = PlanSettings(encoder="e", k=4)
    plain, rescored = (
        [
            predict((lines, lines), FOUND._replace(rescored=given, growth=(growth, growth)), asked, 1e15).stages[3]
            for lines in (60_000, 300_000, 10**7, 10**9)
        ]
        for given in (False, True)
    )
    more = [with_words.memory - without.memory for with_words, without in zip(rescored, plain, strict=True)]
    assert more[0] == 0, "no more than in the sample"
    assert 0 < more[1] <= more[2] == more[3] < 800_000 * 128 * 4 * 2


@pytest.mark.parametrize(("value", "told"), [(0, "0.00"), (1234.5, "1,234.50"), (0.1, "0.10"), (0.00044, "0.00044")])
def test_little_money_is_not_nothing(value: float, told: str) -> None:
    assert bill.price(value) == told


def test_sizes() -> None:
    assert [size(value) for value in (0, 999, 1e6, 2.5e12, 1e17)] == ["0 B", "999 B", "1 MB", "2.5 TB", "100 PB"]
