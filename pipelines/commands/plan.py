"""`twinlode plan`: what a mine will cost, before it is run."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from pipelines.commands.derived import GivenOptions, key, validated, with_settings
from pipelines.planning.plan_settings import PlanSettings
from pipelines.runners.quiet import quiet_beam

OPTIONS = {
    name: key(name)
    for name in (
        *("encoder", "search", "k", "copies", "rescore"),
        *("rows_per_shard", "memory", "workers", "sample", "budget"),
    )
} | {"gpu": key("gpu.name"), "gpus": key("gpu.count")}


@with_settings(PlanSettings, OPTIONS, example="prices.core_hour=0.05")
def command(
    source: Annotated[str, typer.Argument(help="Text of the source side, a folder made by prepare, or a line count.")],
    target: Annotated[str, typer.Argument(help="The same of the target side.")],
    json: Annotated[Path | None, typer.Option(help="Write the plan here, with every limit and the settings.")] = None,
    *,
    chosen: GivenOptions,
) -> None:
    """Predict what a mine takes: core-hours, GPU-hours, bytes, files, memory, money, and the first limit that breaks.

    A sample of the text is mined on this machine, which takes a minute or two, and every stage is scaled up. With
    --budget a plan that costs more is refused with exit code 2. A GPU that is not in this machine has assumed rates.

    \b
    Examples:
      twinlode plan en.txt de.txt --workers 64 --budget 100
      twinlode plan 100000000 80000000 --workers 64
      twinlode plan en.txt de.txt --gpu T4 --gpus 8 --json plan.json
    """
    quiet_beam()
    settings = validated(PlanSettings, OPTIONS, chosen.tree(), "plan")
    from pipelines.commands.console_output import say_notes
    from pipelines.commands.partitioned_options import require_use, unused_beside
    from pipelines.commands.places import check_places
    from pipelines.planning.bill import make_bill, show_bill, write_bill

    require_use(settings)
    if json is not None:
        check_places([str(json)], [source, target])
    bill = make_bill(source, target, settings)
    show_bill(bill, settings)
    say_notes(unused_beside(settings, bill.plan.search))
    if json is not None:
        write_bill(json, bill, settings)
    bill.require_budget(settings)
