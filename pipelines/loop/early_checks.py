"""What can be found wrong with a loop before its first training."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from pathlib import Path

from mining.errors import InputError
from mining.language_id import is_known
from mining.paths import expand
from pipelines.datasets.manifest import Counters
from pipelines.evaluation.score_names import require_scores
from pipelines.loop.loop_settings import LoopSettings, learns_from_triples, training_settings
from pipelines.loop.round_mining import text_settings
from pipelines.loop.round_scores import with_probes
from pipelines.prepare.parts import clean
from pipelines.prepare.prepare_settings import PrepareSettings
from pipelines.prepare.readers import cut_file, read_block
from pipelines.prepare.sentence_stage import language_test, nothing_left

Report = Callable[[str], None]  # told the name of each check


def check_plans(settings: LoopSettings) -> None:
    """The training settings of all rounds."""
    seed = [{"path": "seed.tsv"}]
    training_settings(settings, {}, seed, settings.updates)
    for of_round in settings.rounds:
        more = [{"path": "negatives.tsv", "format": "nli"}] if settings.selection.hard_negatives else []
        plan = training_settings(settings, of_round.change, seed + more, of_round.updates)
        if more and not learns_from_triples(plan):
            raise InputError("selection.hard_negatives are for objectives on triples; no objective of a round is one")


def check_text(settings: LoopSettings, base: str, report: Report) -> None:
    """Each language has a sentence that `prepare` would keep; a whole text is read only where it has none."""
    for lang in settings.languages:
        report(f"check {lang}")
        request = text_settings(settings, base, lang, None)
        if request.lang_filter == "detect" and not is_known(lang):
            raise InputError(
                f"text.{lang}: the language detector does not know {lang}; "
                "write `lang_filter: assume` there to trust that all of it is in this language"
            )
        files, seen = expand(request.inputs), Counters()
        for batch in _cleaned(request, files):
            seen += batch
            if seen.kept:
                break
        else:
            raise InputError(f"text.{lang}: {nothing_left(files, seen)}")


def _cleaned(request: PrepareSettings, files: list[str]) -> Iterator[Counters]:
    language = language_test(request)
    for file in files:
        for block in cut_file(file, request.read, request.block_bytes, 0):
            for batch in read_block(block, request.read):
                kept = clean(batch, language)
                yield Counters(rows_in=batch.rows_in, kept=len(kept.texts), dropped=dict(kept.dropped))


def check_benchmarks(settings: LoopSettings, probes: Path, report: Report) -> None:
    """Their files, and the names of their scores."""
    for benchmark in settings.benchmarks:
        report(f"check {benchmark.label}")
        require_scores(settings.columns, with_probes(benchmark, probes), Path(settings.data))
