"""Which pairs a person is shown: as many from every score band, in an order that visits all bands again and again."""

from __future__ import annotations

import numpy as np
import pyarrow as pa
from pydantic import BaseModel, ConfigDict

from mining.errors import InputError
from pipelines.datasets.manifest import fingerprint, join, read_model, write_model
from pipelines.mine.pair_stage import pair_batches
from pipelines.mine.work_folder import FinishedMine
from pipelines.report.bands import sample_bands, score_bands
from pipelines.report.figures import TEXTS, scores_of

SAMPLE = "sample.json"
_SEED = 0
_BANDS = 10
_FEWEST = 20  # pairs of a band


class SampledPair(BaseModel):
    """A pair to be judged; the key is of its texts, so that it names the same pair in any file."""

    model_config = ConfigDict(extra="forbid", frozen=True)

    key: str
    band: int
    score: float
    src: str
    tgt: str


class ReviewSample(BaseModel):
    """The pairs to be judged in order, and how many pairs each score band has in all."""

    model_config = ConfigDict(extra="forbid", frozen=True)

    pairs: str  # the fingerprint of the pairs dataset
    langs: tuple[str, str]
    counts: list[int]
    sampled: list[SampledPair]


def open_sample(mine: FinishedMine, folder: str, size: int) -> ReviewSample:
    """The sample of an earlier session, or a new one; marks of other pairs than the present ones are left alone."""
    url = join(folder, SAMPLE)
    found = read_model(url, ReviewSample)
    if found is None:
        found = draw(mine, size)
        write_model(url, found)
    if sum(found.counts) != mine.pairs.rows and found.pairs == mine.pairs.fingerprint:
        raise InputError(f"{url}: damaged: it counts other pairs than there are; move it away to draw another sample")
    if found.pairs != mine.pairs.fingerprint:
        raise InputError(
            f"{folder} holds a review of other pairs (fingerprint {found.pairs}) than {mine.pairs.url} (fingerprint "
            f"{mine.pairs.fingerprint}); move that folder away to review these"
        )
    return found


def draw(mine: FinishedMine, size: int) -> ReviewSample:
    """At most `size` pairs, stratified by score."""
    scores = scores_of(mine.pairs)
    if not len(scores):
        raise InputError(f"{mine.pairs.url}: there are no pairs to review")
    bands = score_bands(scores, _BANDS, _FEWEST)
    numbers = bands.of(scores)
    rng = np.random.default_rng(_SEED)
    chosen = in_turns(sample_bands(numbers, len(bands.counts), size, rng), numbers, rng)
    texts = _texts(mine, chosen)
    sampled = [
        SampledPair(key=fingerprint(*pair), band=int(numbers[row]), score=float(scores[row]), src=pair[0], tgt=pair[1])
        for row, pair in zip(chosen.tolist(), texts, strict=True)
    ]
    langs = mine.source.lang, mine.target.lang
    return ReviewSample(
        pairs=mine.pairs.fingerprint,
        langs=langs,
        counts=bands.counts.tolist(),
        sampled=sampled,
    )


def in_turns(rows: np.ndarray, numbers: np.ndarray, rng: np.random.Generator) -> np.ndarray:
    """Rows reordered so that any first part of them has about the same number of each band."""
    shuffled = rng.permutation(rows)
    order = np.argsort(numbers[shuffled], kind="stable")
    turns = np.empty(len(rows), np.int64)
    bands = numbers[shuffled][order]
    turns[order] = np.arange(len(rows)) - np.searchsorted(bands, bands)
    # Within a turn at random, or the order would tell the score.
    return shuffled[np.lexsort((rng.random(len(rows)), turns))]


def _texts(mine: FinishedMine, rows: np.ndarray) -> list[tuple[str, str]]:
    found: dict[int, tuple[str, str]] = {}
    first = 0
    for batch in pair_batches(mine.pairs):
        inside = rows[(rows >= first) & (rows < first + len(batch))]
        some = batch.take(pa.array(inside - first))
        pairs = zip(*(some[name].to_pylist() for name in TEXTS), strict=True)
        found |= dict(zip(inside.tolist(), pairs, strict=True))
        first += len(batch)
    return [found[row] for row in rows.tolist()]
