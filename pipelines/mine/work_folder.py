"""What there is to report in a work folder: each pairs dataset, with the datasets that it was made of."""

from __future__ import annotations

import math
from typing import NamedTuple

from mining.errors import InputError
from mining.paths import exists, resolve
from pipelines.datasets.manifest import (
    GOLD,
    GRAPH,
    MANIFEST,
    SOURCE,
    TARGET,
    Dataset,
    Input,
    Kind,
    join,
    open_dataset,
    probes_of,
    read_model,
)
from pipelines.mine.review_result import ReviewResult
from pipelines.mine.score_curve import ScoreCurve

_DEPTHS = ("", "*/", "*/*/", "*/*/*/")
OF_WORK = ("pairs", "pairs-reviewed")  # pairs whose review is kept in the work folder, all others have their own
GOLD_FILE = "gold.tsv"  # of a demo


class MinedSide(NamedTuple):
    """One side of a mine: the corpus, its vectors, the probes if there were any; None for what is no longer there."""

    lang: str
    sentences: Dataset | None
    vectors: Dataset | None
    probes: Dataset | None


class FinishedMine(NamedTuple):
    """A finished mine and everything about it that is still there."""

    name: str
    folder: str  # the work folder that holds the pairs, where a review is kept
    pairs: Dataset
    graph: Dataset | None
    source: MinedSide
    target: MinedSide
    curve: ScoreCurve | None
    gold: str | None
    review: ReviewResult | None

    @property
    def threshold(self) -> float | None:
        return self.pairs.manifest.measures.get("threshold")

    @property
    def sides(self) -> tuple[MinedSide, MinedSide]:
        return self.source, self.target


def find_mines(workdir: str) -> list[FinishedMine]:
    """The mines in a work folder, a demo folder or a loop folder; none at all is an error."""
    if not exists(workdir):
        raise InputError(f"{workdir}: no such folder")
    mines = [open_mine(url, workdir) for url in pairs_folders(workdir)]
    if not mines:
        raise InputError(
            f"{workdir}: there are no finished pairs in this folder; give the --work folder of `twinlode mine`, or the "
            "folder of a demo or a loop"
        )
    return mines


def pairs_folders(workdir: str) -> list[str]:
    """The folders of finished pairs datasets, in order of their names, those of rounds last."""
    filesystem, root = resolve(workdir)
    root = root.rstrip("/")
    # A loop keeps a folder of pairs with one dataset a language in it.
    names = [f"{root}/{depth}{name}/{MANIFEST}" for depth in _DEPTHS for name in ("pairs*", "pairs/*")]
    found = [path for name in names for path in filesystem.glob(name)]
    if filesystem.exists(f"{root}/{MANIFEST}"):
        found = [f"{root}/{MANIFEST}"]
    local = "file" in filesystem.protocol
    folders = [path.removesuffix(f"/{MANIFEST}") for path in found]
    folders.sort(key=lambda path: ("/round-" in path.removeprefix(root), path))
    # As it was given, so that what is printed can be typed again.
    given = [join(workdir, path.removeprefix(root).lstrip("/")).rstrip("/") for path in folders]
    return given if local else [filesystem.unstrip_protocol(path) for path in folders]


def open_mine(url: str, workdir: str) -> FinishedMine:
    """The mine whose pairs dataset is at `url`."""
    pairs = open_dataset(url, "pairs")
    folder, _, own = url.rstrip("/").rpartition("/")
    # A loop's pairs are by language in one folder, and those of another choice lie beside the first ones.
    folder = (folder or ".") if own in OF_WORK else url
    given = pairs.manifest.request.given(GRAPH)
    graph = _open(pairs, given[0], folder, "graph") if given else None
    return FinishedMine(
        name=_name(url, workdir),
        folder=folder,
        pairs=pairs,
        graph=graph,
        source=_side(pairs, graph, SOURCE, folder),
        target=_side(pairs, graph, TARGET, folder),
        curve=ScoreCurve.read(url),
        gold=_gold(pairs, folder),
        review=ReviewResult.read(folder, pairs.fingerprint),
    )


def _name(url: str, workdir: str) -> str:
    inside = url.removeprefix(workdir.rstrip("/")).strip("/")
    name = inside.replace("/pairs/", "/").removesuffix("pairs").strip("/").removeprefix("work/").replace("/work/", "/")
    return name or workdir.rstrip("/").rsplit("/", 1)[-1]


def _side(pairs: Dataset, graph: Dataset | None, side: str, folder: str) -> MinedSide:
    sentences = _of_role(pairs, side, folder, "sentences")
    probes = _of_role(pairs, probes_of(side), folder, "sentences")
    vectors = None if graph is None else _of_role(graph, side, folder, "vectors")
    return MinedSide(language(sentences), sentences, vectors, probes)


def _of_role(reader: Dataset, role: str, folder: str, kind: Kind) -> Dataset | None:
    given = reader.manifest.request.given(role)
    return _open(reader, given[0], folder, kind) if given else None


def language(sentences: Dataset | None) -> str:
    """The language of a sentences dataset, empty where it is not known."""
    read = sentences.manifest.request.configuration.get("read") if sentences else None
    return str(read.get("lang") or "") if isinstance(read, dict) else ""


def _open(reader: Dataset, given: Input, folder: str, kind: Kind) -> Dataset | None:
    """An input of a dataset where it was at the time or beside the pairs; None when it is gone or has changed."""
    for url in (reader.input_url(given), join(folder, given.name.rstrip("/").rsplit("/", 1)[-1])):
        try:
            dataset = open_dataset(url, kind)
        except InputError:
            continue
        if dataset.fingerprint == given.fingerprint:
            return dataset
    return None


def _gold(pairs: Dataset, folder: str) -> str | None:
    """The true pairs, if the mine was given some, or lies in a demo, which knows them."""
    named = [given.name for given in pairs.manifest.request.given(GOLD)]
    parent, _, own = folder.rstrip("/").rpartition("/")
    demo = parent.rpartition("/")[0] or "."
    over = demo.rpartition("/")[0] or "."  # the round of a demo is a folder in it
    known = (*named, *(join(place, "mine", own, GOLD_FILE) for place in (demo, over)))
    return next((url for url in known if exists(url)), None)


def reviewed_threshold(review: str, workdir: str) -> float:
    """The threshold in the `review.json` of a mine in this work folder."""
    result = read_model(review, ReviewResult)
    if result is None:
        raise InputError(f"{review}: no such file; `twinlode review WORKDIR` makes it")
    if result.pairs not in {mine.pairs.fingerprint for mine in find_mines(workdir)}:
        raise InputError(f"{review}: this is the review of another mine than those in {workdir}")
    if result.threshold is None or not math.isfinite(result.threshold):
        raise InputError(
            f"{review}: no threshold reaches the precision {result.wanted:g} by the marks so far; mark more pairs or "
            "want less"
        )
    return result.threshold
