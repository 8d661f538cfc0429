"""Embed: vectors as the encoder makes them, dead letters with reasons, metrics, and its use in one's own pipeline."""

from contextlib import nullcontext
from pathlib import Path

import apache_beam as beam
import numpy as np
import pyarrow as pa
import pytest
import torch
from apache_beam.runners.portability.fn_api_runner import FnApiRunner

from encoder import Encoder
from encoder.tokens import Tokens
from mining.errors import InputError
from mining.vectors import open_vectors
from pipelines.datasets.dead_letters import DeadLetter
from pipelines.datasets.manifest import Dataset, Shard, open_dataset
from pipelines.datasets.sentences import read_shard, tokens_of
from pipelines.embed.vector_stage import (
    NAMESPACE,
    Embed,
    Embedded,
    EmbedSettings,
    describe_encoder,
    embed,
    embed_table,
    encoder_of,
    require_few_dead,
    survive,
)
from pipelines.prepare.readers import ReadSettings
from pipelines.prepare.sentence_stage import Prepare, PrepareSettings, prepare
from tests.pipelines.corpora import write_corpora, write_encoder


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("embed")
    write_corpora(folder)
    write_encoder(folder / "encoder")
    return folder


def prepare_settings(folder: Path, out: Path, encoder: bool) -> PrepareSettings:
    return PrepareSettings(
        inputs=[str(folder / "src.txt")],
        out=str(out),
        read=ReadSettings(lang="en"),
        lang_filter="assume",
        rows_per_shard=70,
        encoder=str(folder / "encoder") if encoder else None,
    )


def arrays(dataset: Dataset) -> np.ndarray:
    return np.concatenate([open_vectors(dataset.shard_url(shard)).stored for shard in dataset.shards])


@pytest.mark.parametrize("pieces", [True, False])
def test_vectors_are_those_of_the_encoder_with_or_without_pieces(folder: Path, tmp_path: Path, pieces: bool) -> None:
    sentences = prepare(prepare_settings(folder, tmp_path / "src", pieces))
    settings = EmbedSettings(sentences=sentences.url, encoder=str(folder / "encoder"), out=str(tmp_path / "vectors"))
    made = embed(settings)
    texts = [text for s in sentences.shards for text in read_shard(sentences.shard_url(s))["text"].to_pylist()]
    encoder = Encoder.load(folder / "encoder")
    assert np.array_equal(arrays(made), encoder.encode(texts, "en"))
    metadata = open_vectors(made.shard_url(made.shards[0])).metadata
    assert (metadata["encoder"], metadata["text"]) == (encoder.fingerprint, sentences.fingerprint)
    half = embed(settings.model_copy(update={"out": str(tmp_path / "half"), "dtype": "float16"}))
    assert np.array_equal(arrays(half), arrays(made).astype(np.float16))


def test_pieces_of_another_encoder_are_not_used(folder: Path, tmp_path: Path, monkeypatch) -> None:
    sentences = prepare(prepare_settings(folder, tmp_path / "src", True))
    facts = describe_encoder(str(folder / "encoder"))
    monkeypatch.setattr("pipelines.embed.vector_stage.facts_of", lambda encoder: facts._replace(text="other"))
    seen: list[list[str]] = []
    monkeypatch.setattr(
        "pipelines.embed.vector_stage.embed_table",
        lambda encoder, table: (seen.append(table.column_names), embed_table(encoder, table))[1],
    )
    embed(EmbedSettings(sentences=sentences.url, encoder=str(folder / "encoder"), out=str(tmp_path / "vectors")))
    assert all("pieces" not in names and "text" in names for names in seen)
    assert seen


class Stub:
    """As much of an encoder as is needed to fail like one."""

    def __init__(self, device: str = "cpu", memory: int = 10**6, error: Exception | None = None) -> None:
        self.dim, self.device, self.batch_tokens = 2, torch.device(device), 1024
        self.memory, self.error, self.budgets = memory, error, list[int]()

    def encode_tokens(self, tokens: Tokens) -> np.ndarray:
        self.budgets.append(self.batch_tokens)
        if self.error is not None:
            raise self.error
        if self.batch_tokens > self.memory:
            raise torch.OutOfMemoryError("out of memory")
        return np.ones((len(tokens.lengths), 2), np.float32)


def table_of(rows: int) -> pa.Table:
    return pa.table({"lang": ["en"] * rows, "pieces": pa.array([[1, 2, 3]] * rows, pa.list_(pa.int32()))})


def with_pieces(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("pipelines.embed.vector_stage._tokens", lambda encoder, table: tokens_of(table))


def test_out_of_memory_halves_the_budget_and_loses_nothing(monkeypatch: pytest.MonkeyPatch) -> None:
    with_pieces(monkeypatch)
    encoder = Stub("cuda", memory=300)
    found = embed_table(encoder, table_of(100))
    assert encoder.budgets == [1024, 512, 256]
    assert (len(found.rows), found.reasons) == (100, {})
    assert embed_table(encoder, table_of(5)).reasons == {}
    assert encoder.budgets[3:] == [256]  # the next shard begins where this one ended


@pytest.mark.parametrize(
    ("device", "memory", "error"),
    [
        ("cuda", 10**6, torch.AcceleratorError("device-side assert")),
        ("cuda", 10**6, RuntimeError("CUBLAS_STATUS_EXECUTION_FAILED")),
        ("cpu", 10**6, torch.AcceleratorError("unspecified launch failure")),
        ("cuda", 1, None),
    ],
)
def test_an_error_of_the_device_is_raised(
    monkeypatch: pytest.MonkeyPatch, device: str, memory: int, error: Exception | None
) -> None:
    with_pieces(monkeypatch)
    with pytest.raises(type(error) if error else torch.OutOfMemoryError):
        embed_table(Stub(device, memory, error), table_of(100))


@pytest.mark.parametrize(("failed", "empty", "refused"), [(1, 90, False), (2, 0, False), (3, 0, True)])
def test_a_shard_of_which_more_than_a_hundredth_failed_is_refused(failed: int, empty: int, refused: bool) -> None:
    reasons = dict.fromkeys(range(failed), "RuntimeError") | dict.fromkeys(range(failed, failed + empty), "no_tokens")
    found = Embedded(np.empty(0, np.int64), np.empty((0, 2)), reasons, np.ones(200, np.int64))
    shard = Shard(index=0, name="00000.parquet", rows=200, digest="")
    message = r"3 of 200 sentences of 00000\.parquet cannot be embedded \(RuntimeError 3\)"
    with pytest.raises(InputError, match=message) if refused else nullcontext():
        require_few_dead(shard, found)


def test_rows_that_fail_alone_are_found_and_the_others_encoded() -> None:
    def encode(rows: np.ndarray) -> np.ndarray:
        if {3, 17} & set(rows.tolist()):
            raise IndexError("poison")
        return rows[:, None] * np.ones(2, np.float32)

    reasons: dict[int, str] = {}
    rows, vectors = survive(encode, np.arange(40), Stub(), reasons)
    assert reasons == {3: "IndexError", 17: "IndexError"}
    assert rows.tolist() == [row for row in range(40) if row not in reasons]
    assert vectors.tolist() == [[row, row] for row in rows]


def test_no_row_at_all_is_an_empty_result() -> None:
    rows, vectors = survive(lambda rows: np.ones((len(rows), 2)), np.arange(0), Stub(), {})
    assert len(rows) == 0
    assert vectors.shape == (0, 2)


def test_poison_goes_to_dead_letters_with_a_reason(folder: Path) -> None:
    encoder = Encoder.load(folder / "encoder")
    pieces = pa.array([[1, 2], [], [10**6], [3]], pa.list_(pa.int32()))
    table = pa.table({"id": pa.array(range(4), pa.uint64()), "lang": ["en"] * 4, "pieces": pieces})
    found = embed_table(encoder, table)
    assert found.rows.tolist() == [0, 3]
    assert found.reasons[1] == "no_tokens"
    assert found.reasons.keys() == {1, 2}
    assert found.vectors.shape == (2, encoder.dim)
    encoder.model.tokens.weight.data[3] = np.nan
    assert embed_table(encoder, table).reasons[3] == "not_finite"


def test_in_a_pipeline_of_ones_own_with_dead_letters_and_metrics(folder: Path, tmp_path: Path) -> None:
    (tmp_path / "a.txt").write_text("the cat\n\u200b\u2028x\nred house\n" + "\u3164\n")
    asked = prepare_settings(folder, tmp_path / "src", True).model_copy(update={"inputs": [str(tmp_path / "a.txt")]})
    settings = EmbedSettings(sentences=asked.out, encoder=str(folder / "encoder"), out=str(tmp_path / "vectors"))
    letters = tmp_path / "letters"
    letters.mkdir()
    pipeline = beam.Pipeline(runner=FnApiRunner())
    made = pipeline | Prepare(asked) | Embed(settings)
    made.dead | beam.Map(_write, letters)
    result = pipeline.run()
    result.wait_until_finish()
    counters = {
        metric.key.metric.name: metric.result
        for metric in result.metrics().query(beam.metrics.MetricsFilter().with_namespace(NAMESPACE))["counters"]
    }
    vectors = open_dataset(settings.out, "vectors")
    assert counters["sentences"] == vectors.rows
    assert counters["tokens"] > 0
    dead = sorted(path.read_text() for path in letters.iterdir())
    assert len(dead) == counters["dead"] == sum(vectors.manifest.counters.dropped.values())


def _write(letter: DeadLetter, folder: Path) -> None:
    (folder / str(letter.id)).write_text(letter.reason)


def test_missing_encoder_and_missing_sentences_are_sentences(folder: Path, tmp_path: Path) -> None:
    with pytest.raises(ValueError, match=r"nowhere"):
        embed(EmbedSettings(sentences="x", encoder=str(tmp_path / "nowhere"), out="y"))
    with pytest.raises(InputError, match=r"has no manifest\.json"):
        embed(EmbedSettings(sentences=str(tmp_path), encoder=str(folder / "encoder"), out="y"))


@pytest.mark.parametrize("trust", [False, True])
def test_code_of_an_encoder_is_trusted_only_when_asked_for(monkeypatch: pytest.MonkeyPatch, trust: bool) -> None:
    seen = []
    monkeypatch.setattr(Encoder, "load", lambda path, *given, **options: seen.append((path, options)))
    encoder_of(EmbedSettings(sentences="s", encoder="e", out="o", **({"trust_remote_code": True} if trust else {})))
    assert seen == [("e", {"trust_remote_code": trust})]
