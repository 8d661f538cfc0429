"""Folders that hold more than one thing: works, demos, loops, rounds, training runs, saved graphs."""

from __future__ import annotations

from pathlib import Path

from pipelines.datasets.manifest import MANIFEST, Manifest, flat, join, read_model
from pipelines.inspection.description import Description, counted
from pipelines.loop.records import LoopState, RoundRecord, read_rounds
from pipelines.mine.review_result import REVIEW, ReviewResult
from pipelines.mine.work_folder import find_mines


def describe_training(folder: Path) -> Description:
    """A run of `twinlode train`."""
    log = folder / "metrics.jsonl"
    lines = log.read_text("utf-8").splitlines() if log.exists() else []
    facts = [("encoder", str(folder / "best") if (folder / "best").is_dir() else "none yet")]
    return Description(
        "training run", [*facts, ("log", f"{log} ({len(lines):,} lines)"), ("last", lines[-1] if lines else "")]
    )


def describe_round(record: RoundRecord) -> Description:
    """`round.json` of a loop."""
    facts = [
        ("round", "control" if record.round is None else str(record.round)),
        ("encoder", record.encoder),
        ("parent", record.parent or "none"),
        ("score", f"{record.score:.2f}"),
        *((name, f"{value:.2f}") for name, value in record.scores.items()),
        ("minutes", f"{record.minutes:.1f}"),
        *((f"training.{key}", str(value)) for key, value in flat(record.training.model_dump(mode="json")).items()),
    ]
    rows = [
        [pair.pair, counted(pair.matched), counted(pair.selected), _figure(pair.threshold)] for pair in record.mined
    ]
    return Description("round of a loop", facts, ("pair", "matched", "selected", "threshold"), rows)


def describe_loop(folder: Path, state: LoopState) -> Description:
    """The folder of `twinlode loop`."""
    rounds = read_rounds(folder)
    facts = [
        ("rounds finished", counted(state.finished)),
        ("best round", str(state.best)),
        ("stopped", state.stopped or "no, it goes on"),
        *(("input", f"{given.name} ({given.fingerprint})") for given in state.inputs),
        *((key, str(value)) for key, value in flat(state.configuration).items()),
    ]
    rows = [
        [str(r.round), counted(r.pairs), _figure(r.estimated_precision), f"{r.score:.2f}", r.encoder] for r in rounds
    ]
    return Description("loop", facts, ("round", "pairs", "estimated precision", "score", "encoder"), rows)


def describe_work(url: str, datasets: list[str]) -> Description:
    """The --work folder of a mine."""
    rows = []
    for name in datasets:
        manifest = read_model(join(url, name, MANIFEST), Manifest)
        assert manifest is not None
        rows.append([name, manifest.request.kind, counted(manifest.rows), manifest.fingerprint])
    facts = [("datasets", counted(len(rows)))]
    review = read_model(join(url, REVIEW), ReviewResult)
    if review is not None:
        facts.append(("review", f"{review.right} right, {review.wrong} wrong, threshold {_figure(review.threshold)}"))
    return Description("work folder of a mine", facts, ("dataset", "kind", "rows", "fingerprint"), rows)


def describe_mines(url: str) -> Description:
    """A folder with mines further down, such as that of a demo."""
    mines = find_mines(url)
    rows = [[m.name, m.folder, counted(m.pairs.rows), _figure(m.threshold), m.pairs.fingerprint] for m in mines]
    columns = ("mine", "folder", "pairs", "threshold", "fingerprint")
    return Description("folder of mines", [("mines", counted(len(mines)))], columns, rows)


def _figure(value: float | None) -> str:
    return "–" if value is None else f"{value:.4f}"
