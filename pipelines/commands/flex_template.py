"""`twinlode mine` as a Dataflow Flex Template: one pipeline, built from the launcher's arguments and left to run.

The launcher passes options of Beam beside the template's parameters, among them where the job file goes: what is no
parameter reaches Beam untouched.
"""

from __future__ import annotations

import sys

import apache_beam as beam
from apache_beam.options.pipeline_options import PipelineOptions

from mining.errors import InputError
from pipelines.commands.derived import put, validated
from pipelines.commands.mine import OPTIONS
from pipelines.commands.options import chosen_filters
from pipelines.commands.partitioned_options import require_use
from pipelines.datasets.manifest import join
from pipelines.embed.shard_embedder import describe_encoder
from pipelines.mine.export_transform import Export, ExportPlan
from pipelines.mine.job_defaults import columns_read, fill_in_choices, fill_in_languages
from pipelines.mine.mine_settings import JobSettings
from pipelines.mine.rescored_graph import require_fit, rescoring
from pipelines.mine.text_transform import MineText
from pipelines.runners.clusters import DataflowSettings
from pipelines.runners.runner import ResourceHints

_OWN = ("src", "tgt", "work", "out", "pair_format", "filters", "accelerator")
PARAMETERS = frozenset([*_OWN, *OPTIONS])


def main(arguments: list[str]) -> None:
    try:
        parameters, options = split_arguments(arguments)
        pipeline = build(parameters, PipelineOptions(options))
    except InputError as error:
        sys.exit(f"twinlode: {error}")
    pipeline.run()  # the launcher takes the job file that this writes; nobody waits for the job here


def split_arguments(arguments: list[str]) -> tuple[dict[str, str], list[str]]:
    """The template's parameters by name, and what is for Beam."""
    parameters, options = {}, []
    for argument in arguments:
        name, _, value = argument.removeprefix("--").partition("=")
        if name in PARAMETERS:
            parameters[name] = value
        else:
            options.append(argument)
    return parameters, options


def build(parameters: dict[str, str], options: PipelineOptions) -> beam.Pipeline:
    """The pipeline from text to files of pairs."""
    settings = job_settings(parameters)
    again = rescoring(settings)
    facts = describe_encoder(settings.encoder, trust_remote_code=settings.trust_remote_code)
    require_fit(again, facts.fingerprint)
    hints = ResourceHints(parameters.get("accelerator") or DataflowSettings().accelerator, min_ram=True)
    out = _required(parameters, "out")
    languages = settings.source.read.lang, settings.target.read.lang
    plan = ExportPlan(join(settings.work, settings.pairs), out, parameters.get("pair_format"), languages)
    pipeline = beam.Pipeline(options=options)
    pipeline | "MineText" >> MineText(settings, facts, hints) | "Export" >> Export(plan)
    return pipeline


def job_settings(parameters: dict[str, str]) -> JobSettings:
    """Parameters as the settings of a mine, with the defaults of `twinlode mine`."""
    tree: dict = {"work": _required(parameters, "work")} | chosen_filters(parameters.get("filters"))
    for side, short in (("source", "src"), ("target", "tgt")):
        put(tree, f"{side}.inputs", _required(parameters, short).split(","))
    for name, where in OPTIONS.items():
        for at in where.keys if name in parameters else ():
            put(tree, at, parameters[name])
    columns_read(tree)
    fill_in_languages(tree)
    fill_in_choices(tree)
    tree.setdefault("threads", 1)  # each core has a worker process of its own
    settings = validated(JobSettings, OPTIONS, tree, "template")
    require_use(settings)
    return settings


def _required(parameters: dict[str, str], name: str) -> str:
    if not parameters.get(name):
        raise InputError(f"the template's parameter `{name}` is missing")
    return parameters[name]
