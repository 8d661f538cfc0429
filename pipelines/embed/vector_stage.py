"""The second stage: sentences in, vectors out, one shard at a time on as many accelerators as there are."""

from __future__ import annotations

import time
from collections.abc import Iterator
from dataclasses import dataclass
from functools import partial
from typing import NamedTuple

import apache_beam as beam
import numpy as np
from apache_beam.metrics import Metrics
from apache_beam.utils.shared import Shared

from encoder.inference import Encoder
from encoder.models import Bag
from encoder.text import TextEncoder
from mining.errors import InputError
from mining.threads import core_count
from pipelines.datasets.dead_letters import DeadLetter, read_dead_letters, write_dead_letters
from pipelines.datasets.manifest import (
    Counters,
    Dataset,
    Shard,
    fingerprint,
    join,
    open_dataset,
)
from pipelines.datasets.sentences import read_shard
from pipelines.datasets.work import Work, begin, is_complete
from pipelines.embed.embed_settings import EmbedSettings
from pipelines.embed.sentence_vectors import Embedded, embed_table, require_few_dead
from pipelines.embed.vector_shards import EncoderIdentity, vectors_request, write_vector_shard
from pipelines.runners.progress import Phase, Watch, finished_files
from pipelines.runners.runner import Runner, RunnerSettings, is_cluster, run

NAMESPACE = "twinlode.embed"
VECTORS, DEAD = "vectors", "dead"


class Embed(beam.PTransform):
    """Sentence `Shard`s to vector `Shard`s, which come out when the vectors dataset is complete.

    Example::

        prepared = pipeline | Prepare(PrepareSettings(inputs=["en.txt"], out="work/en", read=ReadSettings(lang="en")))
        embedded = prepared | Embed(EmbedSettings(sentences="work/en", encoder="encoder", out="work/en-vectors"))
        embedded.vectors | beam.Map(lambda shard: print(shard.name, shard.rows))
        embedded.dead | beam.Map(lambda letter: print(letter.id, letter.reason))

    A sentence that cannot be embedded goes to the output `dead` as a `DeadLetter` with the reason, and not into the
    vectors. Shards that are finished in `out` are not made again. `facts`, where known, spare a load of the encoder.
    """

    def __init__(self, settings: EmbedSettings, facts: EncoderIdentity | None = None) -> None:
        super().__init__()
        self.settings = settings
        self.facts = facts or describe_encoder(settings.encoder)

    def expand(self, sentences: beam.PCollection[Shard]) -> EmbedOutputs:
        settings, facts = self.settings, self.facts
        embed = beam.ParDo(EmbedShard(settings, facts))
        if settings.accelerator:
            embed.with_resource_hints(accelerator=settings.accelerator)
        made = (
            sentences
            | "AllSentences" >> beam.combiners.ToList()
            | "Pending" >> beam.FlatMap(_pending, settings, facts).with_output_types(ShardToEmbed)
            | "Spread" >> beam.Reshuffle()
            | "Embed" >> embed.with_outputs(DEAD, main=VECTORS)
        )
        vectors = (
            made[VECTORS]
            | "AllVectors" >> beam.combiners.ToList()
            | "Complete" >> beam.FlatMap(_complete, settings, facts).with_output_types(Shard)
        )
        return EmbedOutputs(vectors, made[DEAD])


@dataclass(frozen=True)
class ShardToEmbed:
    """A work item: a sentence shard, where it and its vectors belong, and whether its pieces are of this encoder."""

    work: Work
    folder: str
    text: str  # fingerprint of the sentences
    own_pieces: bool
    shard: Shard


class EmbedOutputs(NamedTuple):
    vectors: beam.PCollection[Shard]
    dead: beam.PCollection[DeadLetter]


class EmbedShard(beam.DoFn):
    """A sentence shard to a vector file; all threads of a worker process share one encoder."""

    def __init__(self, settings: EmbedSettings, facts: EncoderIdentity) -> None:
        self.settings, self.facts = settings, facts
        self.shared = Shared()

    def setup(self) -> None:
        load = partial(encoder_of, self.settings)
        self.use(self.shared.acquire(load, tag=self.facts.fingerprint))

    def use(self, encoder: Encoder) -> None:
        if encoder.fingerprint != self.facts.fingerprint:
            raise InputError(f"{self.settings.encoder} was changed while in use; start again with one that stays")
        self._encoder = encoder

    def process(self, item: ShardToEmbed) -> Iterator[Shard | beam.pvalue.TaggedOutput]:
        work = item.work
        if is_complete(work.url):  # by another worker: this is a retry
            return
        shard = work.finished(item.shard.index)
        if shard is None:
            begun = time.perf_counter()
            shard = self._make(item)
            Metrics.distribution(NAMESPACE, "milliseconds").update(int(1000 * (time.perf_counter() - begun)))
        for letter in read_dead_letters(work.url, shard):
            yield beam.pvalue.TaggedOutput(DEAD, letter)
        yield shard

    def _make(self, item: ShardToEmbed) -> Shard:
        columns = ["id", "source", "line", "lang", "pieces" if item.own_pieces else "text"]
        table = read_shard(join(item.folder, item.shard.name), columns, item.shard.checksum)
        embedded = embed_table(self._encoder, table)
        require_few_dead(item.shard, embedded)
        ids = table["id"].to_numpy()[embedded.rows]
        vectors = embedded.vectors.astype(self.settings.dtype, copy=False)
        shard = write_vector_shard(item.work, item.shard.index, ids, vectors, self.facts, item.text)
        counters = write_dead_letters(item.work.url, shard.name, table, embedded.reasons)
        _count(embedded, self._encoder)
        return item.work.note(shard.model_copy(update={"counters": counters}))


def embed(
    settings: EmbedSettings, runner: Runner | None = None, *, encoder: Encoder | None = None, quiet: bool = True
) -> Dataset:
    """Make the vectors dataset `settings.out`, or continue to, or find it complete.

    `encoder` is that of the settings where the caller has it in memory.
    """
    encoder = encoder or encoder_of(settings, runner)
    facts = facts_of(encoder)
    work = start(settings, facts)
    if isinstance(work, Dataset):
        return work
    sentences = open_dataset(settings.sentences, "sentences")
    with work.alone():
        run(
            lambda: EmbedAll(Embed(settings, facts), sentences.shards),
            runner or RunnerSettings(),
            workers=1,  # an encoder takes memory once, and its own threads fill the cores
            watch=None if quiet else watch_shards("embed", work, sentences),
            here=partial(_embed_here, settings, facts, encoder, sentences.shards),
        )
    return open_dataset(settings.out, "vectors")


def _embed_here(settings: EmbedSettings, facts: EncoderIdentity, encoder: Encoder, sentences: list[Shard]) -> None:
    """What `Embed` does, in this process."""
    step = EmbedShard(settings, facts)
    step.use(encoder)
    made = [shard for item in _pending(sentences, settings, facts) for shard in step.process(item)]
    _complete([shard for shard in made if isinstance(shard, Shard)], settings, facts)


class EmbedAll(beam.PTransform):
    """`Embed` of all shards of a complete dataset, as the root of a pipeline."""

    def __init__(self, transform: Embed, shards: list[Shard]) -> None:
        super().__init__()
        self.transform, self.shards = transform, shards

    def expand(self, pbegin: beam.pvalue.PBegin) -> beam.PCollection[Shard]:
        return (pbegin | "Shards" >> beam.Create(self.shards) | "Embed" >> self.transform).vectors


def load_encoder(
    path: str,
    device: str,
    threads: int | None,
    runner: Runner | None = None,
    *,
    trust_remote_code: bool = False,
) -> Encoder:
    """The encoder to embed with; where the runner's machines do that, one to look at, which needs no device."""
    return Encoder.load(
        path, "cpu" if is_cluster(runner) else device, threads or core_count(), trust_remote_code=trust_remote_code
    )


def encoder_of(settings: EmbedSettings, runner: Runner | None = None) -> Encoder:
    trust = settings.trust_remote_code
    return load_encoder(settings.encoder, settings.device, settings.threads, runner, trust_remote_code=trust)


def describe_encoder(path: str) -> EncoderIdentity:
    """Load the encoder once to see that it is whole and what it makes."""
    return facts_of(Encoder.load(path, device="cpu"))


def facts_of(encoder: Encoder) -> EncoderIdentity:
    text = encoder.text
    own = fingerprint(text.settings, text.subword.model) if isinstance(text, TextEncoder) else None
    return EncoderIdentity(encoder.fingerprint, encoder.dim, own)


def start(settings: EmbedSettings, facts: EncoderIdentity) -> Work | Dataset:
    """The state of the output folder; vectors of other sentences, encoder, dim or type are refused."""
    sentences = open_dataset(settings.sentences, "sentences")
    return begin(settings.out, vectors_request(sentences, settings.out, facts, settings.dtype))


def _pending(sentences: list[Shard], settings: EmbedSettings, facts: EncoderIdentity) -> list[ShardToEmbed]:
    work = start(settings, facts)
    if isinstance(work, Dataset):
        return []
    source = open_dataset(settings.sentences, "sentences")
    own_pieces = facts.text in [given.fingerprint for given in source.manifest.request.inputs]
    return [ShardToEmbed(work, source.url, source.fingerprint, own_pieces, shard) for shard in sentences]


def _complete(shards: list[Shard], settings: EmbedSettings, facts: EncoderIdentity) -> list[Shard]:
    work = start(settings, facts)
    if isinstance(work, Dataset):
        return work.shards
    return work.complete(shards, sum((shard.counters for shard in shards), Counters())).shards


def _count(embedded: Embedded, encoder: Encoder) -> None:
    tokens = int(embedded.lengths.sum())
    Metrics.counter(NAMESPACE, "sentences").inc(len(embedded.rows))
    Metrics.counter(NAMESPACE, "dead").inc(len(embedded.reasons))
    Metrics.counter(NAMESPACE, "tokens").inc(tokens)
    if isinstance(encoder.model, Bag):  # sums ragged rows and pads nothing
        return
    lengths = -np.sort(-embedded.lengths[embedded.lengths > 0])
    padded = sum(int(lengths[span.start]) * (span.stop - span.start) for span in encoder.spans(lengths))
    Metrics.counter(NAMESPACE, "padding_tokens").inc(padded - tokens)
    Metrics.distribution(NAMESPACE, "padding_percent").update(round(100 * (padded - tokens) / max(padded, 1)))


def watch_shards(name: str, work: Work, sentences: Dataset) -> Watch:
    """Progress by the notes of finished shards."""
    notes = finished_files(work.scratch("shards"), Shard)

    def state() -> list[Phase]:
        done = notes()
        return [Phase(name, len(done), len(sentences.shards), sum(shard.rows for shard in done))]

    return state
