"""Why a pair has its score: what speaks for and against the first pairs of a file, by the pair classifier."""

from __future__ import annotations

import json
from contextlib import suppress
from typing import Any, NamedTuple
from warnings import catch_warnings, filterwarnings

import pyarrow as pa
import pyarrow.compute as pc

from mining.errors import InputError
from mining.pair_formats import Format
from mining.paths import exists
from mining.retrieval import Retrieval
from mining.scoring.classifier import Contribution, Use
from pipelines.clean.bitext_chunks import OWN, read_chunks
from pipelines.clean.bitext_languages import with_languages
from pipelines.clean.bitext_rows import BitextSettings
from pipelines.clean.clean_stage import CleanSettings, load_scorer
from pipelines.datasets.manifest import MANIFEST, Dataset, join, open_dataset
from pipelines.mine.rescored_graph import rescoring_by
from pipelines.mine.work_folder import open_mine

_PARTS = 8  # the strongest
_UNNAMED = "a language cannot be told from the pairs; without --src-lang and --tgt-lang words are cut as in English"


class ExplainedPair(NamedTuple):
    """A pair, and what moves the log odds that it is right."""

    line: int
    source: str
    target: str
    given: float | None  # the score that the file has for it
    log_odds: float
    parts: list[Contribution]


def explain_pairs(
    bitext: BitextSettings, encoder: str, most: int, classifier: str | None = None
) -> list[ExplainedPair]:
    """The first `most` pairs; margins and rivals are those of the first chunk.

    Pairs that have a score were mined, and are explained as `mine` judges candidates; others as `clean` judges pairs.
    The log odds are those where half of all pairs are right; the parts of a pair add up to them, but for what all
    pairs have in common and, of mined pairs, a little of the margin.
    """
    chunk = next(read_chunks(bitext), None)
    pairs = None if chunk is None else chunk.filter(pc.is_null(chunk["reason"]))
    if pairs is None or not len(pairs):
        raise InputError(f"{bitext.path}: no pairs in it to explain")
    scorer = load_scorer(CleanSettings(bitext=bitext, encoder=encoder, classifier=classifier, work="")).scorer
    texts = [pairs[side].to_pylist() for side in ("source", "target")]
    with catch_warnings():
        filterwarnings("ignore", "without lang=")  # a note says it
        features = scorer.features(*texts)[:most]
    given = given_scores(pairs[:most], bitext.kind)
    use = Use.cleaning if given.count(None) == len(given) else Use.mining
    ratios = scorer.classifier.log_ratios(features, use).tolist()
    parts = scorer.classifier.explain(features, use, most=_PARTS)
    return list(map(ExplainedPair, pairs["line"].to_pylist(), *texts, given, ratios, parts))


def given_scores(rows: pa.Table, kind: Format) -> list[float | None]:
    """The scores of `mine` that rows of a file come with."""
    if OWN in rows.column_names:
        return [_number(row.get("score")) for row in rows[OWN].to_pylist()]
    read = {Format.TSV: _before_texts, Format.JSONL: _in_object}.get(kind)
    return [None if read is None or record is None else read(record) for record in rows["record"].to_pylist()]


def _before_texts(record: str) -> float | None:
    """In the first of three columns or more."""
    cells = record.split("\t")
    return _number(cells[0]) if len(cells) > 2 else None


def _in_object(record: str) -> float | None:
    entry = json.loads(record)
    return _number(entry.get("score")) if isinstance(entry, dict) else None


def _number(value: Any) -> float | None:
    with suppress(TypeError, ValueError):
        return float(value)
    return None


class PairsFile(NamedTuple):
    """A file of pairs, the first shard where it is of a pairs dataset."""

    url: str
    dataset: Dataset | None = None

    def with_languages(self, bitext: BitextSettings) -> tuple[BitextSettings, list[str]]:
        """With the languages that nobody names: those of the mine, or as `clean` tells them; and notes for a person."""
        if self.dataset is not None:
            mine = open_mine(self.dataset.url, self.dataset.url)
            known = bitext.src_lang or mine.source.lang or None, bitext.tgt_lang or mine.target.lang or None
            bitext = bitext.model_copy(update={"src_lang": known[0], "tgt_lang": known[1]})
        bitext, notes = with_languages(bitext)
        return bitext, notes if bitext.src_lang and bitext.tgt_lang else [*notes, _UNNAMED]

    def doubts(self, encoder: str, classifier: str | None) -> list[str]:
        """Notes where this classifier is not what gave the pairs of a dataset their score."""
        if self.dataset is None:
            return []
        rescored = self.dataset.manifest.request.configuration.get("rescore")
        if not isinstance(rescored, dict):
            return ["these scores are margins: no classifier scored the candidates of this mine again"]
        found = rescoring_by(encoder, Retrieval.max, None, classifier)
        if isinstance(found, str) or found.version == rescored["version"]:
            return []
        return ["another pair classifier gave these scores; name it with --classifier, and its encoder with --encoder"]


def pairs_file(url: str) -> PairsFile:
    if not exists(join(url, MANIFEST)):
        return PairsFile(url)
    dataset = open_dataset(url, "pairs")
    if not dataset.shards:
        raise InputError(f"{url}: no pairs in it to explain")
    return PairsFile(dataset.shard_url(dataset.shards[0]), dataset)
