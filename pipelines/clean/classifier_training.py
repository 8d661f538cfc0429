"""Training of the pair classifier: bitext in, synthetic tasks, trees out."""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator, Sequence
from functools import partial

import numpy as np
from pydantic import Field

from encoder.data.corpora import DataSettings
from encoder.inference import Encoder
from encoder.languages import canonical
from encoder.settings import Settings
from mining.knn import knn_graph
from mining.neighbours import KnnGraph
from mining.retrieval import Edges
from mining.row_products import row_products
from mining.scoring.classifier import PairClassifier, Use
from mining.scoring.features import MEANS, NAMES, pair_features
from mining.scoring.fitting import TaskExamples, fit_head
from mining.scoring.lexicon import Lexicon, train_lexicon
from mining.scoring.noise import drop_words
from mining.scoring.tasks import Bitext, MiningTask, cleaning_task, component_of, label_candidates, mining_task
from mining.threads import Threads, thread_pool
from mining.vectors import from_array
from pipelines.clean.bitext_sample import FEWEST_PAIRS, BitextSample, sample_bitexts
from pipelines.clean.given import with_rivals
from pipelines.clean.gold_task import GoldTaskSettings, read_gold_task
from pipelines.mine.word_texts import Projection, WordEncoder, find_words, read_texts

Report = Callable[[str], None]
_FAR = 0.01
_PCA_WORDS = 30_000
_LEXICON_PAIRS = 2000  # fewer make no lexicon


class TaskSettings(Settings):
    """How the classifier learns from bitext."""

    pairs: int = Field(12000, ge=FEWEST_PAIRS, description="Sentence pairs of each mining task, at most.")
    cleaning_pairs: int = Field(4000, ge=FEWEST_PAIRS, description="Sentence pairs of each cleaning task, at most.")
    lexicon_pairs: int = Field(15000, ge=0, description="Further pairs of two languages, for their lexicon.")
    word_dim: int = Field(128, ge=8, description="Dimensions in which words are compared.")
    word_dropout: float = Field(0.15, ge=0, lt=1, description="Share of words that sentence vectors do not see.")
    k: int = Field(4, ge=1, description="Neighbours that a margin is measured against.")
    trees: int = Field(300, ge=1, description="Trees of each model.")
    mining_models: int = Field(3, ge=1, description="Models whose mean scores mined candidates; cleaning has one.")
    random_seed: int = Field(0, description="For everything that is drawn.")


class ClassifierSettings(TaskSettings):
    """Which bitext the classifier learns from, and how."""

    data: DataSettings
    language_pairs: tuple[str, ...] | None = Field(
        None, description="Tasks between these, such as de-en; when not given, every language with English."
    )
    gold: tuple[GoldTaskSettings, ...] = Field((), description="Mining tasks with known pairs, beside those of bitext.")


def train_classifier(
    settings: ClassifierSettings, encoder: Encoder, report: Report = lambda line: None
) -> PairClassifier:
    """A classifier for the vectors of this encoder."""
    begin = time.perf_counter()
    rng = np.random.default_rng(settings.random_seed)
    wanted = settings.pairs + settings.lexicon_pairs
    samples = sample_bitexts(settings.data, settings.language_pairs, wanted, rng)
    pairs = sum(len(sample.mixed) for sample in samples)
    report(f"{pairs:,} sentence pairs of {len(samples)} pairs of languages")
    projection = fit_projection([sample.mixed for sample in samples], encoder, settings.word_dim, rng)
    tasks: list[TaskExamples] = []
    with thread_pool() as threads:
        maker = TaskMaker(settings, encoder, partial(row_products, matrix=projection), threads, rng)
        for sample in samples:
            made = list(maker.examples(sample))
            tasks += made
            counts = ", ".join(f"{task.labels.size:,} of {task.use} ({task.labels.mean():.0%} right)" for task in made)
            report(f"{sample.name}: {counts}")
        for given in settings.gold:
            tasks.append(maker.gold_examples(given))
            report(f"{given.pair}: {tasks[-1].labels.size:,} of {given.gold} ({tasks[-1].labels.sum():,} right)")
    models = {Use.mining: settings.mining_models, Use.cleaning: 1}
    fitted = {use: fit_head(tasks, use, settings.trees, settings.random_seed, models=models[use]) for use in Use}
    heads = {use: found.head for use, found in fitted.items()}
    about = {
        "languages": [sample.name for sample in samples],
        "pairs": pairs,
        "rows": sum(len(task.labels) for task in tasks),
        "seconds": round(time.perf_counter() - begin),
        "settings": settings.model_dump(mode="json", exclude={"data"}),
    }
    components, least_mean = fitted[Use.cleaning].components, _least_mean(tasks)
    return PairClassifier(heads, components, projection, encoder.fingerprint, about, least_mean)


def _least_mean(tasks: Sequence[TaskExamples]) -> float:
    """The mean cosine of neighbours that nearly all sentences of all tasks have."""
    return round(min(float(np.quantile(task.features[:, MEANS], _FAR)) for task in tasks), 4)


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
    """TaskExamples of one language at a time."""

    def __init__(
        self,
        settings: ClassifierSettings,
        encoder: Encoder,
        project: Projection,
        threads: Threads,
        rng: np.random.Generator,
    ) -> None:
        self.settings, self.encoder, self.threads, self.rng = settings, encoder, threads, rng
        self.words = WordEncoder(encoder, project)

    def examples(self, sample: BitextSample) -> Iterator[TaskExamples]:
        """Two mining tasks and one cleaning task; the lexicon is of pairs that are in none of those that have it."""
        mixed, single = sample
        most = self.settings.pairs
        size = min(most, 2 * len(mixed) // 3)
        lexicon = self._lexicon(mixed.take(range(size, len(mixed)))) if len(mixed) - size >= _LEXICON_PAIRS else None
        part = mixed.take(range(size if lexicon else min(most, len(mixed))))
        yield self._mining(part, lexicon)
        yield self._mining(single.take(range(min(most, len(single)))), None)
        yield self._cleaning(part.take(range(min(self.settings.cleaning_pairs, len(part)))), lexicon)

    def _lexicon(self, bitext: Bitext) -> Lexicon:
        return train_lexicon(find_words(bitext.source, bitext.src_lang), find_words(bitext.target, bitext.tgt_lang))

    def _mining(self, bitext: Bitext, lexicon: Lexicon | None) -> TaskExamples:
        shared = float(self.rng.choice([0.1, 0.25, 0.5]))
        task = mining_task(bitext, shared, self.rng)
        return self._candidates(task, (bitext.src_lang, bitext.tgt_lang), lexicon, self.settings.word_dropout)

    def gold_examples(self, settings: GoldTaskSettings) -> TaskExamples:
        """A task that people know the answers of; the encoder does not know its text, so nothing is hidden from it."""
        source, target = map(canonical, settings.pair.split("-"))
        return self._candidates(read_gold_task(settings), (source, target), None, dropout=0.0)

    def _candidates(
        self, task: MiningTask, langs: tuple[str, str], lexicon: Lexicon | None, dropout: float
    ) -> TaskExamples:
        graph = self._graph(task.source, task.target, langs, dropout)
        edges, right, usable = label_candidates(task, graph)
        features = self._features(graph, edges, task.source, task.target, langs, lexicon)
        kinds = (~right).astype(np.int64)
        return TaskExamples(Use.mining, features, right, usable, edges.source, edges.target, kinds)

    def _cleaning(self, bitext: Bitext, lexicon: Lexicon | None) -> TaskExamples:
        langs, dropout = (bitext.src_lang, bitext.tgt_lang), self.settings.word_dropout
        clean = self._graph(bitext.source, bitext.target, langs, dropout)
        task = cleaning_task(bitext, float(self.rng.choice([0.2, 0.5])), clean, self.rng)
        vectors = self._vectors(task.source, task.target, langs, dropout)
        graph = knn_graph(from_array(vectors[0]), from_array(vectors[1]), self.settings.k)
        edges, given = with_rivals(graph, vectors[0], vectors[1])
        features = self._features(graph, edges, task.source, task.target, langs, lexicon, given)
        rows = edges.source[given]
        kinds = np.array([component_of(task.kinds[row]) for row in rows.tolist()], np.int64)
        return TaskExamples(
            Use.cleaning, features[given], task.right[rows], np.ones(len(rows), bool), rows, rows, kinds
        )

    def _features(
        self,
        graph: KnnGraph,
        edges: Edges,
        source: list[str],
        target: list[str],
        langs: tuple[str, str],
        lexicon: Lexicon | None,
        given: np.ndarray | None = None,
    ) -> np.ndarray:
        left, right = (read_texts(texts, lang, self.words) for texts, lang in zip((source, target), langs, strict=True))
        features = pair_features(graph, edges, left, right, self.threads, lexicon_table=lexicon, given=given)
        if lexicon is not None:  # half of the sources do without, as most users will
            blind = self.rng.random(int(edges.source.max(initial=0)) + 1) < 0.5
            hide_lexicon(features, blind[edges.source])
        return features

    def _vectors(
        self, source: list[str], target: list[str], langs: tuple[str, str], dropout: float
    ) -> tuple[np.ndarray, np.ndarray]:
        left, right = (
            self.encoder.encode(drop_words(texts, dropout, self.rng), lang, normalize=True)
            for texts, lang in zip((source, target), langs, strict=True)
        )
        return left, right

    def _graph(self, source: list[str], target: list[str], langs: tuple[str, str], dropout: float) -> KnnGraph:
        left, right = self._vectors(source, target, langs, dropout)
        return knn_graph(from_array(left), from_array(right), self.settings.k)


def hide_lexicon(features: np.ndarray, rows: np.ndarray) -> None:
    """Features of the lexicon, and their contrasts, as without one."""
    columns = [place for place, name in enumerate(NAMES) if name.startswith("lexicon")]
    features[np.ix_(np.flatnonzero(rows), np.array(columns))] = np.nan
