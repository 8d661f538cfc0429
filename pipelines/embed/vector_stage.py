"""The second stage: sentences in, vectors out, one shard at a time on as many accelerators as there are."""

from __future__ import annotations

from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from functools import partial
from typing import NamedTuple

import apache_beam as beam

from encoder.inference import Encoder
from pipelines.datasets.dead_letters import DeadLetter
from pipelines.datasets.manifest import (
    Counters,
    Dataset,
    Shard,
    open_dataset,
)
from pipelines.datasets.work import Work, begin
from pipelines.embed.embed_settings import EmbedSettings
from pipelines.embed.shard_embedder import (
    MadeShard,
    ShardEmbedder,
    ShardToEmbed,
    describe_encoder,
    encoder_of,
    facts_of,
)
from pipelines.embed.vector_shards import EncoderIdentity, vectors_request
from pipelines.runners.progress import Phase, Watch, finished_files
from pipelines.runners.resource_hints import ask
from pipelines.runners.runner import Runner, RunnerSettings, is_cluster, run

_WEIGHT_COPIES = 2  # while they are loaded: as read, and as the model has them
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
        from apache_beam.ml.inference.base import RunInference

        from pipelines.embed.shard_model import ShardModel

        settings, facts = self.settings, self.facts
        infer = RunInference(ShardModel(settings, facts).with_no_batching())
        ask(infer, settings.accelerator, _WEIGHT_COPIES * facts.weights if settings.min_ram else None)
        made = (
            sentences
            | "AllSentences" >> beam.combiners.ToList()
            | "Pending" >> beam.FlatMap(_pending, settings, facts).with_output_types(ShardToEmbed)
            | "Spread" >> beam.Reshuffle()
            | "Each" >> beam.Map(_alone)
            | "Embed" >> infer
            | "Sort" >> beam.FlatMap(_sorted_out).with_outputs(DEAD, main=VECTORS)
        )
        vectors = (
            made[VECTORS]
            | "AllVectors" >> beam.combiners.ToList()
            | "Complete" >> beam.FlatMap(_complete, settings, facts).with_output_types(Shard)
        )
        return EmbedOutputs(vectors, made[DEAD])


class EmbedOutputs(NamedTuple):
    vectors: beam.PCollection[Shard]
    dead: beam.PCollection[DeadLetter]


def embed(
    settings: EmbedSettings,
    runner: Runner | None = None,
    *,
    encoder: Encoder | None = None,
    facts: EncoderIdentity | None = None,
    quiet: bool = True,
) -> Dataset:
    """Make the vectors dataset `settings.out`, or continue to, or find it complete.

    `encoder` is that of the settings where the caller has it in memory, `facts` what it knows of it.
    """
    if facts is None and is_cluster(runner):
        facts = describe_encoder(settings.encoder, trust_remote_code=settings.trust_remote_code)
    elif facts is None:
        encoder = encoder or encoder_of(settings)
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


def _embed_here(
    settings: EmbedSettings, facts: EncoderIdentity, encoder: Encoder | None, sentences: list[Shard]
) -> None:
    """What `Embed` does, in this process."""
    embedder = ShardEmbedder(settings, facts, encoder or encoder_of(settings))
    made = _make_all(embedder, _pending(sentences, settings, facts))
    _complete([done.shard for done in made if done is not None], settings, facts)


def _make_all(embedder: ShardEmbedder, items: list[ShardToEmbed]) -> list[MadeShard | None]:
    if embedder.shards_at_once == 1:
        return [embedder.make(item) for item in items]
    pool = ThreadPoolExecutor(embedder.shards_at_once)
    try:
        return list(pool.map(embedder.make, items))
    finally:
        pool.shutdown(cancel_futures=True)  # what has not begun when one fails, or on Ctrl-C


class EmbedAll(beam.PTransform):
    """`Embed` of all shards of a complete dataset, as the root of a pipeline."""

    def __init__(self, transform: Embed, shards: list[Shard]) -> None:
        super().__init__()
        self.transform, self.shards = transform, shards

    def expand(self, pbegin: beam.pvalue.PBegin) -> beam.PCollection[Shard]:
        return (pbegin | "Shards" >> beam.Create(self.shards) | "Embed" >> self.transform).vectors


def start(settings: EmbedSettings, facts: EncoderIdentity) -> Work | Dataset:
    """The state of the output folder; vectors of other sentences, encoder, dim or type are refused."""
    sentences = open_dataset(settings.sentences, "sentences")
    return begin(
        settings.out,
        vectors_request(sentences, settings.out, facts, settings.dtype, compute_dtype=settings.compute_dtype),
    )


def _pending(sentences: list[Shard], settings: EmbedSettings, facts: EncoderIdentity) -> list[ShardToEmbed]:
    work = start(settings, facts)
    if isinstance(work, Dataset):
        return []
    source = open_dataset(settings.sentences, "sentences")
    own_pieces = facts.text in [given.fingerprint for given in source.manifest.request.inputs]
    return [ShardToEmbed(work, source.url, source.fingerprint, own_pieces, shard) for shard in sentences]


def _alone(item: ShardToEmbed) -> list[ShardToEmbed]:
    """A batch of one: a shard is many batches of sentences already."""
    return [item]


def _sorted_out(made: MadeShard | None) -> Iterator[Shard | beam.pvalue.TaggedOutput]:
    if made is None:
        return
    made.report_counts()
    for letter in made.letters:
        yield beam.pvalue.TaggedOutput(DEAD, letter)
    yield made.shard


def _complete(shards: list[Shard], settings: EmbedSettings, facts: EncoderIdentity) -> list[Shard]:
    work = start(settings, facts)
    if isinstance(work, Dataset):
        return work.shards
    return work.complete(shards, sum((shard.counters for shard in shards), Counters())).shards


def watch_shards(name: str, work: Work, sentences: Dataset) -> Watch:
    """Progress by the notes of finished shards."""
    notes = finished_files(work.scratch("shards"), Shard)

    def state() -> list[Phase]:
        done = notes()
        return [Phase(name, len(done), len(sentences.shards), sum(shard.rows for shard in done))]

    return state
