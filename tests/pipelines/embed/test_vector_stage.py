"""Embed: vectors as the encoder makes them, dead letters with reasons, metrics, and its use in one's own pipeline."""

from itertools import count
from pathlib import Path
from threading import Barrier

import apache_beam as beam
import numpy as np
import pyarrow as pa
import pytest
from apache_beam.runners.portability.fn_api_runner import FnApiRunner

from encoder import Encoder
from mining.errors import InputError
from mining.vectors import open_vectors
from pipelines.datasets.dead_letters import DeadLetter
from pipelines.datasets.manifest import Dataset, open_dataset
from pipelines.datasets.sentences import read_shard
from pipelines.embed.sentence_vectors import embed_table
from pipelines.embed.shard_embedder import NAMESPACE, ShardEmbedder, describe_encoder, encoder_of
from pipelines.embed.shard_model import ShardModel
from pipelines.embed.vector_stage import Embed, EmbedSettings, embed, start
from pipelines.prepare.prepare_settings import PrepareSettings
from pipelines.prepare.readers import ReadSettings
from pipelines.prepare.sentence_stage import Prepare, prepare


def prepare_settings(corpora: Path, out: Path, encoder: bool) -> PrepareSettings:
    return PrepareSettings(
        inputs=[str(corpora / "src.txt")],
        out=str(out),
        read=ReadSettings(lang="en"),
        lang_filter="assume",
        rows_per_shard=70,
        encoder=str(corpora / "encoder") if encoder else None,
    )


def arrays(dataset: Dataset) -> np.ndarray:
    return np.concatenate([open_vectors(dataset.shard_url(shard)).stored for shard in dataset.shards])


@pytest.mark.parametrize("pieces", [True, False])
def test_vectors_are_those_of_the_encoder_with_or_without_pieces(corpora: Path, tmp_path: Path, pieces: bool) -> None:
    sentences = prepare(prepare_settings(corpora, tmp_path / "src", pieces))
    settings = EmbedSettings(sentences=sentences.url, encoder=str(corpora / "encoder"), out=str(tmp_path / "vectors"))
    made = embed(settings)
    texts = [text for s in sentences.shards for text in read_shard(sentences.shard_url(s))["text"].to_pylist()]
    encoder = Encoder.load(corpora / "encoder")
    assert np.array_equal(arrays(made), encoder.encode(texts, "en"))
    metadata = open_vectors(made.shard_url(made.shards[0])).metadata
    assert (metadata["encoder"], metadata["text"]) == (encoder.fingerprint, sentences.fingerprint)
    half = embed(settings.model_copy(update={"out": str(tmp_path / "half"), "dtype": "float16"}))
    assert np.array_equal(arrays(half), arrays(made).astype(np.float16))


def test_beside_an_accelerator_two_shards_are_in_hand(
    corpora: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Each of the first two waits for the other before it is read."""
    sentences = prepare(prepare_settings(corpora, tmp_path / "src", True))
    settings = EmbedSettings(sentences=sentences.url, encoder=str(corpora / "encoder"), out=str(tmp_path / "one"))
    alone, both, begun = embed(settings), Barrier(2, timeout=60), count()

    def read_together(*given: object) -> pa.Table:
        if next(begun) < 2:
            both.wait()
        return read_shard(*given)  # type: ignore[arg-type]

    monkeypatch.setattr(ShardEmbedder, "shards_at_once", 2)
    monkeypatch.setattr("pipelines.embed.shard_embedder.read_shard", read_together)
    made = embed(settings.model_copy(update={"out": str(tmp_path / "two")}))
    assert made.fingerprint == alone.fingerprint


def test_pieces_of_another_encoder_are_not_used(corpora: Path, tmp_path: Path, monkeypatch) -> None:
    sentences = prepare(prepare_settings(corpora, tmp_path / "src", True))
    facts = describe_encoder(str(corpora / "encoder"))
    monkeypatch.setattr("pipelines.embed.vector_stage.facts_of", lambda encoder: facts._replace(text="other"))
    seen: list[list[str]] = []
    monkeypatch.setattr(
        "pipelines.embed.shard_embedder.embed_table",
        lambda encoder, table: (seen.append(table.column_names), embed_table(encoder, table))[1],
    )
    embed(EmbedSettings(sentences=sentences.url, encoder=str(corpora / "encoder"), out=str(tmp_path / "vectors")))
    assert all("pieces" not in names and "text" in names for names in seen)
    assert seen


@pytest.mark.parametrize("accelerator", [None, "type:nvidia-l4;count:1"])  # with one, processes share the encoder
def test_in_a_pipeline_of_ones_own_with_dead_letters_and_metrics(
    corpora: Path, tmp_path: Path, accelerator: str | None
) -> None:
    (tmp_path / "a.txt").write_text("the cat\n\u200b\u2028x\nred house\n" + "\u3164\n")
    asked = prepare_settings(corpora, tmp_path / "src", True).model_copy(update={"inputs": [str(tmp_path / "a.txt")]})
    common = {"sentences": asked.out, "encoder": str(corpora / "encoder"), "accelerator": accelerator}
    settings = EmbedSettings(out=str(tmp_path / "vectors"), **common)
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


def test_missing_encoder_and_missing_sentences_are_sentences(corpora: Path, tmp_path: Path) -> None:
    with pytest.raises(ValueError, match=r"nowhere"):
        embed(EmbedSettings(sentences="x", encoder=str(tmp_path / "nowhere"), out="y"))
    with pytest.raises(InputError, match=r"has no manifest\.json"):
        embed(EmbedSettings(sentences=str(tmp_path), encoder=str(corpora / "encoder"), out="y"))


@pytest.mark.parametrize("trust", [False, True])
def test_code_of_an_encoder_is_trusted_only_when_asked_for(monkeypatch: pytest.MonkeyPatch, trust: bool) -> None:
    seen = []

    class Loaded:
        def __init__(self, path: str, *given: object, **options: object) -> None:
            seen.append((path, options))

    monkeypatch.setattr(Encoder, "load", Loaded)
    encoder_of(EmbedSettings(sentences="s", encoder="e", out="o", **({"trust_remote_code": True} if trust else {})))
    assert seen == [("e", {"compute_dtype": "float32", "trust_remote_code": trust})]


def test_half_precision_reaches_the_encoder_and_the_request(corpora: Path, tmp_path: Path) -> None:
    sentences = prepare(prepare_settings(corpora, tmp_path / "src", True))
    where = {"sentences": sentences.url, "encoder": str(corpora / "encoder"), "device": "cpu"}
    settings = EmbedSettings(out=str(tmp_path / "vectors"), **where)
    half = settings.model_copy(update={"compute_dtype": "float16"})
    facts = describe_encoder(settings.encoder)
    with pytest.raises(InputError, match="compute_dtype float16 gains nothing on a CPU"):
        embed(half)
    with pytest.raises(InputError, match="compute_dtype float16 gains nothing on a CPU"):
        ShardModel(half, facts).load_model()  # as a worker of a cluster does
    made = embed(settings)
    assert "compute_dtype" not in made.manifest.request.configuration  # vectors of earlier versions stay what they are
    assert isinstance(start(settings, facts), Dataset)
    with pytest.raises(InputError, match="compute_dtype"):
        start(half, facts)
