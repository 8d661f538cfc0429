"""`twinlode graph`: the nearest neighbours of two datasets of vectors."""

from __future__ import annotations

from typing import Annotated

import typer

from pipelines.commands.options import DeviceOption, RunnerOption, RunnerSetOption, ThreadsOption
from pipelines.runners.quiet import quiet_beam


def command(
    source: Annotated[str, typer.Argument(help="Folder of the source vectors, made by embed.")],
    target: Annotated[str, typer.Argument(help="Folder of the target vectors.")],
    out: Annotated[str, typer.Option(help="Folder (any fsspec URL) of the graph.")],
    k: Annotated[int, typer.Option(help="Neighbours of each sentence.")] = 4,
    mode: Annotated[str, typer.Option(help="exact, or faiss: approximate, with the recall measured.")] = "exact",
    device: DeviceOption = "auto",
    threads: ThreadsOption = None,
    runner: RunnerOption = "local",
    runner_set: RunnerSetOption = None,
) -> None:
    """Build the neighbour graph of two sides, both directions in one pass. Finished cells are not computed again.

    Example: twinlode graph work/src-vectors work/tgt-vectors --out work/graph
    """
    quiet_beam()
    from encoder.settings import validate_settings
    from pipelines.commands.mine import show
    from pipelines.commands.places import require_folder
    from pipelines.graph.graph_settings import GraphSettings
    from pipelines.graph.graph_stage import build_graph
    from pipelines.runners.runner import accelerator_of, load_runner, require_reachable

    require_folder(out)
    where = load_runner(runner, runner_set or [])
    require_reachable(where, [source, target, out])
    tree = {"source": [source], "target": [target], "out": out, "k": k, "mode": mode, "device": device}
    options = tree | {"threads": threads, "accelerator": accelerator_of(where)}
    graph = build_graph(validate_settings(GraphSettings, options, "graph"), where, quiet=False)
    measures = [(name.replace("_", " "), f"{value:.4f}") for name, value in graph.manifest.measures.items()]
    show(graph.url, [("sentences, both sides", f"{graph.rows:,}"), ("shards", f"{len(graph.shards):,}"), *measures])
