"""Cleaning a bitext: chunks on disk, scored by workers, one threshold for all of them, kept and rejected rows out.

Memory is one chunk on each core of a worker and a histogram here, whatever the size of the bitext.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import Future, ThreadPoolExecutor
from dataclasses import dataclass
from functools import cache, partial
from typing import TYPE_CHECKING, NamedTuple

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.parquet as pq

from encoder.inference import Encoder
from mining.errors import InputError
from mining.even_rows import evenly_spread
from mining.files import atomic_writer, open_binary
from mining.scoring.classifier import PairClassifier
from mining.scoring.prior import Mixture, Point, Ratios, fit_mixture, threshold_for
from mining.threads import core_count
from pipelines.clean.bitext_chunks import count_reasons, read_chunks
from pipelines.clean.bitext_rows import BitextSettings
from pipelines.clean.chunk_scores import Scorer, score_chunk
from pipelines.clean.clean_settings import CleanSettings
from pipelines.clean.planted_noise import SAMPLE, sampled, spoil
from pipelines.clean.probe_check import Check, SeedPairs, check, divide, with_probes
from pipelines.mine.rescoring import SideTexts, find_classifier, require_encoder, seed_lexicon
from pipelines.runners.runner import Runner, RunnerSettings, run

if TYPE_CHECKING:
    import apache_beam as beam

_SAMPLED = 8  # chunks, evenly spread, that pairs for planted noise come from
UNLIKELY = "unlikely"  # the reason of what the classifier rejects


class Cleaned(NamedTuple):
    """What became of every row: `rows` = `kept` + the rejected of all reasons."""

    rows: int
    kept: int
    share: float  # of the scored pairs that are right, estimated
    point: Point
    reasons: dict[str, tuple[int, list[int]]]  # how many, and the first line numbers
    chunks: list[str]
    mixture: Mixture
    probes: Check


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
    probes, known = _seed_pairs(settings.seed).split()
    lexicon = None
    if known.source:
        lexicon = seed_lexicon(SideTexts(known.source, langs[0]), SideTexts(known.target, langs[1]))
    return Loaded(Scorer(encoder, classifier, langs, lexicon), probes)


def score_stored(settings: CleanSettings, loaded: Loaded, number: int) -> None:
    """Score a chunk of the work folder."""
    _score(settings, loaded, number, _read(_chunk_url(settings, number)))


def _score(settings: CleanSettings, loaded: Loaded, number: int, chunk: pa.Table, threads: int | None = None) -> None:
    chunk = with_probes(chunk, loaded.probes, number)
    scores = score_chunk(chunk, loaded.scorer, settings.filters, settings.explain, threads=threads)
    scored, probes = divide(scores)
    _write(_probes_url(settings, number), probes)
    _write(_scored_url(settings, number), scored)


class Chunks:
    """The numbered chunks of a bitext; `count` is how many were read so far."""

    def __init__(self, settings: CleanSettings) -> None:
        self.settings = settings
        self.count = 0

    def __iter__(self) -> Iterator[tuple[int, pa.Table]]:
        for chunk in read_chunks(self.settings.bitext, self.settings.rows):
            self.count += 1
            yield self.count - 1, chunk
        if not self.count:
            raise InputError(f"{self.settings.bitext.path}: no pairs in it")

    def stored(self) -> list[int]:
        """All of them in the work folder, by number, for workers that share no memory."""
        for number, chunk in self:
            _write(_chunk_url(self.settings, number), chunk)
        return list(range(self.count))


def _score_here(settings: CleanSettings, load: Callable[[], Loaded], chunks: Chunks) -> None:
    """Chunks are scored while the next ones are read, as many at a time as there are cores, each by one thread.

    Much of the work is Python's; the kernels of one chunk run beside it of another.
    """
    loaded, cores = load(), core_count()
    waiting: deque[Future[None]] = deque()
    pool = ThreadPoolExecutor(cores)
    try:
        for number, chunk in chunks:
            waiting.append(pool.submit(_score, settings, loaded, number, chunk, 1))
            if len(waiting) > cores:  # one is read ahead: more would only take memory
                waiting.popleft().result()
        for scored in waiting:
            scored.result()
    finally:
        pool.shutdown(cancel_futures=True)  # what is left after an error or Ctrl-C is not scored first


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
    """Score every pair of a bitext and decide which stay; the scores are in the chunks of the work folder."""
    chunks, load = Chunks(settings), cache(partial(load_scorer, settings))
    run(
        lambda: _transform(settings, chunks.stored()),
        runner or RunnerSettings(),
        workers=1,
        here=partial(_score_here, settings, load, chunks),
    )
    urls = [_scored_url(settings, number) for number in range(chunks.count)]
    rows, ratios = 0, Ratios.of(np.empty(0))
    for url in urls:
        table = _read(url, ["log_ratio"])
        rows, ratios = rows + len(table), ratios + Ratios.of(_log_ratios(table))
    scorer = load().scorer
    some = [urls[place] for place in evenly_spread(len(urls), _SAMPLED).tolist()]
    planted = spoil(sampled(map(_read, some), SAMPLE // len(some)), scorer)
    mixture = fit_mixture(ratios, scorer.classifier.components, planted)
    point = threshold_for(ratios, mixture, settings.precision)
    reasons = count_reasons(_decided(_read(url, ["line", "reason", "log_ratio"]), point, mixture) for url in urls)
    kept = rows - sum(count for count, _ in reasons.values())
    probes = check((_read(_probes_url(settings, number)) for number in range(chunks.count)), point)
    return Cleaned(rows, kept, mixture.share, point, reasons, urls, mixture, probes)


def _transform(settings: CleanSettings, chunks: list[int]) -> beam.PTransform:
    from pipelines.clean.clean_transform import Clean  # Beam, which a local clean does without

    return Clean(settings, chunks)


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
        pq.write_table(table, stream, compression="zstd", use_dictionary=["reason"])  # no text is there twice


def _read(url: str, columns: Sequence[str] | None = None) -> pa.Table:
    with open_binary(url) as stream:
        return pq.read_table(stream, columns=columns)


def read_scored(cleaned: Cleaned) -> Iterator[pa.Table]:
    """The rows of all chunks, in order, with what was decided."""
    return (_decided(_read(url), cleaned.point, cleaned.mixture) for url in cleaned.chunks)
