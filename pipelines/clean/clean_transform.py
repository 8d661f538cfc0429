"""Cleaning as a Beam transform: chunks of the work folder, scored by workers."""

from __future__ import annotations

from collections.abc import Iterator
from functools import partial

import apache_beam as beam
from apache_beam.utils.shared import Shared

from pipelines.clean.clean_settings import CleanSettings
from pipelines.clean.clean_stage import load_scorer, score_stored


class ScoreChunk(beam.DoFn):
    """The file of a chunk to the file of the scored chunk."""

    def __init__(self, settings: CleanSettings) -> None:
        self.settings = settings
        self.shared = Shared()

    def setup(self) -> None:
        self._loaded = self.shared.acquire(partial(load_scorer, self.settings), tag=self.settings.model_dump_json())

    def process(self, number: int) -> Iterator[int]:
        score_stored(self.settings, self._loaded, number)
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
