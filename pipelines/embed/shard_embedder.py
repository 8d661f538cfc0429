"""An encoder that makes vector shards, for whoever calls it: this process, or the workers of a machine."""

from __future__ import annotations

import threading
import time
from contextlib import nullcontext
from dataclasses import dataclass
from typing import NamedTuple

import numpy as np
from apache_beam.metrics import Metrics

from encoder.inference import Encoder
from encoder.models import Bag
from encoder.text import TextEncoder
from mining.errors import InputError
from pipelines.datasets.dead_letters import DeadLetter, read_dead_letters, write_dead_letters
from pipelines.datasets.manifest import Shard, fingerprint, join
from pipelines.datasets.sentences import read_shard
from pipelines.datasets.work import Work, is_complete
from pipelines.embed.embed_settings import EmbedSettings
from pipelines.embed.loaded_encoders import load_encoder
from pipelines.embed.sentence_vectors import EmbeddedRows, embed_table, require_few_dead
from pipelines.embed.vector_shards import EncoderIdentity, write_vector_shard

NAMESPACE = "twinlode.embed"


@dataclass(frozen=True)
class ShardToEmbed:
    """A work item: a sentence shard, where it and its vectors belong, and whether its pieces are of this encoder."""

    work: Work
    folder: str
    text: str  # fingerprint of the sentences
    own_pieces: bool
    shard: Shard


class MadeShard(NamedTuple):
    """A vector shard with the sentences that have no vector, and what making it now took; nothing if it was there."""

    shard: Shard
    letters: list[DeadLetter]
    counts: dict[str, int]

    def report_counts(self) -> None:
        """Into Beam's metrics, by the worker that has them: an encoder may live in another process."""
        for name in ("sentences", "dead", "tokens", "padding_tokens"):
            if name in self.counts:
                Metrics.counter(NAMESPACE, name).inc(self.counts[name])
        for name in ("padding_percent", "milliseconds"):
            if name in self.counts:
                Metrics.distribution(NAMESPACE, name).update(self.counts[name])


class ShardEmbedder:
    """Makes vector shards with one encoder; takes and gives descriptors, as its caller may be another process.

    Threads that call it read and write side by side, and take turns on an accelerator.
    """

    def __init__(self, settings: EmbedSettings, facts: EncoderIdentity, encoder: Encoder) -> None:
        if encoder.fingerprint != facts.fingerprint:
            raise InputError(f"{settings.encoder} was changed while in use; start again with one that stays")
        self._settings, self._facts, self._encoder = settings, facts, encoder
        self._turn = nullcontext() if encoder.device.type == "cpu" else threading.Lock()

    @property
    def shards_at_once(self) -> int:
        """On an accelerator one shard is read or written while another is computed; a CPU has no time left for that."""
        return 1 if self._encoder.device.type == "cpu" else 2

    def make(self, item: ShardToEmbed) -> MadeShard | None:
        """The vectors of a shard of sentences; None where the dataset is complete, by another worker."""
        work = item.work
        if is_complete(work.url):  # this is a retry
            return None
        shard = work.finished(item.shard.index)
        counts: dict[str, int] = {}
        if shard is None:
            begun = time.perf_counter()
            shard, counts = self._embed(item)
            counts["milliseconds"] = int(1000 * (time.perf_counter() - begun))
        return MadeShard(shard, list(read_dead_letters(work.url, shard)), counts)

    def _embed(self, item: ShardToEmbed) -> tuple[Shard, dict[str, int]]:
        columns = ["id", "source", "line", "lang", "pieces" if item.own_pieces else "text"]
        table = read_shard(join(item.folder, item.shard.name), columns, item.shard.checksum)
        with self._turn:
            embedded = embed_table(self._encoder, table)
        require_few_dead(item.shard, embedded)
        ids = table["id"].to_numpy()[embedded.rows]
        vectors = embedded.vectors.astype(self._settings.dtype, copy=False)
        shard = write_vector_shard(item.work, item.shard.index, ids, vectors, self._facts, item.text)
        counters = write_dead_letters(item.work.url, shard.name, table, embedded.reasons)
        shard = item.work.note(shard.model_copy(update={"counters": counters}))
        return shard, _counts(embedded, self._encoder)


def _counts(embedded: EmbeddedRows, encoder: Encoder) -> dict[str, int]:
    tokens = int(embedded.lengths.sum())
    counts = {"sentences": len(embedded.rows), "dead": len(embedded.reasons), "tokens": tokens}
    if isinstance(encoder.model, Bag):  # sums ragged rows and pads nothing
        return counts
    lengths = -np.sort(-embedded.lengths[embedded.lengths > 0])
    padded = sum(int(lengths[span.start]) * (span.stop - span.start) for span in encoder.spans(lengths))
    percent = round(100 * (padded - tokens) / max(padded, 1))
    return counts | {"padding_tokens": padded - tokens, "padding_percent": percent}


def encoder_of(settings: EmbedSettings) -> Encoder:
    return load_encoder(
        settings.encoder,
        settings.device,
        settings.threads,
        compute_dtype=settings.compute_dtype,
        trust_remote_code=settings.trust_remote_code,
    )


def describe_encoder(path: str, *, trust_remote_code: bool = False) -> EncoderIdentity:
    """Load the encoder to see that it is whole and what it makes, and keep no more of it than that."""
    return facts_of(Encoder.load(path, device="cpu", trust_remote_code=trust_remote_code))


def facts_of(encoder: Encoder) -> EncoderIdentity:
    text = encoder.text
    own = fingerprint(text.settings, text.subword.model) if isinstance(text, TextEncoder) else None
    weights = sum(tensor.nbytes for tensor in encoder.model.state_dict().values())
    return EncoderIdentity(encoder.fingerprint, encoder.dim, own, weights)
