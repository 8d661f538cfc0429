"""`describe`: what any file or folder of ours is, its rows, settings and fingerprints, and its first rows."""

from __future__ import annotations

from pathlib import Path

from encoder.checkpoint import CONFIG, FINGERPRINT
from mining.errors import InputError
from mining.paths import local_path, resolve
from pipelines.datasets.manifest import MANIFEST, WORK, join, read_model
from pipelines.inspection import encoders, folders, single_files, stages
from pipelines.inspection.description import Description
from pipelines.loop.records import ROUND, STATE, LoopState, RoundRecord
from pipelines.mine.review_result import REVIEW, ReviewResult
from pipelines.mine.work_folder import pairs_folders

__all__ = ["Description", "describe"]


def describe(url: str, most: int = 5) -> Description:
    """Describe a path or URL with at most `most` rows; what is not ours is an error."""
    filesystem, path = resolve(url)
    if filesystem.isdir(path):
        return _folder(url.rstrip("/"), most)
    if filesystem.exists(path):
        return _named(url, most) or single_files.describe_file(url, most)
    languages = single_files.moses_languages(url)
    if languages is None:
        raise InputError(f"{url}: no such file or folder")
    return single_files.describe_moses(url, languages, most)


def _named(url: str, most: int) -> Description | None:
    """A file that says by its name what folder it describes."""
    folder, _, name = url.rpartition("/")
    if name in (MANIFEST, ROUND, STATE, CONFIG, FINGERPRINT):
        return _folder(folder or ".", most)
    if name == REVIEW:
        review = read_model(url, ReviewResult)
        assert review is not None
        shown = review.model_dump(exclude={"curve"})
        return Description("review", [(key.replace("_", " "), str(value)) for key, value in shown.items()])
    return None


def _folder(url: str, most: int) -> Description:
    names = _names(url)
    if MANIFEST in names:
        return stages.describe_dataset(url, most)
    if WORK in names:
        return stages.describe_unfinished(url)
    local = local_path(url)
    found = _local_folder(Path(local), names) if local else None
    if found is not None:
        return found
    inside = sorted(name for name in names if MANIFEST in _names(join(url, name)))
    if inside:
        return folders.describe_work(url, inside)
    if pairs_folders(url):
        return folders.describe_mines(url)
    raise InputError(f"{url}: not a folder of twinlode: no dataset, encoder, graph, round, loop or mine is in it")


def _local_folder(folder: Path, names: set[str]) -> Description | None:
    if {CONFIG, FINGERPRINT} & names:
        return encoders.describe_ours(folder)
    if "modules.json" in names or "config.json" in names:
        return encoders.describe_pretrained(folder)
    if ROUND in names:
        record = read_model(str(folder / ROUND), RoundRecord)
        assert record is not None
        return folders.describe_round(record)
    if STATE in names:
        state = read_model(str(folder / STATE), LoopState)
        assert state is not None
        return folders.describe_loop(folder, state)
    if "training.safetensors" in names or "metrics.jsonl" in names:
        return folders.describe_training(folder)
    return None


def _names(url: str) -> set[str]:
    filesystem, path = resolve(url)
    if not filesystem.isdir(path):
        return set()
    return {name.rstrip("/").rsplit("/", 1)[-1] for name in filesystem.ls(path, detail=False)}
