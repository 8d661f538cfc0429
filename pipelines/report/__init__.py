"""The report: everything that a work folder tells about its mines, in one HTML file that works offline."""

from __future__ import annotations

__all__ = ["PAIRS", "write_report"]

PAIRS = 20_000  # in the file, over all mines; about 4 MB of text


def write_report(workdir: str, out: str | None = None, pairs: int = PAIRS) -> str:
    """Write the report of a work folder, a demo or a loop; returns its path, by default `report.html` in the folder."""
    from markupsafe import Markup

    from mining.files import atomic_text
    from pipelines.datasets.manifest import join
    from pipelines.mine.work_folder import find_mines, pairs_folders
    from pipelines.report.page import asset, render, script_json, vega_bundle
    from pipelines.report.rounds import read_loop, repeated_mines
    from pipelines.report.views import view

    rounds = read_loop(workdir)
    # A loop may keep its mines elsewhere, and has none before its first round.
    mines = find_mines(workdir) if pairs_folders(workdir) or not rounds.is_loop else []
    views = [view(mine, pairs // len(mines)) for mine in mines]
    if not rounds.is_loop:
        rounds = repeated_mines(views) or rounds
    charts: dict[str, object] = {"rounds": {"charts": {panel.key: panel.spec for panel in rounds.panels}}}
    for number, one in enumerate(views):
        drawn = {key: panel.spec for key, panel in one.panels.items() if panel.spec}
        charts[str(number)] = {"langs": one.langs, "charts": drawn}
    page = render(
        asset("report.html.j2"),
        title=workdir.rstrip("/").rsplit("/", 1)[-1],
        workdir=workdir,
        views=views,
        rounds=rounds,
        charts=script_json(charts),
        pairs=[script_json(one.pairs) for one in views],
        bundle=Markup(vega_bundle()),
        script=Markup(asset("report.js")),
    )
    target = out or join(workdir, "report.html")
    with atomic_text(target) as stream:
        stream.write(page)
    return target
