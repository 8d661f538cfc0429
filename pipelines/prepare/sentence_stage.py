"""The first stage: raw text in, clean, distinct, numbered sentences out, in bounded shards.

Three passes with a barrier between them: blocks are cleaned into parts, duplicates are found by hash prefix, and parts
are cut into shards. Workers pass descriptors of files to each other, and hashes through the engine's shuffle. A
sentence's id is its rank among all that are kept, by input file and line: the same on every runner, for any parallelism
and any size of block. Where documents are kept, for alignment, there is no search for duplicates.
"""

from __future__ import annotations

import unicodedata
from collections.abc import Iterator, Sequence
from functools import partial
from importlib.metadata import version

import apache_beam as beam
import numpy as np
from pydantic import BaseModel, ConfigDict, JsonValue

from encoder.segment import libraries
from mining.errors import InputError
from mining.language_id import is_known, model_version
from mining.paths import compression_of, expand, resolve
from pipelines.datasets.manifest import (
    TEXT,
    Counters,
    Dataset,
    Request,
    Shard,
    file_input,
    open_dataset,
    read_model,
    write_model,
)
from pipelines.datasets.sentences import write_shard
from pipelines.datasets.work import Work, begin, new_name
from pipelines.prepare.duplicates import (
    BYTES_PER_ROW,
    DUPLICATE,
    PartRepeats,
    RepeatCounts,
    find_repeats,
    hashes_by_prefix,
    note_repeats,
    noted_repeats,
    repeats_by_part,
    write_repeats,
)
from pipelines.prepare.parts import LanguageTest, Part, write_parts
from pipelines.prepare.pieces import load_text_encoder, text_encoder_input
from pipelines.prepare.prepare_settings import PrepareSettings
from pipelines.prepare.readers import Block, cut_file, document_format, read_block
from pipelines.prepare.readers.blocks import TRUNCATED
from pipelines.prepare.shards import ShardPlan, plan_shards, shard_table
from pipelines.runners.progress import Phase, Watch, finished_files
from pipelines.runners.runner import Runner, RunnerSettings, is_cluster, run

NAMESPACE = "twinlode.prepare"
VERSION = "1"  # to be raised with every change of the code that changes which sentences there are
# For the number of hash prefixes and workers only: what a line takes, and how much text a compressed byte holds.
_BYTES_PER_LINE = 60
_EXPANSION = 4
# A worker process takes some seconds to start, and so must have more than that to do.
_SECONDS_WORTH_A_WORKER = 10


class PreparePlan(BaseModel):
    """How the work is cut; kept in the work folder, so that a rerun continues with the same pieces."""

    model_config = ConfigDict(extra="forbid", frozen=True)

    blocks: list[Block]
    part_bytes: int
    partitions: int
    workers: int


class Total(BaseModel):
    """How many shards there will be, for the progress display."""

    shards: int


class Prepare(beam.PTransform):
    """Read, clean, filter, deduplicate and shard a corpus; gives the `Shard`s of the complete dataset.

    Example::

        settings = PrepareSettings(inputs=["gs://corpus/en/*.txt.gz"], out="gs://work/en", read=ReadSettings(lang="en"))
        with beam.Pipeline() as pipeline:
            shards = pipeline | Prepare(settings)
            shards | beam.Map(lambda shard: print(shard.name, shard.rows))

    The root of a pipeline. A folder that holds the same dataset already is not made again.
    """

    def __init__(self, settings: PrepareSettings) -> None:
        super().__init__()
        self.settings = settings

    def expand(self, pbegin: beam.pvalue.PBegin) -> beam.PCollection[Shard]:
        work = start(self.settings)
        if isinstance(work, Dataset):
            return pbegin | "Finished" >> beam.Create(work.shards)
        return pbegin | "Make" >> MakeSentences(self.settings, work, make_plan(self.settings, work))


class MakeSentences(beam.PTransform):
    """`Prepare` for a work folder that was begun and planned.

    Without `shuffle` one worker finds all duplicates, on its disk: the engine of a local run would group in memory.
    """

    def __init__(self, settings: PrepareSettings, work: Work, plan: PreparePlan, *, shuffle: bool = True) -> None:
        super().__init__()
        self.settings, self.work, self.plan, self.shuffle = settings, work, plan, shuffle

    def expand(self, pbegin: beam.pvalue.PBegin) -> beam.PCollection[Shard]:
        settings, work, plan = self.settings, self.work, self.plan
        parts = (
            pbegin
            | "Blocks" >> beam.Create(plan.blocks)
            | "SpreadBlocks" >> beam.Reshuffle()
            | "Clean" >> beam.ParDo(CleanBlock(settings, work, plan)).with_output_types(Part)
        )
        all_parts = parts | "AllParts" >> beam.combiners.ToList()
        repeats = beam.pvalue.AsSingleton(self._repeats(parts, all_parts))
        shards = (
            all_parts
            | "PlanShards" >> beam.FlatMap(_plan_shards, settings, work, plan, repeats).with_output_types(ShardPlan)
            | "SpreadShards" >> beam.Reshuffle()
            | "Write" >> beam.ParDo(WriteShard(settings, work)).with_output_types(Shard)
        )
        complete = beam.FlatMap(_complete, work, repeats, beam.pvalue.AsList(shards))
        return all_parts | "Complete" >> complete.with_output_types(Shard)

    def _repeats(
        self, parts: beam.PCollection[Part], all_parts: beam.PCollection[list[Part]]
    ) -> beam.PCollection[RepeatCounts]:
        """What is known before the job begins: to look for it here or there must not change while it runs."""
        work, known = self.work, noted_repeats(self.work)
        if known is not None or not self.plan.partitions:
            return all_parts | "NoSearch" >> beam.Map(_known_repeats, known)
        if not self.shuffle:
            return all_parts | "Deduplicate" >> beam.Map(_find_repeats, work, self.plan.partitions)
        found = (
            parts
            | "Hashes" >> beam.FlatMap(hashes_by_prefix, work, self.plan.partitions)
            | "ByPrefix" >> beam.GroupByKey()
            | "Deduplicate" >> beam.FlatMap(repeats_by_part)
            | "ByPart" >> beam.GroupByKey()
            | "WriteRepeats" >> beam.Map(write_repeats, work).with_output_types(PartRepeats)
        )
        return all_parts | "AllRepeats" >> beam.Map(_note_repeats, work, beam.pvalue.AsList(found))


class CleanBlock(beam.DoFn):
    """A block to its parts."""

    def __init__(self, settings: PrepareSettings, work: Work, plan: PreparePlan) -> None:
        self.settings, self.work, self.plan = settings, work, plan

    def process(self, block: Block) -> Iterator[Part]:
        batches = read_block(block, self.settings.read)
        plan, language = self.plan, language_test(self.settings)
        documents = self.settings.documents
        for part in write_parts(self.work, block.index, batches, language, plan.part_bytes, documents=documents):
            _count("rows_in", part.counters.rows_in)
            for reason, rows in part.counters.dropped.items():
                _count(f"dropped_{reason}", rows)
            yield part


class WriteShard(beam.DoFn):
    """A planned shard to a Parquet file, unless it is there already."""

    def __init__(self, settings: PrepareSettings, work: Work) -> None:
        self.settings, self.work = settings, work

    def setup(self) -> None:
        self._encoder = None if self.settings.encoder is None else load_text_encoder(self.settings.encoder)

    def process(self, planned: ShardPlan) -> Iterator[Shard]:
        shard = self.work.finished(planned.index)
        if shard is None:
            lang, documents = self.settings.read.lang, self.settings.documents
            table = shard_table(self.work, planned, lang, self._encoder, documents=documents)
            name = new_name(planned.index, "parquet")
            digest = write_shard(self.work.place(name), table)
            shard = self.work.note(Shard(index=planned.index, name=name, rows=len(table), digest=digest))
            _count("sentences", shard.rows)
        yield shard


def prepare(settings: PrepareSettings, runner: Runner | None = None, *, quiet: bool = True) -> Dataset:
    """Make the dataset `settings.out`, or continue to, or find it complete.

    Example::

        prepare(PrepareSettings(inputs=["en/*.txt.gz"], out="work/en", read=ReadSettings(lang="en")))
    """
    work = start(settings)
    if isinstance(work, Dataset):
        return _as_whole_as_asked(work, settings)
    with work.alone():
        plan = make_plan(settings, work)
        run(
            partial(MakeSentences, settings, work, plan, shuffle=is_cluster(runner)),
            runner or RunnerSettings(),
            workers=plan.workers,
            watch=None if quiet else _watch(work, plan),
            here=partial(_prepare_here, settings, work, plan),
        )
    return _as_whole_as_asked(open_dataset(settings.out, "sentences"), settings)


def _as_whole_as_asked(dataset: Dataset, settings: PrepareSettings) -> Dataset:
    """The dataset, unless it was made with less than whole archives, which were allowed then and are not now."""
    damaged = dataset.manifest.counters.dropped.get(TRUNCATED, 0)
    if damaged and settings.read.truncated == "stop":
        raise InputError(
            f"{dataset.url} was made with --truncated keep, of {damaged} archives that are cut off or corrupt; "
            "give that again, or delete the folder and fetch the archives again"
        )
    return dataset


def _prepare_here(settings: PrepareSettings, work: Work, plan: PreparePlan) -> None:
    """What `MakeSentences` does, in this process."""
    clean, write = CleanBlock(settings, work, plan), WriteShard(settings, work)
    parts = [part for block in plan.blocks for part in clean.process(block)]
    known = noted_repeats(work)
    if known is None and plan.partitions:
        repeats = _find_repeats(parts, work, plan.partitions)
    else:
        repeats = _known_repeats(parts, known)
    write.setup()
    planned = _plan_shards(parts, settings, work, plan, repeats)
    _complete(parts, work, repeats, [shard for one in planned for shard in write.process(one)])


def start(settings: PrepareSettings) -> Work | Dataset:
    """Find the inputs and the state of the output folder; wrong settings fail here, before any work."""
    inputs = [file_input(url) for url in expand(settings.inputs)]
    language_test(settings)
    # Always `stop`: `keep` changes nothing of whole archives, and where one is not, it is what we tell to try next.
    asked = settings.model_copy(update={"read": settings.read.model_copy(update={"truncated": "stop"})})
    configuration: dict[str, JsonValue] = asked.model_dump(
        mode="json", include={"read", "lang_filter", "lang_probability", "rows_per_shard"}
    )
    if settings.documents:
        configuration["documents"] = True
    if settings.encoder is not None:
        inputs.append(text_encoder_input(settings.encoder))
    request = Request(kind="sentences", configuration=configuration, inputs=inputs, versions=_versions(settings))
    return begin(settings.out, request)


def _versions(settings: PrepareSettings) -> dict[str, str]:
    """What decides, beside the settings and inputs, which sentences there are and how they are cut."""
    versions = {"prepare": VERSION, "unicode": unicodedata.unidata_version}
    if settings.lang_filter == "detect":
        versions["language id"] = model_version()
    if settings.encoder is not None:
        segmented = load_text_encoder(settings.encoder).settings.segment
        for name in ("sentencepiece", *(libraries(settings.read.lang) if segmented else ())):
            versions[name] = version(name)
    return versions


def language_test(settings: PrepareSettings) -> LanguageTest | None:
    """The language filter, None where the language is taken on trust."""
    lang = settings.read.lang
    if settings.lang_filter == "assume":
        return None
    if not is_known(lang):
        raise InputError(f"the language detector does not know {lang}; say --lang-filter assume to trust it")
    return LanguageTest(lang, settings.lang_probability)


def make_plan(settings: PrepareSettings, work: Work) -> PreparePlan:
    """The plan of the work folder: the one it was begun with, or a new one."""
    url = work.scratch("plan.json")
    plan = read_model(url, PreparePlan)
    if plan is None:
        blocks: list[Block] = []
        size = 0
        for file in expand(settings.inputs):
            read = settings.read
            if settings.documents:
                read = read.model_copy(update={"format": document_format(file, read)})
            blocks += cut_file(file, read, settings.block_bytes, len(blocks))
            size += _text_bytes(file)
        lines = size / _BYTES_PER_LINE
        shares = lines * BYTES_PER_ROW / (settings.memory_mb * 2**20)
        plan = PreparePlan(
            blocks=blocks,
            part_bytes=settings.block_bytes,
            partitions=0 if settings.documents else 1 << int(np.ceil(np.log2(max(shares, 1)))),
            workers=_workers(settings, lines, blocks),
        )
        write_model(url, plan)
    return plan


def _workers(settings: PrepareSettings, lines: float, blocks: list[Block]) -> int:
    if any(url.startswith("memory://") for url in [settings.out, *(block.url for block in blocks)]):
        return 1  # what one process has in memory no other can read
    return min(1 + int(lines * _seconds_per_line(settings) / _SECONDS_WORTH_A_WORKER), len(blocks))


def _seconds_per_line(settings: PrepareSettings) -> float:
    """Roughly, on one core: reading and cleaning, naming the language, cutting into subwords."""
    return 4e-6 + 9e-6 * (settings.lang_filter == "detect") + 10e-6 * (settings.encoder is not None)


def _text_bytes(url: str) -> int:
    filesystem, path = resolve(url)
    return int(filesystem.size(path)) * (_EXPANSION if compression_of(url) else 1)


def _find_repeats(parts: list[Part], work: Work, partitions: int) -> RepeatCounts:
    return note_repeats(find_repeats(parts, work, partitions), parts, work)


def _note_repeats(parts: list[Part], work: Work, found: list[PartRepeats]) -> RepeatCounts:
    return note_repeats(found, parts, work)


def _known_repeats(parts: list[Part], known: RepeatCounts | None) -> RepeatCounts:
    """As noted by an earlier run; none where there was no search."""
    return known or RepeatCounts(rows=[0] * len(parts))


def _plan_shards(
    parts: list[Part], settings: PrepareSettings, work: Work, plan: PreparePlan, repeats: RepeatCounts
) -> list[ShardPlan]:
    in_order = sorted(parts, key=lambda part: part.order)
    planned = plan_shards(in_order, plan.blocks, repeats.rows, settings.rows_per_shard)
    write_model(work.scratch("total", "shards.json"), Total(shards=len(planned)))
    return planned


def _complete(parts: list[Part], work: Work, repeats: RepeatCounts, shards: list[Shard]) -> list[Shard]:
    read = sum((part.counters for part in parts), Counters())
    duplicates = sum(repeats.rows)
    removed = Counters(kept=-duplicates, dropped={DUPLICATE: duplicates} if duplicates else {})
    counters = read + removed
    if counters.kept == 0:
        work.abandon()
        files = [given.name for given in work.request.inputs if given.role == TEXT]
        raise InputError(nothing_left(files, counters))
    return work.complete(shards, counters).shards


def nothing_left(files: Sequence[str], counters: Counters) -> str:
    """Why no sentence is left of the files."""
    names = ", ".join(files[:3])
    if not counters.rows_in:
        return f"there is no sentence in {names}; the files are empty"
    took = ", ".join(f"{reason} took {rows}" for reason, rows in sorted(counters.dropped.items(), key=lambda x: -x[1]))
    return f"no sentence of the {counters.rows_in} in {names} is left: {took}; check the language, format and column"


def _count(name: str, value: int) -> None:
    beam.metrics.Metrics.counter(NAMESPACE, name).inc(value)


def _watch(work: Work, plan: PreparePlan) -> Watch:
    """Progress by what is on disk: parts, then shards."""
    parts = finished_files(work.scratch("parts"), Part)
    shards = finished_files(work.scratch("shards"), Shard)
    total = finished_files(work.scratch("total"), Total)

    def state() -> list[Phase]:
        made, written, planned = parts(), shards(), total()
        whole = sum(part.last for part in made)
        read = sum(part.counters.rows_in for part in made)
        return [
            Phase("read and clean", whole, len(plan.blocks), read, "blocks"),
            Phase(
                "write",
                len(written),
                planned[0].shards if planned else None,
                sum(shard.rows for shard in written),
                "shards",
            ),
        ]

    return state
