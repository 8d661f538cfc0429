"""`twinlode graph`: the nearest neighbours of two datasets of vectors."""

from __future__ import annotations

from typing import Annotated

import typer

from pipelines.commands.derived import GivenOptions, key, validated, with_settings
from pipelines.commands.options import RunnerOption, RunnerSetOption
from pipelines.graph.graph_settings import GraphSettings
from pipelines.runners.quiet import quiet_beam

OPTIONS = {name: key(name) for name in ("k", "search", "copies", "codebook", "device", "threads", "memory")}


@with_settings(GraphSettings, OPTIONS, example="k=8")
def command(
    source: Annotated[str, typer.Argument(help="Folder of the source vectors, made by embed.")],
    target: Annotated[str, typer.Argument(help="Folder of the target vectors.")],
    out: Annotated[str, typer.Option(help="Folder (any fsspec URL) of the graph.")],
    runner: RunnerOption = "local",
    runner_set: RunnerSetOption = None,
    *,
    chosen: GivenOptions,
) -> None:
    """Build the neighbour graph of two sides, both directions in one pass. What is finished is not computed again.

    \b
    Example:
      twinlode graph work/en-vectors work/de-vectors --out work/graph
    """
    quiet_beam()
    from pipelines.commands.console_output import say_notes, show
    from pipelines.commands.partitioned_options import require_use, unused_options
    from pipelines.commands.places import require_folder
    from pipelines.datasets.measure_rows import measure_rows
    from pipelines.graph.graph_stage import build_graph
    from pipelines.runners.runner import hints_of, load_runner, require_reachable

    require_folder(out)
    where = load_runner(runner, runner_set or [])
    require_reachable(where, [source, target, out])
    chosen |= {"source.corpus": source, "target.corpus": target, "out": out} | hints_of(where)._asdict()
    settings = validated(GraphSettings, OPTIONS, chosen.tree(), "graph")
    require_use(settings)
    graph = build_graph(settings, where, quiet=False)
    about = [("sentences, both sides", f"{graph.rows:,}"), ("shards", f"{len(graph.shards):,}")]
    show(graph.url, [*about, *measure_rows(graph.manifest.measures)])
    say_notes(unused_options(settings, graph))
