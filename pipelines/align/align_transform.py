"""Document pairs through the engine's shuffle: pieces of documents meet in the group that needs them."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from functools import partial

import apache_beam as beam
import numpy as np
from apache_beam.utils.shared import Shared

from encoder.inference import Encoder
from mining.alignment_words import WordProjection
from pipelines.align.document_groups import DocumentPiece, Extents, SideShard, read_pieces, wanted
from pipelines.align.group_work import PairAligner, align_group, bimax_group
from pipelines.datasets.work import Work
from pipelines.embed.loaded_encoders import load_encoder


class JoinDocuments(beam.PTransform):
    """(number of the group, all pieces of its documents), for groups of document pairs; the root of a pipeline."""

    def __init__(self, shards: list[SideShard], extents: tuple[Extents, Extents], groups: list[np.ndarray]) -> None:
        super().__init__()
        self.shards, self.extents, self.needed = shards, extents, wanted(groups)

    def expand(self, pbegin: beam.pvalue.PBegin) -> beam.PCollection[tuple[int, Iterable[DocumentPiece]]]:
        return (
            pbegin
            | "Shards" >> beam.Create(self.shards)
            | "SpreadShards" >> beam.Reshuffle()
            | "Pieces" >> beam.FlatMap(_pieces, self.extents, self.needed)
            | "Documents" >> beam.GroupByKey()
        )


def _pieces(
    shard: SideShard, extents: tuple[Extents, Extents], needed: tuple[dict[int, list[int]], dict[int, list[int]]]
) -> Iterator[tuple[int, DocumentPiece]]:
    return read_pieces(shard, extents[shard.side], needed[shard.side])


class ScoreDocuments(beam.PTransform):
    """BiMax of every pair, a file for each group."""

    def __init__(self, join: JoinDocuments, groups: list[np.ndarray], work: Work) -> None:
        super().__init__()
        self.join, self.groups, self.work = join, groups, work

    def expand(self, pbegin: beam.pvalue.PBegin) -> beam.PCollection[None]:
        return pbegin | self.join | "BiMax" >> beam.Map(bimax_group, self.groups, self.work)


class AlignDocuments(beam.PTransform):
    """The alignment of every pair, a shard for each group."""

    def __init__(self, join: JoinDocuments, groups: list[np.ndarray], work: Work, aligner: AlignerSettings) -> None:
        super().__init__()
        self.join, self.groups, self.work, self.aligner = join, groups, work, aligner

    def expand(self, pbegin: beam.pvalue.PBegin) -> beam.PCollection[None]:
        return pbegin | self.join | "Align" >> beam.ParDo(AlignGroup(self.groups, self.work, self.aligner))


class AlignerSettings:
    """What a worker needs to align documents."""

    def __init__(
        self, encoder: str, device: str, languages: tuple[str, str], projection: WordProjection, beads: int
    ) -> None:
        self.encoder, self.device = encoder, device
        self.languages, self.projection, self.beads = languages, projection, beads

    def load(self) -> Encoder:
        return load_encoder(self.encoder, self.device, 1)


class AlignGroup(beam.DoFn):
    """A group of document pairs to a shard; all threads of a worker process share one encoder."""

    def __init__(self, groups: list[np.ndarray], work: Work, settings: AlignerSettings) -> None:
        self.groups, self.work, self.settings = groups, work, settings
        self.shared = Shared()

    def setup(self) -> None:
        load: Callable[[], Encoder] = partial(AlignerSettings.load, self.settings)
        encoder = self.shared.acquire(load, tag=self.settings.encoder)
        self._aligner = PairAligner(encoder, self.settings.languages, self.settings.projection, self.settings.beads)

    def process(self, item: tuple[int, Iterable[DocumentPiece]]) -> None:
        align_group(item, self.groups, self.work, self._aligner)
