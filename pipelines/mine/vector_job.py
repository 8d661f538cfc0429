"""A mine of vectors that exist: the user's files become datasets, and then take the same graph and mine as any."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from mining.approximate import plan_index
from mining.corpus import read_id_pairs
from mining.errors import InputError
from mining.knn import plan_cells, require_fit
from mining.locks import held_folder
from mining.threads import core_count
from mining.vectors import Vectors
from pipelines.datasets.manifest import SEED, VECTORS, file_input, join
from pipelines.embed.given_vectors import GivenVectors, store_vectors
from pipelines.embed.vector_shards import EncoderIdentity
from pipelines.graph.graph_stage import fitting_search
from pipelines.mine.memory_budget import require_pair_memory
from pipelines.mine.mine_settings import VectorJobSettings
from pipelines.mine.pair_search import EmbeddedText, JobResult, Report, SideData, require_codebook, search_pairs
from pipelines.mine.probe_pairs import ProbeSide, write_probes
from pipelines.mine.vector_files import ProbeLines, VectorFile, open_vector_file, plan_seed, store_sentences

_TEXT_SHARE = 16  # a shard of texts takes no more than this part of the memory


def mine_vectors(settings: VectorJobSettings, *, quiet: bool = True, report: Report = lambda stage: None) -> JobResult:
    """Mine the vectors of two files; everything that is wrong with them is found before anything is written."""
    files = settings.source, settings.target
    sides = [open_vector_file(given, settings.dim, settings.dtype) for given in files]
    require_fit(sides[0].vectors, sides[1].vectors, settings.k)
    if settings.threshold.gold is not None:
        read_id_pairs(settings.threshold.gold, sides[0].lines, sides[1].lines)
    probes = plan_seed(settings, sides) if settings.seed is not None else None
    require_codebook(settings, _facts([side.vectors for side in sides], probes)[0])
    settings = _within_memory(settings, sides)
    with held_folder(settings.work):
        report("store vectors")
        source, target = _store(settings, sides, probes)
        return search_pairs(settings, source, target, quiet=quiet, report=report)


def _within_memory(settings: VectorJobSettings, sides: Sequence[VectorFile]) -> VectorJobSettings:
    """The settings with shards that fit the memory; a budget in which nothing fits is refused."""
    counts = [side.lines.count for side in sides]
    dim, search = sides[0].vectors.dim, settings.search
    if search == "auto":
        search = fitting_search(*counts)
    rows = settings.rows_per_shard
    line_bytes = max(side.lines.size / side.lines.count for side in sides)
    rows = max(1, min(rows, int(settings.memory / _TEXT_SHARE / (line_bytes + 100))))
    left, right = (min(rows, count) for count in counts)
    if search == "exact":
        plan_cells(left, right, dim, settings.k, settings.memory, settings.threads or core_count())
    elif search == "approximate":
        plan_index(max(counts), max(counts), dim, settings.k, settings.memory)
    require_pair_memory(settings.memory, *counts)
    return settings.model_copy(update={"rows_per_shard": rows})


def _store(
    settings: VectorJobSettings, sides: Sequence[VectorFile], probes: tuple[ProbeLines, ProbeLines] | None
) -> list[SideData]:
    """Sentences and vectors of both sides, with the known pairs behind them."""
    seed = file_input(settings.seed, SEED) if settings.seed is not None else None
    facts, dtype = _facts([side.vectors for side in sides], probes)
    stored = []
    for number, (name, given, side) in enumerate(
        zip(("src", "tgt"), (settings.source, settings.target), sides, strict=True)
    ):
        file = file_input(given.vectors, VECTORS)
        mine = probes[number] if probes else None
        out = join(settings.work, name)
        sentences, rows = store_sentences(side, file, out, settings.rows_per_shard, mine, seed)
        vectors = store_vectors(sentences, GivenVectors(side.vectors.stored, rows, [file]), facts, dtype)
        known = None
        if mine is not None and seed is not None:
            place = ProbeSide(sentences, side.lang, f"{out}-probes")
            written = write_probes(seed, place, number, mine.pairs, mine.texts)
            known = EmbeddedText(written, store_vectors(written, mine.vectors, facts, dtype))
        stored.append(SideData(EmbeddedText(sentences, vectors), known))
    return stored


def _facts(vectors: Sequence[Vectors], probes: Sequence[ProbeLines] | None) -> tuple[EncoderIdentity, str]:
    """What is known of the encoder, and a type that holds the vectors of every file."""
    named = [vector.metadata["encoder"] for vector in vectors if vector.metadata.get("encoder")]
    stored = [vector.stored for vector in vectors] + [side.vectors.stored for side in probes or ()]
    widths = {array.shape[1] for array in stored}
    if len(widths) > 1:
        raise InputError(f"the vectors of the seed pairs are of other dimensions than those of the texts: {widths}")
    dtype = np.result_type(*stored).name
    return EncoderIdentity(named[0] if named else "given vectors", vectors[0].dim, None), dtype
