"""Where it runs: corpus readers, Beam transforms, stages, benchmarks, the loop, reports and the command line.

>>> from pipelines import JobSettings, mine_corpora
>>> mine_corpora(JobSettings(source=english, target=german, encoder="runs/small/best", work="work"))

The names here are the public ones; docs/how-to/python.md has an example of each kind.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from mining.lazy import lazy_attributes

if TYPE_CHECKING:
    from pipelines.align.align_job import align_documents
    from pipelines.align.align_settings import AlignSettings, DocumentReadSettings, DocumentSideSettings
    from pipelines.clean.bitext_rows import BitextSettings
    from pipelines.clean.clean_settings import CleanSettings
    from pipelines.clean.clean_stage import clean as clean_bitext
    from pipelines.clean.clean_transform import Clean
    from pipelines.embed.embed_settings import EmbedSettings
    from pipelines.embed.vector_stage import Embed
    from pipelines.graph.graph_settings import GraphSettings
    from pipelines.graph.graph_transform import Graph
    from pipelines.mine.mine_settings import JobSettings, MineSettings, SideSettings, ThresholdSettings
    from pipelines.mine.pair_export import export_pairs
    from pipelines.mine.pair_stage import pair_batches
    from pipelines.mine.pair_transform import Mine
    from pipelines.mine.text_job import mine_corpora
    from pipelines.prepare.prepare_settings import PrepareSettings
    from pipelines.prepare.readers import ReadSettings
    from pipelines.prepare.sentence_stage import Prepare
    from pipelines.runners.runner import load_runner

    __version__: str

__all__ = [
    "AlignSettings",
    "BitextSettings",
    "Clean",
    "CleanSettings",
    "DocumentReadSettings",
    "DocumentSideSettings",
    "Embed",
    "EmbedSettings",
    "Graph",
    "GraphSettings",
    "JobSettings",
    "Mine",
    "MineSettings",
    "Prepare",
    "PrepareSettings",
    "ReadSettings",
    "SideSettings",
    "ThresholdSettings",
    "__version__",
    "align_documents",
    "clean_bitext",
    "export_pairs",
    "load_runner",
    "mine_corpora",
    "pair_batches",
]

__getattr__ = lazy_attributes(
    "pipelines",
    {
        **dict.fromkeys(
            ["AlignSettings", "DocumentReadSettings", "DocumentSideSettings"], "pipelines.align.align_settings"
        ),
        "align_documents": "pipelines.align.align_job",
        "BitextSettings": "pipelines.clean.bitext_rows",
        "Clean": "pipelines.clean.clean_transform",
        "CleanSettings": "pipelines.clean.clean_settings",
        "clean_bitext": "pipelines.clean.clean_stage:clean",  # pipelines.clean is the package
        "Embed": "pipelines.embed.vector_stage",
        "EmbedSettings": "pipelines.embed.embed_settings",
        "Graph": "pipelines.graph.graph_transform",
        "GraphSettings": "pipelines.graph.graph_settings",
        "mine_corpora": "pipelines.mine.text_job",
        **dict.fromkeys(
            ["JobSettings", "MineSettings", "SideSettings", "ThresholdSettings"], "pipelines.mine.mine_settings"
        ),
        "export_pairs": "pipelines.mine.pair_export",
        "pair_batches": "pipelines.mine.pair_stage",
        "Mine": "pipelines.mine.pair_transform",
        "ReadSettings": "pipelines.prepare.readers",
        "Prepare": "pipelines.prepare.sentence_stage",
        "PrepareSettings": "pipelines.prepare.prepare_settings",
        "load_runner": "pipelines.runners.runner",
    },
)
