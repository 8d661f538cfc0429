"""One review: the sample, the marks, and what follows from them, as the page asks for it."""

from __future__ import annotations

import threading
from pathlib import Path
from typing import Any

from mining.errors import InputError
from mining.files import require_writable
from mining.paths import local_path
from pipelines.datasets.manifest import join
from pipelines.mine.review_result import REVIEW, ReviewResult
from pipelines.mine.work_folder import FinishedMine, find_mines
from pipelines.report.figures import scores_of
from pipelines.review.estimate import estimate
from pipelines.review.marks import MARKS, Marks, Verdict
from pipelines.review.review_sample import open_sample

FOLDER = "review"
_WANTED = 0.9


class Session:
    """Marks go to `review/marks.jsonl` of the work folder, the result to `review.json`, at every key press."""

    def __init__(self, workdir: str, size: int, wanted: float | None = None) -> None:
        """`wanted` is the precision to reach; that of the review so far, or 0.9, if not given."""
        mine, folder = the_mine(workdir), review_folder(workdir)
        require_writable(join(mine.folder, REVIEW))
        before = ReviewResult.read(mine.folder, mine.pairs.fingerprint)
        self.mine, self.wanted = mine, wanted or (before.wanted if before else _WANTED)
        self.sample = open_sample(mine, folder, size)
        self.marks = Marks(Path(folder) / MARKS)
        self._scores = scores_of(mine.pairs)
        self._keys = {pair.key for pair in self.sample.sampled}
        self._lock = threading.Lock()
        self.result = self._conclude()

    @property
    def result_url(self) -> str:
        return join(self.mine.folder, REVIEW)

    def mark(self, pair: str, verdict: Verdict) -> None:
        if pair not in self._keys:
            raise InputError(f"there is no pair {pair} in this review; reload the page")
        self.marks.add(pair, verdict)
        self._conclude()

    def undo(self) -> None:
        self.marks.undo()
        self._conclude()

    def want(self, precision: float) -> None:
        if not 0 < precision <= 1:
            raise InputError("the wanted precision must be above 0 and at most 1")
        self.wanted = precision
        self._conclude()

    def state(self) -> dict[str, Any]:
        """What the page shows after each key press: the verdicts by pair, and the result."""
        return {"verdicts": self.marks.verdicts(), "result": self.result.model_dump(exclude={"curve"})}

    def chart(self) -> dict[str, Any] | None:
        """The precision curve so far, None before the first mark."""
        from pipelines.report.charts import ThresholdCurve, precision_by_threshold

        result, curve = self.result, self.result.curve
        if not curve.threshold:
            return None
        bounds = (curve.precision_low, curve.precision_high)
        line = ThresholdCurve("estimate by your marks", curve.threshold, curve.precision, *bounds)
        return precision_by_threshold([line], result.threshold)

    def _conclude(self) -> ReviewResult:
        with self._lock:
            self.result = estimate(self.sample, self._scores, self.marks.verdicts(), self.wanted)
            self.result.write(self.mine.folder)
            return self.result


def review_folder(workdir: str) -> str:
    """Where the sample and the marks of a mine's review are."""
    folder = local_path(join(the_mine(workdir).folder, FOLDER))
    if folder is None:
        raise InputError(f"{workdir}: marks are kept beside the pairs, which must be on this machine; copy them")
    return folder


def the_mine(workdir: str) -> FinishedMine:
    """The only mine of a folder."""
    mines = find_mines(workdir)
    # Pairs that were chosen again, by a review or otherwise, lie beside the first ones, and are reviewed by name.
    whole = [mine for mine in mines if "/pairs-" not in mine.pairs.url.removeprefix(workdir.rstrip("/"))] or mines
    if len(whole) > 1:
        names = ", ".join(mine.folder for mine in whole[:4])
        raise InputError(f"{workdir} holds {len(whole)} mines; review one of them at a time, for example {names}")
    return whole[0]
