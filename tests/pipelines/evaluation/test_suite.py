"""A suite of benchmarks: settings, comparison, files, and the command."""

from __future__ import annotations

import json
from pathlib import Path

import numpy as np
import pytest
from typer.testing import CliRunner

from encoder.settings import load_settings
from mining.errors import InputError
from pipelines import cli
from pipelines.evaluation.benchmark_table import BENCHMARKS
from pipelines.evaluation.bucc import SAME
from pipelines.evaluation.result_tables import markdown, write_json
from pipelines.evaluation.sts import Sts
from pipelines.evaluation.suite import Report, Suite, run_suite
from tests.conftest import Refusal, RunTwinlode
from tests.pipelines.command_tree import subcommand
from tests.pipelines.evaluation.test_bucc import corpora
from tests.pipelines.evaluation.toys import LiteralVectors, literal, write

REPOSITORY = Path(__file__).resolve().parents[3]


@pytest.fixture
def root(tmp_path: Path) -> Path:
    vectors = np.random.default_rng(0).normal(size=(120, 6))
    for code in ("deu", "eng"):
        write(tmp_path, f"tatoeba/tatoeba.deu-eng.{code}", *literal(vectors))
    corpora(tmp_path, "bucc/de-en.training", seed=1, noise=0.2)
    corpora(tmp_path, "bucc/de-en.test", seed=2, noise=0.2)
    write(
        tmp_path,
        "suite.yaml",
        "benchmarks:",
        "  - {benchmark: tatoeba, data: tatoeba}",
        "  - {benchmark: bucc, data: bucc, title: mining}",
    )
    return tmp_path


def compared(root: Path) -> Report:
    suite = load_settings(Suite, root / "suite.yaml")
    return run_suite(suite, [LiteralVectors("good"), LiteralVectors("noisy", noise=0.8)], root)


def test_encoders_side_by_side(root: Path) -> None:
    report = compared(root)
    assert {line.benchmark for line in report.lines} == {"tatoeba", "mining"}
    tatoeba = next(line for line in report.lines if line.benchmark == "tatoeba")
    good, noisy = tatoeba.measured
    assert good.score.value == 100.0 and good.interval == (100.0, 100.0)
    assert noisy.interval is not None and noisy.interval.low < noisy.score.value < noisy.interval.high
    assert tatoeba.differences[0] is None
    difference = tatoeba.differences[1]
    assert difference is not None and difference.value < -5 and difference.p_value < 0.05


def test_an_overall_score_is_the_mean_of_subtasks(root: Path) -> None:
    part = '{{benchmark: {}, score: "{}"}}'
    ways = [f"de-en {way} {SAME}" for way in ("forward absolute", "max ratio")]
    with (root / "suite.yaml").open("a") as stream:
        stream.write("overall:\n  - title: Score\n    subtasks:\n")
        stream.write(f"      - [{part.format('tatoeba', 'mean of these 1 P@1')}]\n")
        stream.write(f"      - [{', '.join(part.format('mining', way) for way in ways)}]\n")
    report = compared(root)
    scores = {score.name: score.value for row in report.results for score in row[1].outcome.scores}
    expected = (scores["mean of these 1 P@1"] + (scores[ways[0]] + scores[ways[1]]) / 2) / 2
    assert report.lines[-1].name == "Score"
    assert report.lines[-1].measured[1].score.value == pytest.approx(expected)


def test_json_says_how_it_was_done(root: Path) -> None:
    write_json(root / "out.json", compared(root))
    document = json.loads((root / "out.json").read_text())
    mining = next(result for result in document["results"] if result["benchmark"] == "mining")
    assert mining["how"]["encoder_fingerprint"] == "literal" and mining["how"]["truncation"] == "none"
    assert mining["how"]["settings"]["k"] == 4 and len(mining["how"]["data_hash"]) == 32
    assert mining["how"]["choices"]["de-en threshold"] == "tuned on gold of bucc/de-en.training.de"
    files = sorted(path.name for path in (root / "out.files").iterdir())
    assert "mining.literal.de-en.max-ratio.curve.tsv" in files
    curve = (root / "out.files/mining.literal.de-en.max-ratio.curve.tsv").read_text().splitlines()
    assert curve[0] == "threshold\tprecision\trecall\tf1\tkept" and len(curve) > 10


def test_the_hash_of_the_data_follows_the_gold(root: Path) -> None:
    before = compared(root).results[1][0].how.data_hash
    corpora(root, "bucc/de-en.training", seed=3, noise=0.2)
    assert compared(root).results[1][0].how.data_hash != before


def test_markdown(root: Path) -> None:
    text = markdown(compared(root))
    assert "| benchmark | score | good | noisy | noisy minus good |" in text
    assert "threshold from the same gold (flatters)" in text and "p < 0.05" in text
    widths = {line.count(" | ") for line in text.split("\n\n")[1].splitlines()}
    assert len(widths) == 1


def test_every_benchmark_has_a_name() -> None:
    for name in BENCHMARKS:
        suite = Suite.model_validate({"benchmarks": [{"benchmark": name, "data": "."}]})
        assert suite.benchmarks[0].label == name


@pytest.mark.parametrize(
    ("entry", "message"),
    [
        ("{benchmark: tatoeba, data: x, langauges: [deu]}", "did you mean languages"),
        ("{benchmark: tatobea, data: x}", "tatobea"),
        ("{benchmark: bucc}", "data"),
        ("{benchmark: bucc, data: a}\n  - {benchmark: bucc, data: b}", "bucc is there twice; give each a title"),
    ],
)
def test_bad_settings(tmp_path: Path, entry: str, message: str) -> None:
    write(tmp_path, "suite.yaml", "benchmarks:", f"  - {entry}")
    with pytest.raises(InputError, match=message):
        load_settings(Suite, tmp_path / "suite.yaml")


def test_a_missing_folder_is_found_before_anything_runs(root: Path) -> None:
    entries = [f"  - {{benchmark: tatoeba, data: {name}, title: {name}}}" for name in ("tatoeba", "nowhere")]
    write(root, "suite.yaml", "benchmarks:", *entries)
    ran: list[str] = []
    with pytest.raises(InputError, match=r"nowhere: there is no folder .*nowhere"):
        run_suite(load_settings(Suite, root / "suite.yaml"), [LiteralVectors()], root, lambda b, e: ran.append(b))
    assert not ran


def test_what_was_finished_before_a_mistake_is_shown_and_written(
    root: Path, twinlode: RunTwinlode, capsys: pytest.CaptureFixture[str]
) -> None:
    precomputed(root / "texts/tatoeba", root, 0.0)
    entry = "{{benchmark: tatoeba, data: tatoeba, title: {}, languages: [{}]}}"
    entries = [f"  - {entry.format(title, lang)}" for title, lang in (("good", "deu"), ("bad", "xxx"), ("last", "deu"))]
    part = "{benchmark: last, score: mean of these 1 P@1}"
    write(root, "suite.yaml", "benchmarks:", *entries, "overall:", f"  - {{title: Score, subtasks: [[{part}]]}}")
    arguments = ["eval", "suite", "--config", root / "suite.yaml", "--data", root, "--encoder", root / "texts"]
    assert twinlode(*arguments, "--json", root / "out.json", "--markdown", root / "out.md") == 2
    said = capsys.readouterr()
    assert "100.0 [100.0, 100.0]" in said.out
    assert "there is no tatoeba.xxx-eng.xxx" in " ".join(said.err.split())
    document = json.loads((root / "out.json").read_text())
    assert [result["benchmark"] for result in document["results"]] == ["good"]
    assert "there is no tatoeba.xxx-eng.xxx" in document["unfinished"]
    assert "Unfinished: " in (root / "out.md").read_text()


def precomputed(folder: Path, root: Path, noise: float) -> None:
    for code in ("deu", "eng"):
        name = f"tatoeba.deu-eng.{code}"
        rows = [[float(word) for word in line.split()] for line in (root / "tatoeba" / name).read_text().splitlines()]
        array = np.array(rows) + noise * np.random.default_rng(len(code + name)).normal(size=(len(rows), 6))
        folder.mkdir(parents=True, exist_ok=True)
        np.save(folder / f"{name}.npy", array.astype(np.float32))


def test_command_with_precomputed_vectors(root: Path) -> None:
    precomputed(root / "a", root, 0.0)
    precomputed(root / "b", root, 0.5)
    arguments = ["eval", "tatoeba", "--data", str(root / "tatoeba"), "--json", str(root / "out.json")]
    arguments += ["--encoder", str(root / "a"), "--encoder", str(root / "b"), "--markdown", str(root / "out.md")]
    result = CliRunner().invoke(cli.app, arguments, catch_exceptions=False)
    assert result.exit_code == 0
    assert "mean of these 1" in result.stdout
    said = " ".join(result.stdout.split())
    assert "hash" in said and "truncation unknown" in said
    document = json.loads((root / "out.json").read_text())
    assert document["headlines"][0]["values"][0] == 100.0
    assert (root / "out.md").exists()


def test_vectors_for_a_suite_are_under_the_folders_of_its_benchmarks(root: Path) -> None:
    arguments = ["eval", "suite", "--config", str(root / "suite.yaml"), "--data", str(root)]
    result = CliRunner().invoke(cli.app, [*arguments, "--write-texts", str(root / "texts")], catch_exceptions=False)
    assert result.exit_code == 0
    precomputed(root / "texts/tatoeba", root, 0.0)
    for path in (root / "texts/bucc").iterdir():
        np.save(f"{path}.npy", np.loadtxt(path, np.float32))
    result = CliRunner().invoke(cli.app, [*arguments, "--encoder", str(root / "texts")], catch_exceptions=False)
    assert result.exit_code == 0 and "100.0 [100.0, 100.0]" in result.stdout


@pytest.mark.parametrize("name", BENCHMARKS)
def test_each_benchmark_has_its_settings_as_options(name: str) -> None:
    model = BENCHMARKS[name].load()
    assert model.model_fields["benchmark"].default == name
    offered = {option for parameter in subcommand("eval", name).params for option in parameter.opts}
    settings = model.model_fields.keys() - {"benchmark", "data", "title", "groups"}
    assert {f"--{field.replace('_', '-')}" for field in settings} <= offered
    assert {"--config", "--set", "--data", "--encoder"} <= offered


def test_options_of_a_benchmark_win_over_its_file(root: Path) -> None:
    precomputed(root / "a", root, 0.0)
    write(root, "tatoeba.yaml", "languages: [xxx]", "seen: [deu]")
    arguments = ["eval", "tatoeba", "--data", str(root / "tatoeba"), "--json", str(root / "out.json")]
    arguments += ["--encoder", str(root / "a"), "--config", str(root / "tatoeba.yaml"), "--languages", "deu"]
    assert CliRunner().invoke(cli.app, arguments, catch_exceptions=False).exit_code == 0
    settings = json.loads((root / "out.json").read_text())["results"][0]["how"]["settings"]
    assert settings["languages"] == settings["seen"] == ["deu"]


def test_texts_of_a_benchmark_can_be_written(root: Path) -> None:
    arguments = ["eval", "bucc", "--data", str(root / "bucc"), "--write-texts", str(root / "texts")]
    assert CliRunner().invoke(cli.app, arguments, catch_exceptions=False).exit_code == 0
    assert len((root / "texts/de-en.training.de").read_text().splitlines()) == 60


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (["tatoeba", "--write-texts", "there", "--encoder", "here"], "--write-texts takes the place of --encoder"),
        (["tatobea"], "no benchmark 'tatobea'; did you mean tatoeba?"),
        (["suite"], "a suite needs --config"),
        (["tatoeba", "--set", "languages=[xxx]"], "there is no tatoeba.xxx-eng.xxx"),
        (["tatoeba", "--set", "k=3"], "unknown key"),
        (["documents", "--set", "seed=3"], "the key seed is called random_seed now"),
        (["xsim", "--k", "none"], "eval xsim: --k: "),
        (["bucc"], "no corpora in the form of BUCC"),
    ],
)
def test_bad_input_is_one_sentence_and_exit_2(root: Path, arguments: list[str], message: str, refusal: Refusal) -> None:
    precomputed(root / "a", root, 0.0)
    rest = ["--encoder", str(root / "a"), "--data", str(root / "tatoeba"), "--json", str(root / "out.json")]
    assert message in refusal("eval", *arguments, *rest)
    assert not (root / "out.json").exists()


@pytest.mark.parametrize("name", ["suite-shared", "suite-default"])
def test_the_suites_of_the_shared_data_find_their_folders(shared_data: Path, name: str) -> None:
    suite = load_settings(Suite, REPOSITORY / f"configs/{name}.yaml")
    assert all((shared_data / benchmark.data).is_dir() for benchmark in suite.benchmarks)


@pytest.mark.parametrize("path", sorted((REPOSITORY / "configs").glob("suite-*.yaml")), ids=lambda path: path.stem)
def test_the_suites_take_semevals_own_files_of_2017(tmp_path: Path, path: Path) -> None:
    """Turkish-English has gold for the first half of its lines."""
    (sts,) = [entry for entry in load_settings(Suite, path).benchmarks if isinstance(entry, Sts)]
    first, second = (literal(side) for side in np.random.default_rng(4).normal(size=(2, 20, 3)))
    folder = f"{sts.data}/STS2017"
    write(tmp_path, f"{folder}.eval.v1.1/STS.input.track6.tr-en.txt", *map("\t".join, zip(first, second, strict=True)))
    write(tmp_path, f"{folder}.gs/STS.gs.track6.tr-en.txt", *map(str, range(10)))
    report = run_suite(Suite(benchmarks=(sts,)), [LiteralVectors()], tmp_path)
    samples = [s.sample for s in report.results[0][0].outcome.scores if s.name == "track6.tr-en Pearson"]
    assert samples[0] is not None and samples[0].sizes() == (10,)
