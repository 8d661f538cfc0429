"""Pairs a CPU second through `clean`, by its parts: one thread each, start-up and compilation left out.

`OMP_NUM_THREADS=1 python -m tests.benchmarks clean`; needs ../shared/data/train. German-English pairs of Europarl;
where these are used up, the first half of one and the second half of another. PAIRS (default: 145,944) is how many.
"""

from __future__ import annotations

import json
import lzma
import os
import time
from collections import Counter
from collections.abc import Iterator
from contextlib import contextmanager
from itertools import count, islice
from pathlib import Path
from tempfile import TemporaryDirectory

import pyarrow as pa
from rich.console import Console
from rich.table import Table

from encoder import default
from mining.filters import apply_filters
from mining.knn import knn_graph
from mining.scoring.features import pair_features
from mining.threads import thread_pool
from mining.vectors import from_array
from pipelines.clean.bitext_chunks import read_chunks
from pipelines.clean.bitext_rows import BitextSettings
from pipelines.clean.chunk_scores import K, scores_of
from pipelines.clean.clean_settings import CleanSettings
from pipelines.clean.clean_stage import Loaded, clean, load_scorer, read_scored
from pipelines.clean.cleaned_files import write_kept, write_rejected
from pipelines.clean.given import with_rivals
from pipelines.mine.word_texts import read_texts
from tests.conftest import SHARED_DATA

DATA = SHARED_DATA / "train/nway/europarl7.jsonl.xz"
PAIRS = int(os.environ.get("PAIRS", 145_944))
_LANGS = "de", "en"
_WARM_UP = 3000
_LOADING = "encoder and classifier, loaded once"
_WHOLE = "whole but that, with chunks and results on disk"


def europarl_pairs() -> Iterator[tuple[str, str]]:
    """Real pairs, then halves of two of them, without end."""
    with lzma.open(DATA, "rt") as stream:
        groups = [group for group in map(json.loads, stream) if all(lang in group for lang in _LANGS)]
    pairs = [(" ".join(group[_LANGS[0]].split()), " ".join(group[_LANGS[1]].split())) for group in groups]
    yield from pairs
    for shift in count(1000, 4000):
        for row, (source, target) in enumerate(pairs):
            other = pairs[(row + shift) % len(pairs)]
            yield _halves(source, other[0]), _halves(target, other[1])


def _halves(first: str, second: str) -> str:
    left, right = first.split(), second.split()
    return " ".join([*left[: (len(left) + 1) // 2], *right[len(right) // 2 :]])


class Clock:
    """CPU seconds of all threads, by part."""

    def __init__(self) -> None:
        self.seconds: Counter[str] = Counter()

    @contextmanager
    def part(self, name: str) -> Iterator[None]:
        began = time.process_time()
        yield
        self.seconds[name] += time.process_time() - began


def score_by_parts(chunk: pa.Table, loaded: Loaded, settings: CleanSettings, clock: Clock) -> None:
    """What `score_chunk` does, a part at a time."""
    scorer = loaded.scorer
    texts = chunk.select(["source", "target"]).rename_columns(["src_text", "tgt_text"]).combine_chunks()
    language = settings.filters.language
    with clock.part("filters but language"):
        apply_filters(texts, settings.filters.model_copy(update={"language": None}), *_LANGS)
    with clock.part("language filter"):
        apply_filters(texts, settings.filters.none().model_copy(update={"language": language}), *_LANGS)
    sides = [(texts[name].to_pylist(), lang) for name, lang in zip(("src_text", "tgt_text"), _LANGS, strict=True)]
    with clock.part("subwords"):
        tokens = [scorer.encoder.tokenize(list(dict.fromkeys(side)), lang) for side, lang in sides]
    with clock.part("sentence vectors"):
        for ids in tokens:
            scorer.encoder.encode_tokens(ids, normalize=True)
    vectors = [scorer.encoder.encode(side, lang, normalize=True) for side, lang in sides]
    with clock.part("graph"):
        graph = knn_graph(from_array(vectors[0]), from_array(vectors[1]), K, threads=1)
        edges, given = with_rivals(graph, vectors[0], vectors[1])
    with clock.part("words and surface of each text"):
        left, right = (read_texts(side, lang, scorer._words) for side, lang in sides)
    with clock.part("features of pairs"), thread_pool(1) as pool:
        features = pair_features(graph, edges, left, right, pool, given=given)[given]
    with clock.part("trees"):
        scores_of(features, scorer.classifier, 1)


def run_whole(settings: CleanSettings, folder: Path, clock: Clock, part: str) -> None:
    """As the command does, but for what it says."""
    with clock.part(part):
        cleaned = clean(settings)
        write_kept(str(folder / "kept.tsv"), read_scored(cleaned), settings.bitext)
        write_rejected(str(folder / "rejected.tsv"), read_scored(cleaned))


def report(clock: Clock, pairs: int) -> None:
    table = Table("part", "CPU s", "pairs a CPU second", title=f"clean, {pairs:,} pairs")
    for part, seconds in clock.seconds.items():
        table.add_row(part, f"{seconds:.2f}", f"{pairs / seconds:,.0f}")
    Console().print(table)


def main() -> None:
    if not DATA.exists():
        print(f"## clean: skipped, {DATA} is not here")
        return
    with TemporaryDirectory() as folder:
        bitext = Path(folder) / "bitext.tsv"
        bitext.write_text("".join(f"{source}\t{target}\n" for source, target in islice(europarl_pairs(), PAIRS)))
        few = Path(folder) / "few.tsv"
        few.write_text("".join(f"{source}\t{target}\n" for source, target in islice(europarl_pairs(), _WARM_UP)))
        settings = CleanSettings(
            bitext=BitextSettings(path=str(bitext), src_lang=_LANGS[0], tgt_lang=_LANGS[1]),
            encoder=str(default.model_folder()),
            work=f"{folder}/work",
        )
        warm = settings.model_copy(update={"bitext": settings.bitext.model_copy(update={"path": str(few)})})
        run_whole(warm, Path(folder), Clock(), "compilation")
        clock = Clock()
        with clock.part(_LOADING):
            loaded = load_scorer(settings)
        with clock.part("reading and repeats"):
            chunks = list(read_chunks(settings.bitext, settings.rows))
        for chunk in chunks:
            score_by_parts(chunk, loaded, settings, clock)
        del chunks
        run_whole(settings, Path(folder), clock, _WHOLE)
        clock.seconds[_WHOLE] -= clock.seconds[_LOADING]
        report(clock, PAIRS)


if __name__ == "__main__":
    main()
