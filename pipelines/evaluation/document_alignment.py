"""Document alignment against gold: which documents are paired, and which aligned sentences share a paragraph."""

from __future__ import annotations

from collections import Counter
from itertools import groupby
from typing import Literal, NamedTuple

import numpy as np
from pydantic import Field

from mining.errors import InputError
from pipelines.align.align_job import AlignResult, DocumentPair, EmbeddedCorpus, align_embedded
from pipelines.align.align_settings import AlignSettings, DocumentReadSettings, DocumentSideSettings
from pipelines.align.documents import Corpus, DocumentText
from pipelines.evaluation.benchmark import Benchmark, Choice, Outcome, Score, averaged
from pipelines.evaluation.benchmark_files import DataFolder, Texts
from pipelines.evaluation.sources import VectorSource
from pipelines.evaluation.word_sources import words_of

_HEADLINES = ("documents f1", "sentence pairs inside")


class _Part(NamedTuple):
    """A document as a run of the lines of a file."""

    texts: Texts
    name: str
    start: int
    stop: int

    @property
    def document(self) -> DocumentText:
        rows = range(self.start, self.stop)
        return DocumentText(self.name, [self.texts.lines[row] for row in rows], list(rows))


class Documents(Benchmark):
    """Folders `xx-en` with `xx-en.en`, `xx-en.xx` (`docid TAB sentence`), `gold.tsv` and `alignment.tsv`.

    Harder with `distractors`, files of further documents with `{lang}` in their name, and `cut`, the share of documents
    that lose their second half. Pairs of two distractors are not counted: some are translations.
    """

    benchmark: Literal["documents"] = "documents"
    pairs: tuple[str, ...] = Field((), description="Such as de-en; all that are there if empty.")
    distractors: tuple[str, ...] = Field((), description="Files of further documents, `{lang}` in their name.")
    most_distractors: int = Field(2000, ge=0, description="Most further documents of a side.")
    cut: float = Field(0.0, ge=0, le=1, description="Share of documents that lose their second half.")
    random_seed: int = Field(0, description="Of whatever is drawn.")

    def run(self, source: VectorSource, data: DataFolder) -> Outcome:
        pairs = self.pairs or tuple(name.split("/")[0] for name in data.matching("*-*/gold.tsv"))
        if not pairs:
            raise InputError(f"{data.root}: there is no folder like de-en with a gold.tsv")
        outcome = Outcome([], [Choice("threshold", "confidence of the alignment at least 0.5; no gold was used")])
        outcome.choices.append(Choice("cut to half", f"{self.cut:.0%} of the documents, seed {self.random_seed}"))
        for pair in pairs:
            outcome.scores += self._pair(source, data, pair, outcome.choices)
        for metric in dict.fromkeys(score.metric for score in outcome.scores):
            group = [score for score in outcome.scores if score.metric == metric]
            outcome.scores.append(averaged(f"mean of {len(group)}", group, headline=metric in _HEADLINES))
        return outcome

    def _pair(self, source: VectorSource, data: DataFolder, pair: str, choices: list[Choice]) -> list[Score]:
        other = pair.removesuffix("-en")
        corpora, vectors, own = [], [], set()
        for lang in ("en", other):
            parts = [self._shortened(part) for part in _read(data, f"{pair}/{pair}.{lang}", lang)]
            own |= {part.name for part in parts}
            parts += [part for part in self._distractors(data, lang) if part.name not in own]
            corpora.append(Corpus(lang, [part.document for part in parts], [], Counter()))
            vectors.append(np.concatenate([source.vectors(part.texts)[part.start : part.stop] for part in parts]))
        choices.append(Choice(pair, " and ".join(f"{len(corpus.documents):,} documents" for corpus in corpora)))
        sides = [
            EmbeddedCorpus(corpus, rows, words_of(source, f"{pair}/{pair}.{corpus.lang}", corpus.texts, corpus.lang))
            for corpus, rows in zip(corpora, vectors, strict=True)
        ]
        result = align_embedded(sides[0], sides[1], _settings(other))
        gold = {(fields[0], fields[1]) for _, fields in data.rows(f"{pair}/gold.tsv", 2, "gold names two documents")}
        return _scores(pair, result, own, gold, _paragraphs(data, f"{pair}/alignment.tsv"))

    def _shortened(self, part: _Part) -> _Part:
        chance = np.random.default_rng([self.random_seed, *part.name.encode()]).random()
        keep = (part.stop - part.start + 1) // 2 if chance < self.cut else part.stop - part.start
        return part._replace(stop=part.start + keep)

    def _distractors(self, data: DataFolder, lang: str) -> list[_Part]:
        names = [template.format(lang=lang) for template in self.distractors]
        parts = [part for name in names if data.find(name) for part in _read(data, name, lang)]
        order = np.random.default_rng(self.random_seed).permutation(len(parts))[: self.most_distractors]
        return [parts[place] for place in sorted(order.tolist())]


def _read(data: DataFolder, name: str, lang: str) -> list[_Part]:
    rows = [fields for _, fields in data.rows(name, 2, "docid TAB sentence is needed")]
    texts = Texts(data.named(name), [fields[1] for fields in rows], lang)
    runs = [(docid, list(run)) for docid, run in groupby(range(len(rows)), key=lambda row: rows[row][0])]
    return [_Part(texts, docid, run[0], run[-1] + 1) for docid, run in runs]


def _settings(other: str) -> AlignSettings:
    """Everything but the corpora, which are there already, as a user has it who sets nothing."""
    sides = [DocumentSideSettings(inputs=["-"], read=DocumentReadSettings(lang=lang)) for lang in ("en", other)]
    return AlignSettings(source=sides[0], target=sides[1])


def _paragraphs(data: DataFolder, name: str) -> dict[tuple[str, str], set[tuple[int, int]]]:
    """For each document pair the pairs of sentences (from 0) that lie in one paragraph."""
    found: dict[tuple[str, str], set[tuple[int, int]]] = {}
    for _, fields in data.rows(name, 4, "two documents and their lines are needed"):
        english, other = ([int(line) for line in places.split(",")] for places in fields[2:4])
        found.setdefault((fields[0], fields[1]), set()).update((i, j) for i in english for j in other)
    return found


def _scores(
    pair: str,
    result: AlignResult,
    own: set[str],
    gold: set[tuple[str, str]],
    paragraphs: dict[tuple[str, str], set[tuple[int, int]]],
) -> list[Score]:
    counted = [found for found in result.pairs if {found.source.name, found.target.name} & own]
    right = [found for found in counted if (found.source.name, found.target.name) in gold]
    precision, recall = len(right) / max(len(counted), 1), len(right) / max(len(gold), 1)
    f1 = 2 * precision * recall / max(precision + recall, 1e-9)
    inside = [
        link in paragraphs[names]
        for found in right
        if (names := (found.source.name, found.target.name)) in paragraphs
        for link in _links(found)
    ]
    values = {"documents precision": precision, "documents recall": recall, "documents f1": f1}
    values["sentence pairs inside"] = float(np.mean(inside)) if inside else 0.0
    return [Score(pair, metric, 100 * value) for metric, value in values.items()]


def _links(found: DocumentPair) -> list[tuple[int, int]]:
    beads = found.alignment.beads[found.alignment.two_sided].tolist()
    return [(i, j) for a, b, c, d in beads for i in range(a, b) for j in range(c, d)]
