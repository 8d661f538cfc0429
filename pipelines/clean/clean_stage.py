"""Cleaning a bitext: chunks on disk, scored by workers, one threshold for all of them, kept and rejected rows out.

Memory is one chunk on each core of a worker and a histogram here, whatever the size of the bitext.
"""

from __future__ import annotations

from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from functools import partial
from typing import NamedTuple

import apache_beam as beam
import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.parquet as pq
from apache_beam.utils.shared import Shared

from encoder.inference import Encoder
from mining.errors import InputError
from mining.files import atomic_writer, open_binary
from mining.scoring.classifier import PairClassifier
from mining.scoring.prior import Mixture, Point, Ratios, fit_mixture, threshold_for
from mining.threads import core_count
from pipelines.clean.bitext_chunks import count_reasons, read_chunks
from pipelines.clean.bitext_rows import BitextSettings
from pipelines.clean.chunk_scores import Scorer, score_chunk
from pipelines.clean.clean_settings import CleanSettings
from pipelines.clean.probe_check import Check, SeedPairs, check, divide, with_probes
from pipelines.mine.rescoring import SideTexts, find_classifier, require_encoder, seed_lexicon
from pipelines.runners.runner import Runner, RunnerSettings, run

UNLIKELY = "unlikely"  # the reason of what the classifier rejects


class Cleaned(NamedTuple):
    """What became of every row: `rows` = `kept` + the rejected of all reasons."""

    rows: int
    kept: int
    share: float  # of the scored pairs that are right, estimated
    point: Point
    reasons: dict[str, tuple[int, list[int]]]  # how many, and the first line numbers
    chunks: list[str]
    probes: Check


class ScoreChunk(beam.DoFn):
    """The file of a chunk to the file of the scored chunk."""

    def __init__(self, settings: CleanSettings) -> None:
        self.settings = settings
        self.shared = Shared()

    def setup(self) -> None:
        self._loaded = self.shared.acquire(partial(load_scorer, self.settings), tag=self.settings.model_dump_json())

    def process(self, number: int) -> Iterator[int]:
        _score_file(self.settings, self._loaded, number)
        yield number


class Clean(beam.PTransform):
    """Numbers of chunks in the work folder to those of scored chunks."""

    def __init__(self, settings: CleanSettings, chunks: list[int]) -> None:
        super().__init__()
        self.settings, self.chunks = settings, chunks

    def expand(self, root: beam.pvalue.PBegin) -> beam.PCollection[int]:
        return (
            root
            | "Chunks" >> beam.Create(self.chunks)
            | "Spread" >> beam.Reshuffle()
            | "Score" >> beam.ParDo(ScoreChunk(self.settings))
        )


@dataclass(frozen=True)
class Loaded:
    """What a worker needs; loaded once in a process."""

    scorer: Scorer
    probes: SeedPairs


def load_scorer(settings: CleanSettings) -> Loaded:
    """The encoder, a classifier that fits it, and where there are seed pairs a lexicon and probe pairs."""
    encoder, classifier = Encoder.load(settings.encoder), _classifier(settings)
    require_encoder(classifier, encoder)
    langs = settings.bitext.src_lang, settings.bitext.tgt_lang
    probes, known = _seed_pairs(settings.seed_pairs).split()
    lexicon = None
    if known.source:
        lexicon = seed_lexicon(SideTexts(known.source, langs[0]), SideTexts(known.target, langs[1]))
    return Loaded(Scorer(encoder, classifier, langs, lexicon), probes)


def _score_file(settings: CleanSettings, loaded: Loaded, number: int, threads: int | None = None) -> None:
    chunk = with_probes(_read(_chunk_url(settings, number)), loaded.probes, number)
    scores = score_chunk(chunk, loaded.scorer, settings.filters, settings.explain, threads=threads)
    scored, probes = divide(scores)
    _write(_probes_url(settings, number), probes)
    _write(_scored_url(settings, number), scored)


class ChunkFiles:
    """The chunks of a bitext, each written when its number is asked for."""

    def __init__(self, settings: CleanSettings) -> None:
        self.settings = settings
        self.count = 0

    def __iter__(self) -> Iterator[int]:
        for chunk in read_chunks(self.settings.bitext, self.settings.rows):
            _write(_chunk_url(self.settings, self.count), chunk)
            self.count += 1
            yield self.count - 1
        if not self.count:
            raise InputError(f"{self.settings.bitext.path}: no pairs in it")


def _score_here(settings: CleanSettings, chunks: ChunkFiles) -> None:
    """Chunks are scored while the next ones are read, as many at a time as there are cores, each by one thread.

    Much of the work is Python's; the kernels of one chunk run beside it of another.
    """
    loaded = load_scorer(settings)
    pool = ThreadPoolExecutor(core_count())
    try:
        for _ in pool.map(partial(_score_file, settings, loaded, threads=1), chunks):
            pass
    finally:
        pool.shutdown(cancel_futures=True)  # what is read far ahead of an error or Ctrl-C is not scored first


def _classifier(settings: CleanSettings) -> PairClassifier:
    classifier = find_classifier(settings.encoder, settings.classifier)
    if classifier is None:
        told = f"{settings.encoder}: no pair classifier in its folder; make one with train-classifier"
        raise InputError(told, code="T02")
    return classifier


def _seed_pairs(settings: BitextSettings | None) -> SeedPairs:
    known = SeedPairs([], [])
    for table in read_chunks(settings) if settings is not None else ():
        good = table.filter(pc.is_null(table["reason"]))
        known.source.extend(good["source"].to_pylist())
        known.target.extend(good["target"].to_pylist())
    return known


def clean(settings: CleanSettings, runner: Runner | None = None) -> Cleaned:
    """Score every pair of a bitext and decide which stay; the decisions are in the chunks of the work folder."""
    chunks = ChunkFiles(settings)
    run(
        lambda: Clean(settings, list(chunks)),
        runner or RunnerSettings(),
        workers=1,
        here=partial(_score_here, settings, chunks),
    )
    urls = [_scored_url(settings, number) for number in range(chunks.count)]
    ratios = Ratios.of(np.empty(0))
    for url in urls:
        ratios += Ratios.of(_log_ratios(_read(url)))
    mixture = fit_mixture(ratios, _classifier(settings).components)
    point = threshold_for(ratios, mixture, settings.precision)
    rows = kept = 0
    for url in urls:
        table = _decided(_read(url), point, mixture)
        _write(url, table)
        rows, kept = rows + len(table), kept + table["reason"].null_count
    reasons = count_reasons(_read(url).select(["line", "reason"]) for url in urls)
    probes = check((_read(_probes_url(settings, number)) for number in range(chunks.count)), point)
    return Cleaned(rows, kept, mixture.share, point, reasons, urls, probes)


def _log_ratios(table: pa.Table) -> np.ndarray:
    """Of the pairs that were scored."""
    return np.asarray(table["log_ratio"].drop_null())


def _decided(table: pa.Table, point: Point, mixture: Mixture) -> pa.Table:
    """The chunk with probabilities; pairs below the threshold get their reason."""
    values = table["log_ratio"].to_numpy()  # NaN where there is none
    scored = ~np.isnan(values)
    low = np.zeros(len(table), bool)
    low[scored] = ~point.keeps(values[scored])
    reason = pc.if_else(pa.array(low), UNLIKELY, table["reason"])
    chances = pa.array(mixture.probabilities(values), pa.float32(), from_pandas=True)
    return table.set_column(table.schema.get_field_index("reason"), "reason", reason).append_column(
        "probability", chances
    )


def _chunk_url(settings: CleanSettings, number: int) -> str:
    return f"{settings.work}/chunk-{number:06d}.parquet"


def _scored_url(settings: CleanSettings, number: int) -> str:
    return f"{settings.work}/scored-{number:06d}.parquet"


def _probes_url(settings: CleanSettings, number: int) -> str:
    return f"{settings.work}/probes-{number:06d}.parquet"


def _write(url: str, table: pa.Table) -> None:
    with atomic_writer(url) as stream:
        pq.write_table(table, stream, compression="zstd")


def _read(url: str) -> pa.Table:
    with open_binary(url) as stream:
        return pq.read_table(stream)


def read_scored(cleaned: Cleaned) -> Iterator[pa.Table]:
    """The rows of all chunks, in order."""
    return map(_read, cleaned.chunks)
