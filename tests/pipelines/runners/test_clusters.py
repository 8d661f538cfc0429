"""Runners beyond this machine, as far as they can be checked without one."""

import json
import re
import subprocess
from pathlib import Path

import apache_beam as beam
import fsspec
import pytest
from apache_beam.options.pipeline_options import (
    DebugOptions,
    FlinkRunnerOptions,
    GoogleCloudOptions,
    PipelineOptions,
    PortableOptions,
    StandardOptions,
    WorkerOptions,
)
from apache_beam.portability import common_urns
from apache_beam.portability.api import beam_runner_api_pb2
from apache_beam.transforms.environments import DockerEnvironment
from pydantic import ByteSize
from typer.testing import CliRunner

from encoder import Encoder
from mining.errors import InputError
from pipelines.cli import app
from pipelines.commands.flex_template import PARAMETERS, build, job_settings, split_arguments
from pipelines.commands.flex_template import main as flex_template_main
from pipelines.embed.shard_embedder import describe_encoder
from pipelines.embed.vector_stage import Embed, EmbedAll, EmbedSettings, embed
from pipelines.graph.graph_settings import GraphSettings
from pipelines.graph.graph_stage import build_graph
from pipelines.graph.graph_transform import GraphOfAll
from pipelines.mine.mine_settings import MineSettings
from pipelines.mine.pair_transform import Mine, MineAll
from pipelines.prepare.readers import ReadSettings
from pipelines.prepare.sentence_stage import MakeSentences, PrepareSettings, make_plan, prepare, start
from pipelines.runners.clusters import DataflowSettings, FlinkSettings, SparkSettings, run_on_cluster
from pipelines.runners.resource_hints import PROCESS_BYTES
from pipelines.runners.runner import ResourceHints, RunnerSettings, hints_of, load_runner
from tests.pipelines.corpora import write_encoder

CONFIGS = Path(__file__).resolve().parents[3] / "configs" / "runners"
DATAFLOW = DataflowSettings(
    project="p", region="europe-west4", temp_location="gs://bucket/tmp", container="registry/twinlode:1"
)
NEEDED = ("project", "region", "temp_location", "container")
ACCELERATOR = "beam:resources:accelerator:v1"
MIN_RAM = "beam:resources:min_ram_bytes:v1"


def pipeline_proto(transform: beam.PTransform, settings: DataflowSettings) -> beam_runner_api_pb2.Pipeline:
    """The pipeline as it is sent to Dataflow."""
    settings.require_complete()
    pipeline = beam.Pipeline(options=PipelineOptions([]))
    pipeline | transform
    return pipeline.to_runner_api(default_environment=DockerEnvironment.from_container_image(settings.container or ""))


@pytest.mark.parametrize(
    ("settings", "runner"),
    [
        (FlinkSettings(), "FlinkRunner"),
        (FlinkSettings(job_endpoint="localhost:1"), "PortableRunner"),
        (SparkSettings(environment="EXTERNAL", environment_config="localhost:2"), "SparkRunner"),
        (DATAFLOW, "DataflowRunner"),
    ],
)
def test_flags_are_known_to_beam(settings: FlinkSettings | SparkSettings | DataflowSettings, runner: str) -> None:
    options = PipelineOptions(settings.flags())
    assert options.view_as(StandardOptions).runner == runner
    unknown = set(options.get_all_options(drop_default=True, retain_unknown_options=True))
    assert unknown <= set(options.get_all_options())


def test_settings_reach_beam() -> None:
    flink = PipelineOptions(FlinkSettings(master="host:1", parallelism=3, environment="EXTERNAL").flags())
    assert flink.view_as(FlinkRunnerOptions).flink_master == "host:1"
    assert flink.view_as(FlinkRunnerOptions).parallelism == 3
    assert flink.view_as(PortableOptions).environment_type == "EXTERNAL"
    assert flink.view_as(PortableOptions).sdk_worker_parallelism == "1"
    options = PipelineOptions(DATAFLOW.flags())
    assert options.view_as(GoogleCloudOptions).project == "p"
    assert options.view_as(WorkerOptions).sdk_container_image == "registry/twinlode:1"
    assert options.view_as(WorkerOptions).machine_type == "n1-standard-8"
    assert options.view_as(DebugOptions).number_of_worker_harness_threads == 2  # not Dataflow's 12
    chosen_there = PipelineOptions(DATAFLOW.model_copy(update={"machine_type": None}).flags())
    assert chosen_there.view_as(WorkerOptions).machine_type is None


def test_options_without_a_setting_of_their_own_reach_beam_and_win() -> None:
    given = ["options.machine_type=n2", "options.labels=[a=b, c=d]", "options.no_auth=true", "options.update=false"]
    settings = load_runner("dataflow", [*(f"{name}={getattr(DATAFLOW, name)}" for name in NEEDED), *given])
    assert isinstance(settings, DataflowSettings)
    options = PipelineOptions(settings.flags())
    assert options.view_as(WorkerOptions).machine_type == "n2"
    assert options.view_as(GoogleCloudOptions).labels == ["a=b", "c=d"]
    assert options.view_as(GoogleCloudOptions).no_auth is True
    assert options.view_as(GoogleCloudOptions).update is False


def test_shipped_files_load() -> None:
    assert isinstance(load_runner(str(CONFIGS / "flink.yaml"), ["parallelism=2"]), FlinkSettings)
    assert isinstance(load_runner(str(CONFIGS / "spark.yaml")), SparkSettings)
    dataflow = load_runner(str(CONFIGS / "dataflow.yaml"))
    assert isinstance(dataflow, DataflowSettings)
    with pytest.raises(InputError) as error:
        dataflow.flags()
    assert str(error.value).count("is missing") == 4


@pytest.mark.parametrize(
    ("change", "phrase"),
    [
        ({"project": None}, "`project` is missing: the Google Cloud project that pays"),
        ({"region": None}, "`region` is missing: the region"),
        ({"temp_location": None}, "`temp_location` is missing: a gs:// folder"),
        ({"temp_location": "/tmp/x"}, "`temp_location` must be a gs:// folder, not /tmp/x"),
        ({"container": None}, "`container` is missing: the worker image"),
    ],
)
def test_each_missing_setting_is_one_sentence(change: dict, phrase: str) -> None:
    with pytest.raises(InputError, match=re.escape(phrase)):
        DATAFLOW.model_copy(update=change).flags()


def test_mistyped_runner_setting_names_the_nearest() -> None:
    with pytest.raises(ValueError, match=r"unknown key acelerator; did you mean accelerator\?"):
        load_runner("dataflow", ["acelerator=x"])


def test_local_files_are_refused_before_any_work(tmp_path: Path) -> None:
    given = [
        "mine",
        "--src",
        "a.txt",
        "--tgt",
        "gs://b/c",
        "--src-lang",
        "en",
        "--tgt-lang",
        "de",
        "--encoder",
        "gs://e",
    ]
    flags = [f"{name}={getattr(DATAFLOW, name)}" for name in NEEDED]
    runner = ["--runner", "dataflow", *(part for flag in flags for part in ("--runner-set", flag))]
    result = CliRunner().invoke(app, [*given, *runner, "--out", f"{tmp_path}/p.tsv", "--work", "gs://w"])
    assert "p.tsv is on this machine, where Dataflow workers cannot reach it" in str(result.exception)


def stage_protos(tmp_path: Path, hints: ResourceHints) -> dict[str, beam_runner_api_pb2.Pipeline]:
    """Every stage as Dataflow would get it; `memory://` stands for a store that is not this machine."""
    write_encoder(tmp_path / "encoder")
    files = fsspec.filesystem("memory")
    if files.exists("/dataflow"):
        files.rm("/dataflow", recursive=True)
    files.put(f"{tmp_path}/encoder/", "/dataflow/encoder/", recursive=True)
    files.pipe("/dataflow/a.txt", b"the cat\nthe dog\na red house\n")
    read = ReadSettings(lang="en")
    asked = PrepareSettings(
        inputs=["memory://dataflow/a.txt"], out="memory://dataflow/src", read=read, lang_filter="assume"
    )
    work = start(asked)
    stages = {"prepare": MakeSentences(asked, work, make_plan(asked, work))}
    protos = {"prepare": pipeline_proto(stages["prepare"], DATAFLOW)}
    sentences = prepare(asked)
    vectors = EmbedSettings(
        sentences=sentences.url, encoder="memory://dataflow/encoder", out="memory://dataflow/vectors",
        **hints._asdict(),
    )  # fmt: skip
    protos["embed"] = pipeline_proto(EmbedAll(Embed(vectors), sentences.shards), DATAFLOW)
    embed(vectors)
    graph = GraphSettings(
        source=vectors.out,
        target=vectors.out,
        out="memory://dataflow/graph",
        memory=ByteSize(3 << 30),
        **hints._asdict(),
    )
    protos["graph"] = pipeline_proto(GraphOfAll(graph), DATAFLOW)
    partitioned = graph.model_copy(update={"search": "partitioned"})
    protos["partitioned"] = pipeline_proto(GraphOfAll(partitioned), DATAFLOW)
    made = build_graph(graph)
    mine = MineSettings(
        graph=graph.out, source=sentences.url, target=sentences.url, out="memory://dataflow/pairs",
        edges_at_once=1000, min_ram=hints.min_ram,
    )  # fmt: skip
    protos["mine"] = pipeline_proto(MineAll(Mine(mine), made.shards), DATAFLOW)
    return protos


def hinted(proto: beam_runner_api_pb2.Pipeline, hint: str) -> dict[str, bytes]:
    """The steps that ask for something, by name without the stage, and for how much."""
    asked = {key: env.resource_hints.get(hint) for key, env in proto.components.environments.items()}
    return {
        transform.unique_name: found
        for transform in proto.components.transforms.values()
        if transform.spec.urn == common_urns.primitives.PAR_DO.urn and (found := asked.get(transform.environment_id))
    }


def test_only_embed_and_graph_ask_for_an_accelerator_and_nothing_names_a_local_path(tmp_path: Path) -> None:
    for name, proto in stage_protos(tmp_path, hints_of(DATAFLOW)).items():
        users = hinted(proto, ACCELERATOR)
        assert bool(users) == (name in ("embed", "graph")), name
        assert all("/Embed/BeamML_RunInference" in user or "Compute" in user for user in users), users
        assert set(users.values()) <= {DATAFLOW.accelerator.encode()}
        used = {transform.environment_id for transform in proto.components.transforms.values()} - {""}
        for key in used:
            assert b"registry/twinlode:1" in proto.components.environments[key].payload
        serialised = proto.SerializeToString()
        for local in (str(Path.cwd()), str(tmp_path), str(Path.home()) + "/"):
            assert local.encode() not in serialised, (name, local)


def test_steps_ask_for_the_memory_of_their_settings(tmp_path: Path) -> None:
    found = {name: hinted(proto, MIN_RAM) for name, proto in stage_protos(tmp_path, hints_of(DATAFLOW)).items()}
    amounts = {name: {int(amount) - PROCESS_BYTES for amount in steps.values()} for name, steps in found.items()}
    weights = describe_encoder("memory://dataflow/encoder").weights
    assert (
        weights == sum(tensor.nbytes for tensor in Encoder.load(tmp_path / "encoder").model.state_dict().values()) > 0
    )
    assert amounts == {
        "prepare": set(), "embed": {2 * weights}, "graph": {3 << 30}, "partitioned": {3 << 30}, "mine": {1000 * 200}
    }  # fmt: skip
    steps = {name: {step.split("/")[-1].split("(")[0] for step in steps} for name, steps in found.items()}
    assert steps["graph"] == {"Compute"}
    assert steps["partitioned"] == {"Train", "Search"}
    assert steps["mine"] == {"Sort", "MatchBands"}


def test_runners_that_choose_no_machines_get_no_hints() -> None:
    """They would only give each hint Python workers of its own."""
    assert hints_of(DATAFLOW) == (DATAFLOW.accelerator, True)
    for runner in (None, RunnerSettings(), FlinkSettings(), SparkSettings()):
        assert hints_of(runner) == (None, False)


def test_flex_template_offers_parameters_that_the_pipeline_takes() -> None:
    parameters = json.loads((CONFIGS / "dataflow" / "metadata.json").read_text())["parameters"]
    assert {parameter["name"] for parameter in parameters} <= PARAMETERS
    required = {parameter["name"] for parameter in parameters if not parameter.get("isOptional")}
    assert required == {"src", "tgt", "work", "out"}
    given, options = split_arguments(["--src=gs://b/en*.gz", "--k=8", "--template_location=gs://b/job", "--labels=a=b"])
    assert given == {"src": "gs://b/en*.gz", "k": "8"}
    assert options == ["--template_location=gs://b/job", "--labels=a=b"]


def test_flex_template_builds_one_pipeline_and_keeps_options_of_beam(tmp_path: Path) -> None:
    write_encoder(tmp_path / "encoder")
    files = fsspec.filesystem("memory")
    files.put(f"{tmp_path}/encoder/", "/template/encoder/", recursive=True)
    for name in ("en", "de"):
        files.pipe(f"/template/{name}.txt", b"the cat\nthe dog\na red house\n")
    given = {
        "src": "memory://template/en.txt", "tgt": "memory://template/de.txt", "src_lang": "en", "tgt_lang": "de",
        "encoder": "memory://template/encoder", "work": "memory://template/work", "lang_filter": "assume",
        "out": "memory://template/pairs-*.tsv",
    }  # fmt: skip
    arguments = [f"--{name}={value}" for name, value in given.items()]
    parameters, options = split_arguments([*arguments, "--template_location=gs://bucket/job", "--region=europe-west4"])
    pipeline = build(parameters, PipelineOptions(options))
    cloud = pipeline.options.view_as(GoogleCloudOptions)
    assert (cloud.template_location, cloud.region) == ("gs://bucket/job", "europe-west4")
    names = {transform.unique_name for transform in pipeline.to_runner_api().components.transforms.values()}
    for stage in ("MineText/PrepareSrc", "MineText/EmbedTgt", "MineText/Graph", "MineText/Mine", "Export"):
        assert stage in names


def test_template_without_a_corpus_is_one_sentence(monkeypatch: pytest.MonkeyPatch) -> None:
    with pytest.raises(SystemExit, match="the template's parameter `work` is missing"):
        flex_template_main(["--src=gs://b/en.txt"])


def test_template_refuses_what_its_search_makes_no_use_of() -> None:
    place = "memory://unused"
    for name in ("en", "de"):
        fsspec.filesystem("memory").pipe(f"/unused/{name}.txt", b"the cat\n")
    given = {"src": f"{place}/en.txt", "tgt": f"{place}/de.txt", "src_lang": "en", "tgt_lang": "de"}
    given |= {"work": f"{place}/work", "encoder": f"{place}/encoder", "copies": "8"}
    assert job_settings(given | {"search": "partitioned"}).copies == 8
    with pytest.raises(InputError, match="--copies: for a partitioned search only"):
        job_settings(given | {"search": "exact"})


def test_image_has_every_package_of_the_distribution() -> None:
    lines = (CONFIGS / "dataflow" / "Dockerfile").read_text()
    for package in ("encoder", "mining", "pipelines"):
        assert f"COPY {package} {package}\n" in lines
    tracked = subprocess.run(
        ["git", "ls-files", "pyproject.toml", "LICENSE", "NOTICE", "README.md"], capture_output=True, text=True
    )
    assert all(f" {name}" in lines for name in tracked.stdout.split())


@pytest.mark.parametrize(
    ("settings", "phrase"),
    [
        (FlinkSettings(job_server_jar="/nowhere/beam.jar"), "no such job server file.*job_endpoint=host:port"),
        (FlinkSettings(job_endpoint="localhost:1"), "localhost:1: no job server answers"),
        (SparkSettings(job_endpoint="localhost"), "host:port"),
    ],
)
def test_no_job_server_is_one_sentence(settings: FlinkSettings | SparkSettings, phrase: str) -> None:
    with pytest.raises(InputError, match=phrase):
        run_on_cluster(beam.Create([1]), settings)


@pytest.mark.parametrize("problem", ["Unable to fetch remote job server jar at x: 404", "Java must be installed on"])
def test_a_job_server_that_cannot_be_had_is_one_sentence(problem: str, monkeypatch: pytest.MonkeyPatch) -> None:
    def fail(*arguments: object, **named: object) -> None:
        raise RuntimeError(problem)

    monkeypatch.setattr("apache_beam.utils.subprocess_server.JavaJarServer.local_jar", fail)
    with pytest.raises(InputError, match=r"flink: Beam's job server .*job_server_jar=FILE"):
        run_on_cluster(beam.Create([1]), FlinkSettings())
