"""The whole mine: the same pairs whatever the cutting, as the in-memory path finds them; resume; bad input."""

import os
import shutil
from pathlib import Path

import numpy as np
import pyarrow as pa
import pytest
from typer.testing import CliRunner

from encoder import Encoder
from encoder.models import TransformerSettings
from mining import from_array, knn_graph, retrieve
from mining.errors import InputError
from mining.filters import FilterSettings, LengthFilter, RepeatedTargetFilter, apply_filters
from mining.locks import held
from mining.retrieval import DIRECTION_NAMES
from pipelines.cli import app
from pipelines.datasets import manifest
from pipelines.datasets.manifest import Dataset
from pipelines.datasets.sentences import read_shard
from pipelines.embed import vector_stage
from pipelines.embed.embed_settings import EmbedSettings
from pipelines.embed.vector_stage import embed
from pipelines.graph import graph_stage
from pipelines.graph.graph_settings import GraphSettings
from pipelines.graph.graph_stage import build_graph
from pipelines.mine import pair_search, pair_stage, text_job
from pipelines.mine.mine_settings import JobSettings, MineSettings, ThresholdSettings
from pipelines.mine.pair_stage import mine, pair_batches
from pipelines.mine.score_curve import ScoreCurve
from pipelines.mine.text_job import JobResult, mine_corpora
from pipelines.mine.work_folder import find_mines
from pipelines.prepare import sentence_stage
from pipelines.prepare.sentence_stage import prepare
from pipelines.review.review_session import Session
from pipelines.runners.runner import run
from tests.encoder.fixtures import write_checkpoint
from tests.pipelines.corpora import job, write_encoder

Row = tuple[float, float, str, str, str]


@pytest.fixture(scope="module")
def corpora(corpora: Path) -> Path:
    write_checkpoint(corpora / "transformer", TransformerSettings(preset="tiny", positions=40))
    return corpora


def texts(dataset: Dataset) -> list[str]:
    return [text for shard in dataset.shards for text in read_shard(dataset.shard_url(shard))["text"].to_pylist()]


def rows(dataset: Dataset) -> list[Row]:
    return table_rows(pa.concat_tables(list(pair_batches(dataset))))


def table_rows(table: pa.Table) -> list[Row]:
    names = ("score", "cosine", "src_text", "tgt_text", "directions")
    return list(zip(*(table[name].to_pylist() for name in names), strict=True))


def direct(result: JobResult, asked: JobSettings) -> list[Row]:
    """What the functions for arrays find in the same sentences, all in memory and in one piece."""
    encoder = Encoder.load(asked.encoder)
    lines = [texts(dataset) for dataset in (result.source, result.target)]
    x, y = (from_array(encoder.encode(side, "en")) for side in lines)
    found = retrieve(knn_graph(x, y, asked.k), asked.retrieval, asked.margin)
    chosen = [
        [side[row] for row in rows.tolist()] for side, rows in zip(lines, (found.source, found.target), strict=True)
    ]
    return list(
        zip(
            found.scores.tolist(),
            found.cosines.tolist(),
            *chosen,
            DIRECTION_NAMES[found.directions].tolist(),
            strict=True,
        )
    )


@pytest.fixture(scope="module", params=[(1, "bag"), (3, "bag"), (8, "bag"), (3, "transformer"), (8, "transformer")])
def cut(request: pytest.FixtureRequest, corpora: Path) -> tuple[JobSettings, JobResult]:
    """The whole job with so many shards a side."""
    count, kind = request.param
    encoder = str(corpora / ("encoder" if kind == "bag" else kind))
    asked = job(corpora, f"work{count}-{kind}", k=3, rows_per_shard=-(-160 // count), encoder=encoder)
    result = mine_corpora(asked)
    assert len(result.source.shards) == len(result.target.shards) == count
    return asked, result


@pytest.fixture(scope="module")
def whole(corpora: Path) -> JobResult:
    return mine_corpora(job(corpora, "work3", k=3, rows_per_shard=54))


def settings(result: JobResult, out: Path, **changes: object) -> MineSettings:
    """What `mine` needs after a job."""
    base = {"graph": result.graph.url, "source": result.source.url, "target": result.target.url, "out": str(out)}
    return MineSettings(**base | {"filters": FilterSettings.none()} | changes)


def test_same_pairs_as_arrays_give_for_any_number_of_shards(cut: tuple[JobSettings, JobResult]) -> None:
    asked, result = cut
    expected = direct(result, asked)
    assert rows(result.pairs) == expected
    assert len(expected) > 50
    assert len({row[2] for row in expected}) == len({row[3] for row in expected}) == len(expected)


@pytest.mark.parametrize("retrieval", ["max", "intersect", "forward", "backward"])
def test_every_retrieval_in_bands_and_many_output_shards(
    corpora: Path, whole: JobResult, tmp_path: Path, retrieval: str
) -> None:
    changes = {"retrieval": retrieval, "rows_per_shard": 20}
    found = mine(settings(whole, tmp_path / "pairs", edges_at_once=7, **changes))
    assert rows(found) == direct(whole, job(corpora, k=3, retrieval=retrieval))
    assert [shard.rows for shard in found.shards[:-1]] == [20] * (len(found.shards) - 1)


def test_texts_of_a_few_output_shards_at_a_time_change_nothing(whole: JobResult, tmp_path: Path) -> None:
    asked = settings(whole, tmp_path / "pairs", rows_per_shard=20, text_memory=25_000)
    groups: list[int] = []
    filtered = pair_stage.filter_group
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(pair_stage, "filter_group", lambda item, plan: groups.append(item[0]) or filtered(item, plan))
        found = mine(asked)
    assert rows(found) == rows(whole.pairs)
    assert 1 < len(groups) < len(found.shards)


def test_targets_that_repeat_are_counted_over_all_shards(whole: JobResult, tmp_path: Path) -> None:
    """As `apply_filters` counts them over the whole table."""
    filters = FilterSettings.none().model_copy(update={"repeated_target": RepeatedTargetFilter(max_pairs=2)})
    everything = mine(settings(whole, tmp_path / "all", retrieval="forward"))
    found = mine(settings(whole, tmp_path / "few", retrieval="forward", filters=filters, rows_per_shard=13))
    kept = apply_filters(pa.concat_tables(list(pair_batches(everything))), filters).kept
    expected = [row for row, keep in zip(rows(everything), kept, strict=True) if keep]
    assert rows(found) == expected
    assert 0 < found.manifest.counters.dropped["repeated_target"] == everything.rows - len(expected)


def test_approximate_search_says_how_much_it_found(whole: JobResult, tmp_path: Path) -> None:
    vectors = [f"{side.url}-vectors" for side in (whole.source, whole.target)]
    asked = GraphSettings(source=vectors[0], target=vectors[1], out=str(tmp_path / "graph"), k=3, search="approximate")
    found = build_graph(asked)
    assert whole.graph.manifest.measures == {}
    for side in ("forward", "backward"):
        measures = [found.manifest.measures[f"{side}_{name}"] for name in ("recall", "recall_at_1")]
        assert 0.9 < measures[0] <= measures[1] <= 1
    assert found.manifest.measures["forward_mean_error"] < 0.1


def test_thresholds_filters_and_provenance(corpora: Path, whole: JobResult, tmp_path: Path) -> None:
    everything = rows(whole.pairs)
    top = mine(settings(whole, tmp_path / "top", threshold=ThresholdSettings(top=7)))
    assert rows(top) == everything[:7]
    fixed = mine(settings(whole, tmp_path / "fixed", threshold=ThresholdSettings(at_least=everything[20][0])))
    assert rows(fixed) == [row for row in everything if row[0] >= everything[20][0]]
    counters = fixed.manifest.counters
    assert counters.rows_in == len(everything) == counters.kept + sum(counters.dropped.values())

    short = FilterSettings.none().model_copy(update={"length": LengthFilter(min_chars=25)})
    filtered = mine(settings(whole, tmp_path / "filtered", filters=short, rows_per_shard=30))
    kept = [row for row in everything if min(len(row[2]), len(row[3])) >= 25]
    assert rows(filtered) == kept
    rejected = pa.concat_tables(list(pair_batches(filtered, rejected=True)))
    assert len(rejected) == len(everything) - len(kept) == filtered.manifest.counters.dropped["length"]
    table = pa.concat_tables(list(pair_batches(filtered)))
    for side in ("src", "tgt"):
        lines = (corpora / f"{side}.txt").read_text().split("\n")
        columns = [table[f"{side}_{name}"].to_pylist() for name in ("text", "line", "source")]
        for text, line, source in zip(*columns, strict=True):
            assert (lines[line - 1], source) == (text, str(corpora / f"{side}.txt"))


def test_gold_pairs_by_sentence_tune_the_threshold(whole: JobResult, tmp_path: Path) -> None:
    best = rows(whole.pairs)[:9]
    gold = tmp_path / "gold.tsv"
    gold.write_text("".join(f"{row[2]}\t{row[3]}\n" for row in best) + "not there\tnor this\n")
    tuned = mine(settings(whole, tmp_path / "pairs", threshold=ThresholdSettings(gold=str(gold))))
    assert rows(tuned) == best
    assert tuned.manifest.measures["recall"] == pytest.approx(0.9)
    curve = ScoreCurve.read(tuned.url)
    assert curve is not None and curve.basis == "gold"
    assert curve.recall[curve.kept.index(9)] == pytest.approx(0.9)
    assert sum(curve.counts) == curve.kept[-1] == whole.pairs.rows, "pairs below the threshold count, too"


def test_seed_pairs_calibrate_and_stay_out_of_the_pairs(corpora: Path, tmp_path: Path) -> None:
    seed = tmp_path / "seed.tsv"
    seed.write_text("".join(f"the cat {i} sees {i * 7} house\tthe cat {i} sees {i * 7} house\n" for i in range(100)))
    threshold = ThresholdSettings(precision=0.001)
    result = mine_corpora(job(corpora, "seeded", k=3, threshold=threshold, seed=str(seed)))
    assert result.pairs.manifest.counters.dropped["probe_pairs"] > 20
    assert 0 < result.pairs.rows <= 160
    assert not any(row[2].startswith("the cat") and row[2] == row[3] for row in rows(result.pairs))
    measures = result.pairs.manifest.measures
    assert {"threshold", "precision_low", "precision_high", "domain_distance"} <= measures.keys()
    curve = ScoreCurve.read(result.pairs.url)
    assert curve is not None and curve.basis == "calibration"
    assert bool(curve.warning) == ("precision" not in measures) == ("true_pairs" not in measures)
    counters = result.pairs.manifest.counters
    assert sum(curve.counts) == counters.rows_in - counters.dropped["probe_pairs"]
    assert all(np.array(curve.precision_low) <= np.array(curve.precision_high))


def test_a_codebook_of_the_same_encoder_is_used_again(corpora: Path) -> None:
    first = mine_corpora(job(corpora, "codebook", k=3, search="partitioned"))
    given = {"k": 3, "search": "partitioned", "codebook": first.graph.url}
    again = mine_corpora(job(corpora, "codebook-again", **given))
    assert "codebook" in again.graph.manifest.request.configuration
    assert rows(again.pairs) == rows(first.pairs)
    with pytest.raises(InputError, match=r"the codebook in .*codebook/graph is of encoder \w+ and dim 16, but the vec"):
        mine_corpora(job(corpora, "codebook-other", encoder=str(corpora / "transformer"), **given))
    assert not (corpora / "codebook-other" / "src").exists(), "before any text is read"


def test_copies_of_one_seed_pair_are_no_evidence(corpora: Path, tmp_path: Path) -> None:
    seed = tmp_path / "seed.tsv"
    seed.write_text("the cat sees a house\tthe cat sees a house\n" * 100)
    settings = job(corpora, "copies", k=3, threshold=ThresholdSettings(precision=0.05), seed=str(seed))
    with pytest.raises(InputError, match="1 distinct seed pairs are too few"):
        mine_corpora(settings)


def files(folder: Path) -> dict[Path, int]:
    return {path: path.stat().st_mtime_ns for path in folder.rglob("*") if path.is_file() and path.name != ".lock"}


@pytest.fixture
def copied(corpora: Path, whole: JobResult, tmp_path: Path) -> Path:
    """The corpora and their mine in another place: a project that was moved."""
    for name in ("src.txt", "tgt.txt"):
        shutil.copyfile(corpora / name, tmp_path / name)
    for name in ("encoder", "work3"):
        shutil.copytree(corpora / name, tmp_path / name)
    return tmp_path


def test_what_is_complete_is_not_made_again(copied: Path, whole: JobResult) -> None:
    work = copied / "work3"
    before = files(work)
    shutil.rmtree(work / "pairs")
    again = mine_corpora(job(copied, "work3", k=3, rows_per_shard=54))
    after = files(work)
    assert {path.parent.name for path in after if after[path] != before.get(path)} == {"pairs"}
    assert again.pairs.fingerprint == whole.pairs.fingerprint
    again = mine_corpora(job(copied, "work3", k=3, rows_per_shard=54))
    assert files(work) == after


def test_a_moved_project_is_complete_and_choosing_again_reuses_its_graph(copied: Path, whole: JobResult) -> None:
    asked = job(copied, "work3", k=3, rows_per_shard=54)
    before = files(copied / "work3")
    assert mine_corpora(asked).pairs.fingerprint == whole.pairs.fingerprint
    assert files(copied / "work3") == before
    best = rows(whole.pairs)
    gold = copied / "gold.tsv"
    gold.write_text("".join(f"{row[2]}\t{row[3]}\n" for row in best[:9]))
    choices = [ThresholdSettings(top=7), ThresholdSettings(at_least=best[20][0]), ThresholdSettings(gold=str(gold))]
    chosen = [mine_corpora(asked.model_copy(update={"threshold": choice})) for choice in choices]
    assert [result.pairs.rows for result in chosen] == [7, 21, 9]
    assert {result.graph.url for result in chosen} == {f"{copied}/work3/graph"}
    assert len({result.pairs.url for result in chosen} | {f"{copied}/work3/pairs"}) == 4
    added = files(copied / "work3").keys() - before.keys()
    assert {path.parent.name.partition("-")[0] for path in added} == {"pairs"}
    again = mine_corpora(asked.model_copy(update={"threshold": choices[0]}))
    assert (again.pairs.url, again.pairs.fingerprint) == (chosen[0].pairs.url, chosen[0].pairs.fingerprint)
    gold.rename(copied / "true.tsv")
    renamed = asked.model_copy(update={"threshold": ThresholdSettings(gold=str(copied / "true.tsv"))})
    assert mine_corpora(renamed).pairs.url == chosen[2].pairs.url


def test_another_text_of_the_same_size_and_date_is_noticed(copied: Path) -> None:
    path = copied / "src.txt"
    before, text = path.stat(), path.read_text()
    path.write_text(text.replace("a", "e"))
    os.utime(path, ns=(before.st_atime_ns, before.st_mtime_ns))
    with pytest.raises(InputError, match=r"src holds .*src\.txt is new"):
        mine_corpora(job(copied, "work3", k=3, rows_per_shard=54))


@pytest.mark.parametrize("damage", ["overwritten", "of the other side"])
def test_damaged_vectors_are_refused(copied: Path, damage: str) -> None:
    sides = [sorted((copied / "work3" / f"{side}-vectors").glob("*.arrow")) for side in ("src", "tgt")]
    if damage == "overwritten":
        with sides[0][0].open("r+b") as stream:
            stream.seek(2000)
            stream.write(bytes(500))
    else:
        shutil.copyfile(sides[1][0], sides[0][0])
    for stage in ("graph", "pairs"):
        shutil.rmtree(copied / "work3" / stage)
    with pytest.raises(InputError, match=rf"{sides[0][0].name} is damaged, or was edited or replaced"):
        mine_corpora(job(copied, "work3", k=3, rows_per_shard=54))


@pytest.mark.parametrize("damage", ["missing", "cut", "edited"])
def test_damaged_pairs_are_one_sentence_everywhere(copied: Path, damage: str) -> None:
    shard = next((copied / "work3" / "pairs").glob("00000-*.parquet"))
    data = shard.read_bytes()
    shard.unlink()
    if damage != "missing":
        shard.write_bytes(data[: len(data) // 2] if damage == "cut" else data[:100] + bytes(9) + data[109:])
    again = ["--work", f"{copied}/work3", "--k", "3", "--rows-per-shard", "54"]
    told = "is missing" if damage == "missing" else "is damaged, or was edited"
    for command in (
        arguments(copied, copied, *again),
        ["report", f"{copied}/work3"],
        ["inspect", f"{copied}/work3/pairs"],
        ["review", f"{copied}/work3"],
    ):
        error = CliRunner().invoke(app, command).exception
        assert isinstance(error, InputError) and told in str(error), command


def test_memory_reaches_the_stages_and_changes_no_result(
    copied: Path, whole: JobResult, monkeypatch: pytest.MonkeyPatch
) -> None:
    seen: list[int] = []
    monkeypatch.setattr(text_job, "prepare", lambda s, *a, **k: seen.append(s.memory_mb) or prepare(s, *a, **k))
    built = pair_search.build_graph
    monkeypatch.setattr(pair_search, "build_graph", lambda s, *a, **k: seen.append(int(s.memory)) or built(s, *a, **k))
    monkeypatch.setattr(pair_search, "mine", lambda s, *a, **k: seen.append(s.edges_at_once) or mine(s, *a, **k))
    again = mine_corpora(job(copied, "work3", k=3, rows_per_shard=54, memory="64MiB"))
    assert seen == [8, 8, 64 << 20, (64 << 20) // 200]
    assert again.pairs.fingerprint == whole.pairs.fingerprint


def test_a_work_folder_in_use_is_refused(copied: Path) -> None:
    with held(str(copied / "work3" / ".lock"), "x"), pytest.raises(InputError, match="work3 is in use by process"):
        mine_corpora(job(copied, "work3", k=3, rows_per_shard=54))


def test_beam_makes_what_plain_calls_make(
    corpora: Path, whole: JobResult, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """One local process runs without Beam; here every stage runs its transform."""
    for stage in (sentence_stage, vector_stage, graph_stage, pair_stage):
        monkeypatch.setattr(stage, "run", lambda *given, here, **more: run(*given, **more))
    asked = job(corpora, "x", k=3, rows_per_shard=54).model_copy(update={"work": str(tmp_path / "work")})
    found = mine_corpora(asked)
    assert [data.fingerprint for data in found] == [data.fingerprint for data in whole]
    assert [data.manifest.counters for data in found] == [data.manifest.counters for data in whole]


def test_the_encoder_is_loaded_once(corpora: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    loads: list[object] = []
    load = Encoder.load
    monkeypatch.setattr(Encoder, "load", lambda *given, **more: (loads.append(given), load(*given, **more))[1])
    mine_corpora(job(corpora, "once").model_copy(update={"work": str(tmp_path / "work")}))
    assert len(loads) == 1


def test_manifests_are_read_as_often_for_many_shards_as_for_one(
    corpora: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    read = manifest.read_model
    reads: list[str] = []

    def counted(url: str, model: type) -> object:
        if model is manifest.Manifest:
            reads.append(url)
        return read(url, model)

    monkeypatch.setattr(manifest, "read_model", counted)
    counts = []
    for size in (200, 20):
        reads.clear()
        asked = job(corpora, "x", k=3, rows_per_shard=size).model_copy(update={"work": str(tmp_path / str(size))})
        mine_corpora(asked)
        counts.append(len(reads))
    assert counts[0] == counts[1]


def arguments(folder: Path, tmp_path: Path, *more: str) -> list[str]:
    files = ["--src", f"{folder}/src.txt", "--tgt", f"{folder}/tg*.txt", "--encoder", f"{folder}/encoder"]
    places = ["--out", f"{tmp_path}/pairs.tsv", "--work", f"{tmp_path}/work", "--src-lang", "en", "--tgt-lang", "en"]
    return ["mine", *files, *places, "--lang-filter", "assume", "--filters", "none", *more]


def test_command_writes_pairs_in_one_file_or_by_shard(corpora: Path, tmp_path: Path) -> None:
    result = CliRunner().invoke(app, arguments(corpora, tmp_path), catch_exceptions=False)
    assert result.exit_code == 0
    assert "pairs in" in result.output
    lines = (tmp_path / "pairs.tsv").read_text().split("\n")[:-1]
    more = ["--out", f"{tmp_path}/part-*.jsonl.gz", "--rejected", f"{tmp_path}/no.tsv"]
    assert CliRunner().invoke(app, arguments(corpora, tmp_path, *more), catch_exceptions=False).exit_code == 0
    assert [path.name for path in tmp_path.glob("part-*")] == ["part-00000.jsonl.gz"]
    assert len(lines) > 50
    assert (tmp_path / "no.tsv").read_text() == ""

    session = Session(f"{tmp_path}/work", 60, 0.9)
    for pair in session.sample.sampled:
        session.mark(pair.key, "right" if pair.score > 1.05 else "wrong")
    reviewed = ["--out", f"{tmp_path}/good.tsv", "--threshold-from", f"{tmp_path}/work/review.json"]
    assert CliRunner().invoke(app, arguments(corpora, tmp_path, *reviewed), catch_exceptions=False).exit_code == 0
    good = (tmp_path / "good.tsv").read_text().split("\n")[:-1]
    assert good == lines[: session.result.kept] and 0 < len(good) < len(lines)
    assert sorted(mine.name for mine in find_mines(f"{tmp_path}/work")) == ["pairs-reviewed", "work"]


def test_seed_pairs_alone_choose_the_default_precision(corpora: Path, tmp_path: Path) -> None:
    seed = tmp_path / "seed.tsv"
    seed.write_text("".join(f"the cat {i} sees {i * 7} house\tthe cat {i} sees {i * 7} house\n" for i in range(100)))
    result = CliRunner().invoke(app, arguments(corpora, tmp_path, "--seed-pairs", str(seed)), catch_exceptions=False)
    assert result.exit_code == 0, result.output
    (mine,) = find_mines(f"{tmp_path}/work")
    threshold = mine.pairs.manifest.request.configuration["threshold"]
    assert (threshold["precision"], threshold["in_doubt"]) == (0.9, "classifier")
    assert mine.pairs.manifest.counters.dropped["probe_pairs"] > 20


BAD = [
    (["--encoder", "nowhere"], "nowhere"),
    (["--src", "nothing/*.txt"], "nothing/*.txt: no file matches"),
    (["--runner", "storm"], "there is no runner storm"),
    (["--runner", "dataflow"], "`project` is missing: the Google Cloud project that pays; `region` is missing"),
    (["--out", "pairs.docx"], "pair format"),
    (["--target-precision", "0.9"], "go together"),
    (["--threshold", "1", "--top", "3"], "only one"),
    (["--seed-pairs", "seed.tsv", "--target-precision", "0.9"], "seed.tsv: no such file"),
    (["--search", "faiss"], "mine: --search: Input should be 'exact', 'partitioned', 'approximate' or 'auto'"),
    (["--threshold", "nan"], "mine: --threshold: Input should be a finite number"),
    (["--k", "many"], "mine: --k: Input should be a valid integer"),
    (["--lang-filter", "foo"], "--lang-filter: Input should be 'detect' or 'assume'"),
    (["--dtype", "int8"], "--dtype: Input should be 'float32' or 'float16'"),
    (["--device", "gpu"], "mine: --device: gpu is no device; choose auto, cpu, mps, cuda"),
    (["--gold", "nowhere.tsv"], "nowhere.tsv: no such file"),
    (["--threshold-from", "nowhere.json"], "nowhere.json: no such file; `twinlode review"),
    (["--threshold-from", "nowhere.json", "--top", "3"], "takes the place of --threshold, --top and --gold"),
    (["--seed-pairs", "seed.tsv"], "seed.tsv: no such file"),
    (["--seed-pairs", "seed.tsv", "--top", "3"], "--seed-pairs is for --precision, and not used by --threshold, --top"),
    (["--memory", "lots"], "mine: --memory: give a size such as 512MB or 4GiB"),
    (["--memory", "3parsecs"], "mine: --memory: give a size such as 512MB or 4GiB"),
    (["--memory", "1"], "mine: --memory: give 1MiB or more"),
    (["--memory", "5MB"], "5 MB is too small for the neighbours of 158 x 159 vectors of dim 16; raise --memory to"),
]


@pytest.mark.parametrize(("more", "phrase"), BAD, ids=lambda value: " ".join(value) if isinstance(value, list) else "")
def test_command_refuses_in_one_sentence(corpora: Path, tmp_path: Path, more: list[str], phrase: str) -> None:
    given = arguments(corpora, tmp_path)
    for option in more[::2]:
        if option in given:
            del given[(place := given.index(option)) : place + 2]
    result = CliRunner().invoke(app, [*given, *more])
    assert phrase in str(result.exception)
    assert isinstance(result.exception, ValueError)
    assert "\n" not in str(result.exception)
    assert not (tmp_path / "pairs.tsv").exists()


def test_work_folder_of_another_configuration_says_what_changed(
    corpora: Path, whole: JobResult, tmp_path: Path
) -> None:
    with pytest.raises(
        InputError, match=r"src holds .*rows_per_shard: 54 -> 9.*delete that folder or choose another one"
    ):
        mine_corpora(job(corpora, "work3", k=3, rows_per_shard=9))
    write_encoder(tmp_path / "other", dim=8)
    vectors = EmbedSettings(
        sentences=whole.source.url, encoder=str(tmp_path / "other"), out=f"{whole.source.url}-vectors"
    )
    with pytest.raises(InputError, match=r"src-vectors holds .*dim: 16 -> 8; encoder: "):
        embed(vectors)
    embed(vectors.model_copy(update={"out": str(tmp_path / "vectors")}))
    mixed = GraphSettings(source=f"{whole.target.url}-vectors", target=str(tmp_path / "vectors"), out="nowhere")
    with pytest.raises(InputError, match=r"tgt-vectors has dim 16, but .*/vectors has dim 8; embed both the same way"):
        build_graph(mixed)
    with pytest.raises(InputError, match="was made from other sentences"):
        mine(settings(whole, tmp_path / "pairs", source=whole.target.url))
