"""`twinlode mine-vectors`: pairs from vectors that already exist."""

from __future__ import annotations

import hashlib
import math
import tempfile
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from pipelines.commands.options import (
    DeviceOption,
    FiltersOption,
    GoldOption,
    MarginOption,
    NeighboursOption,
    PrecisionOption,
    RejectedOption,
    RetrievalOption,
    SeedPairsOption,
    ThreadsOption,
    ThresholdOption,
    TopOption,
    read_filters,
)

if TYPE_CHECKING:
    import numpy as np
    import pyarrow as pa

    from mining.margin import Margin
    from mining.miner import Mined, SearchResult, Selection
    from mining.neighbours import Graph
    from mining.pair_formats import Format
    from mining.sides import Side

Text = Annotated[str, typer.Option(help="Text, one sentence a line (gz, bz2, xz, zst by extension).")]
VectorFile = Annotated[str, typer.Option(help="Vectors of its lines: .arrow, .npy, or LASER's raw floats.")]


def command(
    src_vectors: VectorFile,
    tgt_vectors: VectorFile,
    src_text: Text,
    tgt_text: Text,
    out: Annotated[str, typer.Option(help="Pairs: .tsv, .parquet, .jsonl or .tmx, compressed by a further extension.")],
    k: NeighboursOption = 4,
    margin: MarginOption = "ratio",
    retrieval: RetrievalOption = "max",
    threshold: ThresholdOption = None,
    top: TopOption = None,
    gold: GoldOption = None,
    target_precision: PrecisionOption = None,
    seed_pairs: SeedPairsOption = None,
    seed_src_vectors: Annotated[
        str | None, typer.Option(help="Vectors of the seed sources, unless the seed stands in the texts.")
    ] = None,
    seed_tgt_vectors: Annotated[str | None, typer.Option(help="Vectors of the seed targets.")] = None,
    search: Annotated[str, typer.Option(help="exact, approximate, or auto: exact up to 10^12 comparisons.")] = "auto",
    memory: Annotated[str, typer.Option(help="Memory to use besides mapped files.")] = "4GiB",
    device: DeviceOption = "auto",
    threads: ThreadsOption = None,
    dim: Annotated[int | None, typer.Option(help="Dimension of raw vectors.")] = None,
    dtype: Annotated[str | None, typer.Option(help="Type of raw vectors: float32 or float16.")] = None,
    src_lang: Annotated[str | None, typer.Option(help="Source language, for filters, TMX and Moses.")] = None,
    tgt_lang: Annotated[str | None, typer.Option(help="Target language.")] = None,
    filters: FiltersOption = "none",
    rejected: RejectedOption = None,
    candidates: Annotated[
        str | None, typer.Option(help="Write all k candidates of both directions here, with their scores.")
    ] = None,
    curve: Annotated[
        str | None, typer.Option(help="Write precision, recall and yield at every threshold here (.tsv).")
    ] = None,
    save_graph: Annotated[str | None, typer.Option(help="Folder for the kNN graph (Parquet).")] = None,
    format: Annotated[str | None, typer.Option(help="Pair format where the extension does not tell: moses.")] = None,
) -> None:
    """Mine translation pairs from vectors you already have.

    A killed run continues when the same command is given again: until it is done its state is kept beside --out, or
    among temporary files when that is remote.

    Example: twinlode mine-vectors --src-vectors en.bin --tgt-vectors de.bin --dtype float32 --dim 1024
    --src-text en.txt --tgt-text de.txt --out pairs.tsv --threshold 1.06
    """
    from encoder.languages import canonical
    from encoder.settings import validate_settings
    from mining.corpus import read_id_pairs
    from mining.errors import InputError
    from mining.miner import MineSettings, build_graph, mine_sides, plant_probes
    from mining.pair_formats import format_of, write_pairs

    if sum(choice is not None for choice in (threshold, top, gold, target_precision)) > 1:
        raise InputError("give only one of --threshold, --top, --gold and --target-precision")
    if (seed_pairs is None) != (target_precision is None):
        raise InputError("--target-precision and --seed-pairs go together: the seed calibrates the threshold")
    if curve is not None and gold is None and target_precision is None:
        raise InputError("--curve needs --gold or --target-precision: without them nothing is known of precision")
    src_lang, tgt_lang = (lang and canonical(lang) for lang in (src_lang, tgt_lang))
    options = {
        "k": k, "margin": margin, "retrieval": retrieval, "search": search, "memory": _bytes(memory),
        "device": device, "threads": threads, "threshold": threshold, "top": top, "gold": gold,
        "target_precision": target_precision, "filters": read_filters(filters),
        "src_lang": src_lang, "tgt_lang": tgt_lang,
    }  # fmt: skip
    settings = validate_settings(MineSettings, options, "the options")
    kind = _format(format) if format else format_of(out)
    texts, vectors = (src_text, tgt_text), (src_vectors, tgt_vectors)
    seed_vectors = seed_src_vectors, seed_tgt_vectors
    inputs = (*texts, *vectors, gold, seed_pairs, *seed_vectors, filters)
    _check_outputs(out, kind, (rejected, candidates), curve, save_graph, (src_lang, tgt_lang), inputs)

    started = time.monotonic()
    source, target, seed_rows = _open_sides(texts, vectors, seed_pairs, seed_vectors, dim, dtype)
    if gold is not None:
        read_id_pairs(gold, source.lines, target.lines)  # a mistake in it shows before the search
    probes = None
    if seed_rows is not None:
        source, target, probes = plant_probes(source, target, seed_rows)

    checkpoint = _checkpoint(out)
    with _gflops_bar(float(len(source.vectors)) * len(target.vectors) * source.vectors.dim) as report:
        found = build_graph(source, target, settings, report=report, checkpoint=checkpoint)
    selection, mined = mine_sides(source, target, found.graph, settings, probes)
    if save_graph:
        _save_graph(save_graph, found)
    if candidates:
        table = _candidates(found.graph, settings.margin, source, target)
        write_pairs(candidates, [table], src_lang=src_lang, tgt_lang=tgt_lang)
    if curve:
        _write_curve(curve, selection)
    if found.how.startswith("approximate"):
        _write_recall(f"{out}.recall.json", found)
    if rejected:
        write_pairs(rejected, [mined.rejected], src_lang=src_lang, tgt_lang=tgt_lang)
    write_pairs(out, [mined.pairs], format=kind, src_lang=src_lang, tgt_lang=tgt_lang)
    checkpoint.unlink(missing_ok=True)
    _summarise(source, target, found, selection, mined, out, time.monotonic() - started)


def _checkpoint(out: str) -> Path:
    """Where the unfinished graph is kept: beside the output, or among temporary files when that is remote."""
    from mining.paths import local_path

    local = local_path(out)
    if local:
        return Path(f"{local}.unfinished.npz")
    name = hashlib.blake2b(out.encode(), digest_size=8).hexdigest()
    return Path(tempfile.gettempdir()) / f"twinlode-{name}.unfinished.npz"


def _bytes(amount: str) -> int:
    from pydantic import ByteSize, TypeAdapter, ValidationError

    from mining.errors import InputError

    try:
        return int(TypeAdapter(ByteSize).validate_python(amount))
    except ValidationError:
        raise InputError(f"--memory {amount}: write it as a number of bytes or as 512MB, 4GiB and the like") from None


def _format(name: str) -> Format:
    from mining.errors import InputError
    from mining.pair_formats import Format

    if name not in set(Format):
        raise InputError(f"--format {name}: use one of {', '.join(Format)}")
    return Format(name)


def _check_outputs(
    out: str,
    kind: Format,
    others: tuple[str | None, ...],
    curve: str | None,
    graph: str | None,
    languages: tuple[str | None, str | None],
    inputs: tuple[str | None, ...],
) -> None:
    """Find out before hours of work that something cannot be written, or would overwrite what is read."""
    from mining.pair_formats import check_format, format_of
    from pipelines.commands.places import check_places

    written = check_format(out, kind, *languages)
    for url in filter(None, others):
        written += check_format(url, format_of(url), *languages)
    written += [curve] if curve else []
    written += [f"{graph}/{name}.parquet" for name in ("forward", "backward")] if graph else []
    check_places(written, filter(None, inputs))


def _open_sides(
    texts: tuple[str, str],
    vectors: tuple[str, str],
    seed_pairs: str | None,
    seed_vectors: tuple[str | None, str | None],
    dim: int | None,
    dtype: str | None,
) -> tuple[Side, Side, np.ndarray | None]:
    """Both sides, and where the seed pairs are: behind the corpora when they bring vectors, else among the lines."""
    import numpy as np

    from mining.corpus import read_columns, read_id_pairs
    from mining.errors import InputError
    from mining.sides import open_side

    if (seed_vectors[0] is None) != (seed_vectors[1] is None) or (seed_vectors[0] and not seed_pairs):
        raise InputError("--seed-src-vectors, --seed-tgt-vectors and --seed-pairs go together")
    seeds: list[tuple[list[str], str] | None] = [None, None]
    if seed_pairs and seed_vectors[0] and seed_vectors[1]:
        columns = read_columns(seed_pairs)
        seeds = [(columns[0], seed_vectors[0]), (columns[1], seed_vectors[1])]
    source, target = (
        open_side(vector, text, dim=dim, dtype=dtype, seed=seed)
        for vector, text, seed in zip(vectors, texts, seeds, strict=True)
    )
    if seed_pairs is None:
        return source, target, None
    if seeds[0] is None:
        rows = read_id_pairs(seed_pairs, source.lines, target.lines)
        rows = np.stack([source.repeats.first[rows[:, 0]], target.repeats.first[rows[:, 1]]], axis=1)
        return source, target, rows
    count = np.arange(len(seeds[0][0]))
    return source, target, np.stack([source.rows + count, target.rows + count], axis=1)


@contextmanager
def _gflops_bar(total: float) -> Iterator[Callable[[float], None]]:
    """A progress bar of multiply-adds: percent, GFLOP/s and time left, on stderr."""
    from rich.console import Console
    from rich.progress import BarColumn, Progress, TaskProgressColumn, TextColumn, TimeRemainingColumn

    columns = (TextColumn("nearest neighbours"), BarColumn(), TaskProgressColumn(), TextColumn("{task.fields[speed]}"))
    with Progress(*columns, TimeRemainingColumn(), console=Console(stderr=True)) as bar:
        task = bar.add_task("", total=total, speed="")

        def report(multiply_adds: float) -> None:
            speed = bar.tasks[0].speed
            bar.update(task, advance=multiply_adds, speed=f"{2e-9 * speed:,.0f} GFLOP/s" if speed else "")

        yield report


def _candidates(graph: Graph, margin: Margin, source: Side, target: Side) -> pa.Table:
    """All k neighbours of both directions as pairs."""
    from mining.miner import pairs_table
    from mining.retrieval import candidates

    edges = candidates(graph, margin)
    edges = edges.take((edges.source < source.rows) & (edges.target < target.rows))  # no seed behind the corpora
    return pairs_table(edges, source, target)


def _save_graph(folder: str, found: SearchResult) -> None:
    import numpy as np

    from mining.neighbours import write_neighbours

    graph: Graph = found.graph
    about = {"search": found.how, "recall": f"{found.recall:.4f}"}
    for name, neighbours in zip(("forward", "backward"), graph, strict=True):
        write_neighbours(f"{folder}/{name}.parquet", np.arange(len(neighbours.ids)), neighbours, about)


def _write_curve(url: str, selection: Selection) -> None:
    """The tuned or the calibrated curve as a table, best score first."""
    from mining.files import atomic_text

    known = selection.tuned or selection.calibration
    assert known is not None, "--curve without either was refused"
    points = known.curve
    with atomic_text(url) as stream:
        stream.write("\t".join(points._fields) + "\n")
        for row in zip(*points, strict=True):
            stream.write("\t".join(f"{value:.6g}" for value in row) + "\n")


def _write_recall(url: str, found: SearchResult) -> None:
    """What is known of an approximate result goes with it."""
    import json

    from mining.files import atomic_text

    with atomic_text(url) as stream:
        json.dump({"search": found.how, "recall": round(found.recall, 6)}, stream)


def _summarise(
    source: Side, target: Side, found: SearchResult, selection: Selection, mined: Mined, out: str, seconds: float
) -> None:
    from rich.console import Console
    from rich.markup import escape
    from rich.table import Table

    table = Table(show_header=False, box=None)
    for name, side in (("source", source), ("target", target)):
        left_out = ", ".join(f"{count:,} {reason}" for reason, count in side.counts.items())
        table.add_row(
            f"{name} sentences", f"{int(side.mined.sum()):,}" + (f" ({left_out} left out)" if left_out else "")
        )
    table.add_row("search", found.how)
    table.add_row("threshold", f"{selection.threshold:.4f}" if math.isfinite(selection.threshold) else "none")
    if selection.tuned:
        tuned = selection.tuned
        table.add_row("on the gold pairs", f"P {tuned.precision:.1%}  R {tuned.recall:.1%}  F1 {tuned.f1:.1%}")
    if selection.calibration:
        point = selection.calibration.at(selection.threshold)
        low, high = point.interval
        known = f"{point.precision:.1%}" if point.reliable else "not known"
        table.add_row("estimated precision", f"{known} ({low:.0%} to {high:.0%})")
        if point.reliable:
            true_pairs = f"{selection.calibration.true_pairs:,.0f}"
            table.add_row("estimated recall", f"{point.recall:.1%} of about {true_pairs} true pairs")
    for reason, count in mined.counts.most_common():
        table.add_row(f"dropped: {reason}", f"{count:,}")
    table.add_row("pairs", f"{mined.pairs.num_rows:,} -> {escape(out)}")
    table.add_row("time", f"{seconds:,.1f} s")
    Console().print(table)
    for note in (*source.notes, *target.notes, *selection.notes):
        Console(stderr=True).print(f"note: {note}", style="yellow", highlight=False, markup=False)
