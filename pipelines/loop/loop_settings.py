"""The configuration of a loop: `configs/loop-*.yaml`."""

from __future__ import annotations

from typing import Any, Literal

from pydantic import Field, field_validator, model_validator

from encoder.data.corpora import CorpusSettings
from encoder.languages import canonical
from encoder.objectives.mixture import shapes
from encoder.settings import Settings, validate_settings
from encoder.training.training_settings import TrainSettings
from mining.errors import InputError
from mining.filters import FilterSettings
from mining.margin import Margin
from mining.probes import MIN_PROBES
from mining.retrieval import Retrieval
from mining.scoring.tasks import NEAR
from pipelines.clean.classifier_training import TaskSettings
from pipelines.datasets import ROWS_PER_SHARD
from pipelines.evaluation.finished_rows import Column
from pipelines.evaluation.suite import Entry
from pipelines.graph.graph_settings import Search
from pipelines.prepare.readers import ReadSettings

PROBES = "{probes}"  # in `seed_pairs` of a benchmark: the folder of the pairs that the loop keeps back
# Sections of a training configuration that the loop itself fills in.
_FILLED = ("data.corpora", "limits", "random_seed")


class SeedSettings(Settings):
    """Bitext to begin with: `pairs` of it are trained on, `probes` of each language pair calibrate the thresholds."""

    corpora: tuple[CorpusSettings, ...] = Field(min_length=1)
    pairs: int | None = Field(None, ge=1, description="Draw this many, evenly over all language pairs; default: all.")
    probes: int = Field(400, ge=4 * MIN_PROBES, description="More pairs of each language pair, never trained on.")


class LoopTextSettings(Settings):
    """Monolingual text of one language."""

    inputs: list[str] = Field(min_length=1, description="Files, URLs or globs.")
    read: dict[str, Any] = Field(default_factory=dict, description="As for prepare: format, column, max_chars ...")
    lang_filter: Literal["detect", "assume"] = Field(
        "detect", description="Drop sentences of other languages, or trust the language given."
    )

    def reading(self, lang: str) -> ReadSettings:
        return validate_settings(ReadSettings, {**self.read, "lang": lang}, f"text.{lang}.read")


class GoldSettings(Settings):
    """True pairs between two files in BUCC's form (`id TAB sentence`): only to say how right mined pairs are."""

    pair: str = Field(description="The language pair.")
    source: str = Field(description="Sentences of the first language.")
    target: str = Field(description="Sentences of the second.")
    gold: str = Field(description="The true pairs, by id.")


class MiningSettings(Settings):
    """How every round mines."""

    k: int = Field(4, ge=1, description="Neighbours that a margin is measured against.")
    search: Search = Field("exact", description="Exact, or approximate with its recall measured.")
    margin: Margin = Field(Margin.ratio, description="How a cosine is compared with those of the neighbours.")
    retrieval: Retrieval = Field(Retrieval.max, description="Which candidates become pairs.")
    filters: FilterSettings = FilterSettings()
    dtype: Literal["float16", "float32"] = Field("float32", description="Type of stored vectors.")
    rows_per_shard: int = Field(ROWS_PER_SHARD, ge=1, description="Sentences, vectors and pairs in each shard.")


class HardNegativeSettings(Settings):
    """Near neighbours that were not matched and whose margin is low: not translations, but easily taken for one."""

    below: float = Field(1.0, description="Highest margin of a negative: above it may be an unmatched translation.")
    share: float = Field(NEAR, gt=0, description="Highest similarity of a negative, as a share of its pair's.")


class SelectionSettings(Settings):
    """Which mined pairs are trained on, beyond the threshold."""

    per_sentence: int | None = Field(None, ge=1, description="Pairs of one sentence, over all language pairs.")
    per_language_pair: int | None = Field(None, ge=1, description="Most pairs of each language pair, the best ones.")
    near_duplicates: Literal["drop", "keep"] = Field(
        "drop", description="Pairs with a side that another pair has too, but for case, punctuation and digits."
    )
    hard_negatives: HardNegativeSettings | None = None


class RoundSettings(Settings):
    """One round of mining and training; `precision` rising or falling over the rounds makes a curriculum."""

    precision: float = Field(0.9, gt=0, le=1, description="Of the mined pairs, by probe pairs.")
    updates: int = Field(ge=1, description="Of this round's training.")
    start: Literal["parent", "scratch"] = Field("parent", description="Weights to train on; subwords stay the same.")
    seed_weight: float = Field(1.0, gt=0, description="How much more often seed pairs are drawn than by number.")
    change: dict[str, Any] = Field(default_factory=dict, description="Sections of `train` that are otherwise here.")


class HeldOutColumn(Column):
    """A score of the table."""

    decides: bool = Field(True, description="Its mean with the others that decide says which round is best.")


class LoopSettings(Settings):
    """`train` is a training configuration without corpora and limits, which the loop fills in.

    Its `start` is what round 0 and the control begin with.
    """

    seed: SeedSettings
    text: dict[str, LoopTextSettings] = Field(min_length=2)
    pairs: tuple[str, ...] = Field(min_length=1, description="Language pairs to mine, such as de-en.")
    train: dict[str, Any] = Field(description="As for `twinlode train`, without corpora and limits.")
    updates: int = Field(ge=1, description="Of round 0, on the seed.")
    rounds: tuple[RoundSettings, ...] = Field(min_length=1, description="Round 1, 2 ...; the last one repeats.")
    max_rounds: int = Field(3, ge=0, description="Rounds after round 0.")
    patience: int = Field(1, ge=1, description="Stop after this many rounds without a better score.")
    least_gain: float = Field(0.0, ge=0, description="Points that count as better.")
    control: bool = Field(False, description="Also train on the seed alone, with as many updates as all rounds.")
    mining: MiningSettings = MiningSettings()
    selection: SelectionSettings = SelectionSettings()
    classifier: TaskSettings | None = Field(
        None, description="Also train a pair classifier for each encoder, on the seed; the next round mines with it."
    )
    data: str = Field(".", description="Root of the benchmarks' folders.")
    benchmarks: tuple[Entry, ...] = Field(min_length=1)
    columns: tuple[HeldOutColumn, ...] = Field(min_length=1)
    exclude: tuple[str, ...] = Field((), description="More files whose sentences must not be trained on.")
    gold: tuple[GoldSettings, ...] = ()
    random_seed: int = Field(0, ge=0, description="For everything that is drawn.")
    shared: str | None = Field(None, description="Folder or URL that all workers reach, for vectors, graph and pairs.")
    processes: int = Field(1, ge=1, description="Training processes (torchrun) on this machine.")
    device: str = Field("auto", description="Auto, cpu, cuda, or cuda:1 and so on.")
    threads: int | None = Field(None, ge=1, description="CPU threads; all cores when not given.")

    @field_validator("text")
    @classmethod
    def _known_languages(cls, text: dict[str, LoopTextSettings]) -> dict[str, LoopTextSettings]:
        return {canonical(lang): settings for lang, settings in text.items()}

    @model_validator(mode="after")
    def _everything_fits(self) -> LoopSettings:
        for pair in (*self.pairs, *(gold.pair for gold in self.gold)):
            languages = pair.split("-")
            missing = [lang for lang in languages if lang not in self.text]
            if len(set(languages)) != 2 or missing:
                raise ValueError(f"{pair}: a language pair is two of those in `text`: {', '.join(self.text)}")
        if len(set(self.pairs)) < len(self.pairs):
            raise ValueError("a language pair is listed twice")
        labels = [benchmark.label for benchmark in self.benchmarks]
        for column in self.columns:
            if column.benchmark not in labels:
                raise ValueError(f"column {column.title}: no benchmark is called {column.benchmark}: {labels}")
        if not any(column.decides for column in self.columns):
            raise ValueError("no column decides which round is best; leave out `decides: false` of one")
        if self.classifier is not None and self.mining.retrieval != Retrieval.max:
            raise ValueError("candidates that a classifier scores are matched one to one: mining.retrieval must be max")
        return self

    def round(self, number: int) -> RoundSettings:
        """The settings of round 1, 2 ..."""
        return self.rounds[min(number, len(self.rounds)) - 1]

    @property
    def languages(self) -> list[str]:
        """Those that are mined."""
        return list(dict.fromkeys(lang for pair in self.pairs for lang in pair.split("-")))

    def pivots(self) -> list[str]:
        """Languages of several pairs: mined pairs that share a sentence of theirs make groups of translations."""
        sides = [lang for pair in self.pairs for lang in pair.split("-")]
        return sorted({lang for lang in sides if sides.count(lang) > 1})


def training_settings(
    settings: LoopSettings, change: dict[str, Any], corpora: list[dict[str, Any]], updates: int, **more: Any
) -> TrainSettings:
    """The training configuration of a round; `more` are sections that the loop decides."""
    if "start" in change:
        raise InputError("change.start: a round begins with the one before it, by `start: parent` or `start: scratch`")
    tree = {**settings.train, **change}
    data = dict(tree.get("data") or {})
    if settings.pivots():
        data.setdefault("assemble", {"pivots": settings.pivots()})
    for name in _FILLED:
        section, _, key = name.partition(".")
        where = tree if not key else data
        if (key or section) in where:
            raise InputError(f"train.{name} is for the loop to fill in; leave it out")
    tree |= {
        "data": {**data, "corpora": corpora},
        "limits": {"steps": updates},
        "random_seed": settings.random_seed,
        **more,
    }
    return validate_settings(TrainSettings, tree, "train")


def learns_from_triples(plan: TrainSettings) -> bool:
    return "triples" in shapes(plan.objective)
