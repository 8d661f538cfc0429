"""What every filter is: settings, a score per pair, and which scores are good enough."""

from __future__ import annotations

from typing import ClassVar, NamedTuple

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray
from pydantic import BaseModel, ConfigDict


class TextPairs(NamedTuple):
    """A batch of pairs as filters see it; an unknown language is None, and no filter judges by it."""

    src: pa.Array
    tgt: pa.Array
    src_lang: str | None
    tgt_lang: str | None

    def sides(self) -> tuple[tuple[pa.Array, str | None], tuple[pa.Array, str | None]]:
        return (self.src, self.src_lang), (self.tgt, self.tgt_lang)

    def take(self, rows: NDArray[np.int64]) -> TextPairs:
        return self._replace(src=self.src.take(pa.array(rows)), tgt=self.tgt.take(pa.array(rows)))


class PairFilter(BaseModel):
    """A filter is `score` and `accept`; its reason is the counter that a dropped pair adds to."""

    model_config = ConfigDict(extra="forbid", frozen=True)
    reason: ClassVar[str]

    def score(self, pairs: TextPairs) -> NDArray:
        """One row per pair: a number, or one number per side."""
        raise NotImplementedError

    def accept(self, scores: NDArray) -> NDArray[np.bool_]:
        """Which scores are good enough."""
        raise NotImplementedError


def base_language(language: str | None) -> str | None:
    """The language without script or region: zh-Hant, zh_TW and ZH are zh."""
    return language.replace("_", "-").split("-")[0].lower() if language else None
