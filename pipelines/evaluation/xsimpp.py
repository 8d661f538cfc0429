"""xsim++ (Chen et al. 2023): retrieval among candidates that differ from the right one in a number, a name, a word.

The query is a sentence of another language, the pool all English originals and edits of them. An error is a best
candidate that is not the original; errors are told apart by what the chosen edit changed.
"""

from __future__ import annotations

import json
from collections.abc import Iterator
from dataclasses import dataclass
from functools import cached_property
from typing import Literal, NamedTuple

import numpy as np
from pydantic import Field, model_validator

from mining.errors import InputError
from mining.margin import Margin
from mining.scoring.edits import GENERATOR, hard_candidates
from mining.top_k import MISSING
from pipelines.evaluation.aligned import read_nway, sampled_queries
from pipelines.evaluation.benchmark import Benchmark, Choice, Outcome, Score, averaged, graph_of
from pipelines.evaluation.benchmark_files import DataFolder, Texts, require_aligned
from pipelines.evaluation.comparable import SPLITS, find_pairs, has_split, read_comparable
from pipelines.evaluation.samples import Average, TestItems, mean_percent
from pipelines.evaluation.sources import VectorSource
from pipelines.evaluation.xsim import best_by_margin, is_parallel_name

_ENGLISH = ("en", "eng")
_METHODS = (("margin", Margin.ratio), ("cosine", Margin.absolute))
_MISALIGNED = "another sentence"  # an original that is not the right one, or an edit of such: LASER's "Misaligned"


class Translations(NamedTuple):
    """Sentences and their English originals, line by line."""

    name: str
    queries: Texts
    originals: Texts


@dataclass(frozen=True)
class Pool:
    """Candidates: for each the original that it is or was made of, and what was changed, nothing for an original."""

    parts: tuple[Texts, ...]
    sources: list[str]
    kinds: list[str]
    generator: str

    @cached_property
    def edited(self) -> dict[str, set[str]]:
        """The originals that have an edit of each kind."""
        found: dict[str, set[str]] = {kind: set() for kind in dict.fromkeys(self.kinds) if kind}
        for source, kind in zip(self.sources, self.kinds, strict=True):
            if kind:
                found[kind].add(source)
        return found

    def answer(self, place: int, original: str) -> str:
        """What it means to choose this candidate: nothing when it is right, else the kind of error."""
        return self.kinds[place] if place != MISSING and self.sources[place] == original else _MISALIGNED


class XsimPlusPlus(Benchmark):
    """Line-aligned files, corpora with gold, or parallel TSV, with edits made here; or LASER's published edits."""

    benchmark: Literal["xsimpp"] = "xsimpp"
    files: str = Field(
        "{lang}.txt", description="Line-aligned files, `{lang}` in their name, or one TSV with a header of languages."
    )
    pivot: str = Field("en", description="The English side of line-aligned files.")
    languages: tuple[str, ...] = Field((), description="The others; all that are there if empty.")
    augmented: str | None = Field(None, description="LASER's file of candidates, in place of edits made here.")
    errtypes: str | None = Field(None, description="LASER's JSON that says what was changed in which original.")
    sentences: int = Field(2000, ge=2, description="Most pairs that are drawn from parallel TSV.")
    per_sentence: int = Field(1, ge=1, description="Most edits of a kind of one sentence.")
    per_kind: int = Field(
        400, ge=0, description="Most edits of a kind in all, so that none drowns the rest; 0 for all."
    )
    random_seed: int = Field(0, description="Of whatever is drawn.")
    k: int = Field(4, ge=1, description="Neighbours that a margin is measured against.")

    @model_validator(mode="after")
    def _both_files(self) -> XsimPlusPlus:
        if (self.augmented is None) != (self.errtypes is None):
            raise ValueError("augmented and errtypes belong together: LASER's candidates, and what was changed in each")
        return self

    def run(self, source: VectorSource, data: DataFolder) -> Outcome:
        outcome = Outcome([], [Choice("k", str(self.k))])
        pools: dict[str, Pool] = {}
        for translations in self._sets(data):
            digest = translations.originals.digest
            if digest not in pools:
                pools[digest] = self._pool(data, translations.originals)
                outcome.choices += _choices(translations.originals.name, pools[digest])
            outcome.scores += self._scores(source, translations, pools[digest])
        for metric in dict.fromkeys(score.metric for score in outcome.scores):
            group = [score for score in outcome.scores if score.metric == metric]
            headline = metric.startswith(("xsim++", "mean of kinds"))
            outcome.scores.append(averaged(f"mean of {len(group)}", group, headline=headline))
        return outcome

    def _sets(self, data: DataFolder) -> Iterator[Translations]:
        if data.matching(self.files.replace("{lang}", "*")):
            texts = read_nway(data, self.files, (self.pivot, *self.languages) if self.languages else ())
            if self.pivot not in texts or len(texts) < 2:
                raise InputError(f"{data.root}: no file like {self.files!r} for {self.pivot} and another language")
            originals = texts.pop(self.pivot)
            _require_english(self.pivot, data)
            yield from (Translations(f"{code}-{self.pivot}", other, originals) for code, other in texts.items())
        elif files := [name for name in data.matching("*-*.tsv") if is_parallel_name(name)]:
            for name in files:
                drawn = sampled_queries(
                    data.root / name, data.named(name), self.sentences, self.sentences, self.random_seed
                )
                data.digests[data.named(name)] = f"{drawn.queries.digest} {drawn.candidates.digest}"
                yield _english_last(drawn.name, drawn.queries, drawn.candidates, data)
        else:
            wanted = f"; or line-aligned files like {self.files!r}, or parallel ones such as de-en.tsv"
            for pair in self._pairs(find_pairs(data, wanted), data):
                split = next(split for split in SPLITS if has_split(data, pair, split))
                corpora = read_comparable(data, pair, split)
                _, first = np.unique(corpora.gold[:, 0], return_index=True)
                source, target = (
                    texts.take(corpora.gold[first, column].tolist(), f"{texts.name}.gold")
                    for column, texts in enumerate((corpora.source, corpora.target))
                )
                yield _english_last(pair, source, target, data)

    def _pairs(self, pairs: list[str], data: DataFolder) -> list[str]:
        """Those of the wanted languages."""
        chosen = [pair for pair in pairs if not self.languages or set(pair.split("-")) & set(self.languages)]
        if not chosen:
            raise InputError(f"{data.root}: no pair with {', '.join(self.languages)}; there are {', '.join(pairs)}")
        return chosen

    def _pool(self, data: DataFolder, originals: Texts) -> Pool:
        if self.augmented is not None and self.errtypes is not None:
            return _published(data, self.augmented, self.errtypes, originals)
        made = hard_candidates(originals.lines, self.random_seed, self.per_sentence, self.per_kind)
        if not made:
            raise InputError(f"{data.root}: nothing in {originals.name} can be edited; is it English?")
        edits = Texts(f"{originals.name}.edits-seed-{self.random_seed}", [edit.text for edit in made], originals.lang)
        return Pool(
            (originals, edits),
            originals.lines + [originals.lines[edit.row] for edit in made],
            [""] * len(originals) + [str(edit.kind) for edit in made],
            f"{GENERATOR}, seed {self.random_seed}, hash {edits.digest}",
        )

    def _scores(self, source: VectorSource, translations: Translations, pool: Pool) -> Iterator[Score]:
        candidates = np.concatenate([source.vectors(part) for part in pool.parts])
        graph = graph_of(source.vectors(translations.queries), candidates, self.k)
        originals = translations.originals.lines
        for method, margin in _METHODS:
            chosen = best_by_margin(graph, margin).tolist()
            answers = np.array([pool.answer(place, text) for place, text in zip(chosen, originals, strict=True)])
            found = {
                f"{kind} edits": answers[[text in edited for text in originals]] == kind
                for kind, edited in pool.edited.items()
            }
            samples = {name: TestItems(wrong[:, None], mean_percent) for name, wrong in found.items() if len(wrong)}
            yield _score(
                translations.name, f"xsim++ error, {method}", TestItems((answers != "")[:, None], mean_percent)
            )
            yield _score(translations.name, f"mean of kinds, {method}", Average(tuple(samples.values())))
            for name, sample in samples.items():
                yield _score(translations.name, f"{name}, {method}", sample)
            misaligned = TestItems((answers == _MISALIGNED)[:, None], mean_percent)
            yield _score(translations.name, f"{_MISALIGNED}, {method}", misaligned)


def _score(dataset: str, metric: str, sample: TestItems | Average) -> Score:
    return Score(dataset, metric, sample.value(), sample)


def _published(data: DataFolder, augmented: str, errtypes: str, originals: Texts) -> Pool:
    """LASER's two files: all candidates, and `{edit: {src, errtype}}`."""
    lines = data.texts(augmented, originals.lang)
    try:
        known = json.loads("\n".join(data.lines(errtypes)))
        made = {str(edit): (str(about["src"]), str(about["errtype"])) for edit, about in known.items()}
    except (json.JSONDecodeError, AttributeError, KeyError, TypeError):
        raise InputError(
            f"{data.root / errtypes}: not the JSON of LASER's edits, an object {{edit: {{src, errtype}}}}"
        ) from None
    missing = set(originals.lines) - set(lines.lines)
    if missing:
        raise InputError(
            f"{data.root / augmented}: {len(missing):,} sentences of {originals.name} are not among the candidates, "
            f"first {sorted(missing)[0]!r}; these files belong to another set"
        )
    plain = set(originals.lines)
    about = [(line, "") if line in plain else made.get(line, (line, "")) for line in lines.lines]
    name = f"published: {augmented}, hash {lines.digest}"
    return Pool((lines,), [source for source, _ in about], [kind for _, kind in about], name)


def _choices(name: str, pool: Pool) -> Iterator[Choice]:
    yield Choice(f"generator for {name}", pool.generator)
    counts = [f"{pool.kinds.count(kind):,} {kind}" for kind in pool.edited]
    yield Choice(f"edits of {name}", f"{', '.join(counts)} among {pool.kinds.count(''):,} originals")


def _english_last(name: str, source: Texts, target: Texts, data: DataFolder) -> Translations:
    """Both sides of a pair, the English one as originals."""
    if source.lang in _ENGLISH:
        source, target = target, source
    require_aligned(data.root, source, target)
    _require_english(target.lang, data, name)
    return Translations(name, source, target)


def _require_english(lang: str | None, data: DataFolder, name: str = "") -> None:
    if (lang or "").split("_")[0] not in _ENGLISH:
        raise InputError(f"{data.root}: edits are made of English sentences; {name or lang} has none")
