"""Training of the pair classifier: bitext in, synthetic tasks, trees out."""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator, Sequence

import numpy as np
from pydantic import Field

from encoder.data.corpora import DataSettings, find_files
from encoder.data.readers import Group, read_groups
from encoder.inference import Encoder
from encoder.settings import Settings
from mining.errors import InputError
from mining.knn import knn_graph
from mining.neighbours import Graph
from mining.retrieval import Edges
from mining.scoring.classifier import Examples, PairClassifier, Use, fit_head
from mining.scoring.features import NAMES, pair_features
from mining.scoring.lexicon import Lexicon, train_lexicon
from mining.scoring.noise import drop_words
from mining.scoring.tasks import Bitext, cleaning_task, label_candidates, mining_task
from mining.threads import Threads, thread_pool
from mining.vectors import from_array
from pipelines.clean.given import with_rivals
from pipelines.mine.word_texts import Projection, find_words, read_texts

Report = Callable[[str], None]
_PCA_WORDS = 30_000
_FEWEST_PAIRS = 400


class ClassifierSettings(Settings):
    """Which bitext the classifier learns from, and how."""

    data: DataSettings
    languages: tuple[str, ...] | None = Field(None, description="Tasks between these and English; all when not given.")
    pairs: int = Field(5000, ge=_FEWEST_PAIRS, description="Sentence pairs of each task.")
    lexicon_pairs: int = Field(15000, ge=0, description="Further pairs of each language for its lexicon.")
    word_dim: int = Field(96, ge=8, description="Dimensions in which words are compared.")
    word_dropout: float = Field(0.15, ge=0, lt=1, description="Share of words that sentence vectors do not see.")
    k: int = Field(4, ge=1)
    trees: int = Field(300, ge=1)
    random_seed: int = 0


def train_classifier(
    settings: ClassifierSettings, encoder: Encoder, report: Report = lambda line: None
) -> PairClassifier:
    """A classifier for the vectors of this encoder."""
    begin = time.perf_counter()
    rng = np.random.default_rng(settings.random_seed)
    bitexts = sample_bitexts(settings)
    report(f"{sum(map(len, bitexts)):,} pairs of {len(bitexts)} languages")
    projection = fit_projection(bitexts, encoder, settings.word_dim, rng)
    tasks: list[Examples] = []
    with thread_pool() as threads:
        maker = TaskMaker(settings, encoder, lambda vectors: vectors @ projection, threads, rng)
        for bitext in bitexts:
            made = list(maker.examples(bitext))
            tasks += made
            counts = ", ".join(f"{task.labels.size:,} of {task.use} ({task.labels.mean():.0%} right)" for task in made)
            report(f"{bitext.src_lang}-{bitext.tgt_lang}: {counts}")
    heads = {use: fit_head(tasks, use, settings.trees, rng, settings.random_seed) for use in Use}
    about = {
        "languages": [bitext.src_lang for bitext in bitexts],
        "pairs": sum(map(len, bitexts)),
        "rows": sum(len(task.labels) for task in tasks),
        "seconds": round(time.perf_counter() - begin),
        "settings": settings.model_dump(mode="json", exclude={"data"}),
    }
    return PairClassifier(heads, projection, encoder.fingerprint, about)


def sample_bitexts(settings: ClassifierSettings) -> list[Bitext]:
    """For each language a random sample of its pairs with English, even over the files they come from."""
    wanted = settings.pairs + settings.lexicon_pairs
    pools: dict[str, dict[str, list[tuple[str, str]]]] = {}
    rng = np.random.default_rng(settings.random_seed)
    seen: dict[tuple[str, str], int] = {}
    for file in find_files(settings.data):
        for group in read_groups(file):
            if not isinstance(group, Group) or "en" not in group.langs:
                continue
            english = group.texts[group.langs.index("en")]
            for lang, text in zip(group.langs, group.texts, strict=True):
                if lang == "en" or (settings.languages and lang not in settings.languages):
                    continue
                pool = pools.setdefault(lang, {}).setdefault(file.name, [])
                _reservoir(pool, (text, english), wanted, seen, (lang, file.name), rng)
    bitexts = [_even(lang, list(files.values()), wanted, rng) for lang, files in sorted(pools.items())]
    bitexts = [bitext for bitext in bitexts if len(bitext) >= _FEWEST_PAIRS]
    if not bitexts:
        raise InputError(f"no language has {_FEWEST_PAIRS} pairs with English in the data to learn a classifier from")
    return bitexts


def _reservoir(
    pool: list[tuple[str, str]],
    pair: tuple[str, str],
    size: int,
    seen: dict[tuple[str, str], int],
    key: tuple[str, str],
    rng: np.random.Generator,
) -> None:
    seen[key] = seen.get(key, 0) + 1
    if len(pool) < size:
        pool.append(pair)
    elif (place := int(rng.integers(seen[key]))) < size:
        pool[place] = pair


def _even(lang: str, files: list[list[tuple[str, str]]], wanted: int, rng: np.random.Generator) -> Bitext:
    """Pairs of all files in turn, until there are enough: no file crowds out the others."""
    shuffled = [[pool[i] for i in rng.permutation(len(pool)).tolist()] for pool in files]
    chosen: dict[tuple[str, str], None] = {}
    for turn in range(max(map(len, shuffled))):
        for pool in shuffled:
            if turn < len(pool) and len(chosen) < wanted:
                chosen.setdefault(pool[turn])
    pairs = list(chosen)
    order = rng.permutation(len(pairs)).tolist()
    return Bitext(lang, "en", [pairs[i][0] for i in order], [pairs[i][1] for i in order])


def fit_projection(bitexts: Sequence[Bitext], encoder: Encoder, dim: int, rng: np.random.Generator) -> np.ndarray:
    """Principal components (dim of vectors, `dim`) of word vectors of all languages, as many of each."""
    vectors = []
    for bitext in bitexts:
        for texts, lang in ((bitext.source, bitext.src_lang), (bitext.target, bitext.tgt_lang)):
            words = find_words(texts[:2000], lang).vocabulary
            count = min(len(words), _PCA_WORDS // (2 * len(bitexts)))
            chosen = rng.choice(len(words), count, replace=False)
            vectors.append(encoder.encode([words[int(i)].as_py() for i in chosen], lang))
    everything = np.concatenate(vectors).astype(np.float64)
    everything /= np.maximum(np.linalg.norm(everything, axis=1, keepdims=True), 1e-9)
    values, components = np.linalg.eigh(everything.T @ everything)
    chosen = np.argsort(-values)[: min(dim, everything.shape[1])]
    return np.ascontiguousarray(components[:, chosen], np.float32)


class TaskMaker:
    """Examples of one language at a time."""

    def __init__(
        self,
        settings: ClassifierSettings,
        encoder: Encoder,
        project: Projection,
        threads: Threads,
        rng: np.random.Generator,
    ) -> None:
        self.settings, self.encoder, self.project, self.threads, self.rng = settings, encoder, project, threads, rng

    def examples(self, bitext: Bitext) -> Iterator[Examples]:
        """One mining and one cleaning task; the lexicon is of pairs that are in neither."""
        size = min(self.settings.pairs, len(bitext))
        lexicon = self._lexicon(bitext.take(range(size, len(bitext)))) if len(bitext) > 2 * size else None
        part = bitext.take(range(size))
        yield self._mining(part, lexicon)
        yield self._cleaning(part, lexicon)

    def _lexicon(self, bitext: Bitext) -> Lexicon:
        return train_lexicon(find_words(bitext.source, bitext.src_lang), find_words(bitext.target, bitext.tgt_lang))

    def _mining(self, bitext: Bitext, lexicon: Lexicon | None) -> Examples:
        shared = float(self.rng.choice([0.15, 0.3, 0.5]))
        task = mining_task(bitext, shared, self.rng)
        graph = self._graph(task.source, task.target, bitext)
        edges, right, usable = label_candidates(task, graph)
        features = self._features(graph, edges, task.source, task.target, bitext, lexicon)
        return Examples(Use.mining, features[usable], right[usable])

    def _cleaning(self, bitext: Bitext, lexicon: Lexicon | None) -> Examples:
        clean = self._graph(bitext.source, bitext.target, bitext)
        task = cleaning_task(bitext, float(self.rng.choice([0.2, 0.5])), clean, self.rng)
        vectors = self._vectors(task.source, task.target, bitext)
        graph = knn_graph(from_array(vectors[0]), from_array(vectors[1]), self.settings.k)
        edges, given = with_rivals(graph, vectors[0], vectors[1])
        features = self._features(graph, edges, task.source, task.target, bitext, lexicon, given)
        rows = edges.source[given]
        return Examples(Use.cleaning, features[given], task.right[rows])

    def _features(
        self,
        graph: Graph,
        edges: Edges,
        source: list[str],
        target: list[str],
        bitext: Bitext,
        lexicon: Lexicon | None,
        given: np.ndarray | None = None,
    ) -> np.ndarray:
        left = read_texts(source, bitext.src_lang, self.encoder, self.project)
        right = read_texts(target, bitext.tgt_lang, self.encoder, self.project)
        features = pair_features(graph, edges, left, right, self.threads, lexicon_table=lexicon, given=given)
        if lexicon is not None:  # half of the sources do without, as most users will
            blind = self.rng.random(int(edges.source.max(initial=0)) + 1) < 0.5
            hide_lexicon(features, blind[edges.source])
        return features

    def _vectors(self, source: list[str], target: list[str], bitext: Bitext) -> tuple[np.ndarray, np.ndarray]:
        share = self.settings.word_dropout
        left, right = (
            self.encoder.encode(drop_words(texts, share, self.rng), lang, normalize=True)
            for texts, lang in ((source, bitext.src_lang), (target, bitext.tgt_lang))
        )
        return left, right

    def _graph(self, source: list[str], target: list[str], bitext: Bitext) -> Graph:
        left, right = self._vectors(source, target, bitext)
        return knn_graph(from_array(left), from_array(right), self.settings.k)


def hide_lexicon(features: np.ndarray, rows: np.ndarray) -> None:
    """Features of the lexicon, and their contrasts, as without one."""
    columns = [place for place, name in enumerate(NAMES) if name.startswith("lexicon")]
    features[np.ix_(np.flatnonzero(rows), np.array(columns))] = np.nan
