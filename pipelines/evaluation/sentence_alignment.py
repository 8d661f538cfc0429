"""Sentence alignment against gold beads: Text+Berg's files, strict and lax; the output of other systems too."""

from __future__ import annotations

import re
from pathlib import Path
from typing import Literal, NamedTuple

import numpy as np
from pydantic import Field

from mining.alignment import BEADS, Alignment, align_sentences, document_of
from mining.alignment_formats import Bead, beads_of, read_links
from mining.alignment_metrics import score_alignments
from mining.alignment_words import of_document, project_words
from mining.errors import InputError
from mining.scoring.maxsim import WordVectors
from pipelines.evaluation.benchmark import Attachment, Benchmark, Choice, Outcome, Score
from pipelines.evaluation.benchmark_files import DataFolder, Texts
from pipelines.evaluation.sources import VectorSource
from pipelines.evaluation.word_sources import words_of

_GOLD = re.compile(r"(.+)\.([a-z]{2,3})([a-z]{2,3})")
_ARTICLE = re.compile(r"(.*?)\d*")  # test0, test1, .. are scored together as test


class Article(NamedTuple):
    name: str
    group: str
    source: Texts
    target: Texts
    gold: list[Bead]


class Align(Benchmark):
    """Articles `x.de`, `x.fr` of one sentence a line and gold `x.defr` of beads `[0]:[0, 1]`."""

    benchmark: Literal["align"] = "align"
    beads: int = Field(BEADS, ge=2, description="A bead joins at most this many sentences, both sides together.")
    only: tuple[str, ...] = Field((), description="Articles to look at, such as dev; test stands for test0 and so on.")
    found: str | None = Field(
        None,
        description="Folder of another system's output: for gold x.defr its file x.defr; vectors are not asked for.",
    )

    def run(self, source: VectorSource, data: DataFolder) -> Outcome:
        articles = read_articles(data, self.only)
        outcome = Outcome([], [Choice("beads", f"n + m at most {self.beads}" if self.found is None else self.found)])
        outcome.choices.append(Choice("precision", "deletions count; recall: beads of two sides only, as in Vecalign"))
        answers: dict[str, list[Bead]] = {}
        judged: dict[str, list[tuple[float, bool]]] = {}
        for article in articles:
            if self.found is not None:
                answers[article.name] = self._read(article)
                continue
            alignment = self._align(source, article)
            answers[article.name] = beads_of(alignment.beads)
            right = set(article.gold)
            pairs = zip(alignment.confidence.tolist(), answers[article.name], strict=True)
            judged.setdefault(article.group, []).extend((sure, bead in right) for sure, bead in pairs)
        for group in dict.fromkeys(article.group for article in articles):
            members = [article for article in articles if article.group == group]
            scores = score_alignments((article.gold, answers[article.name]) for article in members)
            for kind, found in (("strict", scores.strict), ("lax", scores.lax)):
                outcome.scores += [
                    Score(group, f"{kind} {name}", 100 * value, headline=name == "f1")
                    for name, value in found._asdict().items()
                ]
        outcome.attachments += [_reliability(group, rows) for group, rows in judged.items()]
        return outcome

    def _align(self, source: VectorSource, article: Article) -> Alignment:
        texts = article.source, article.target
        own: list[WordVectors | None] = [None, None]
        words = [words_of(source, side.name, side.lines, side.lang) for side in texts]
        if words[0] is not None and words[1] is not None:
            own = [of_document(side, 0, len(side.words)) for side in project_words((words[0], words[1]))]
        sides = [document_of(source.vectors(side), side.lines, these) for side, these in zip(texts, own, strict=True)]
        return align_sentences(sides[0], sides[1], beads=self.beads)

    def _read(self, article: Article) -> list[Bead]:
        path = Path(self.found or "") / article.name
        beads = [link[:2] for link in read_links(str(path))]
        for number, sides in enumerate(beads, 1):
            for places, texts in zip(sides, (article.source, article.target), strict=True):
                if places and max(places) >= len(texts):
                    raise InputError(
                        f"{path}, bead {number}: sentence {max(places)}, but {texts.name} ends with {len(texts) - 1}"
                    )
        return beads


def read_articles(data: DataFolder, only: tuple[str, ...] = ()) -> list[Article]:
    """Every `x.aabb` that has `x.aa` and `x.bb` beside it; with `only`, those of these groups."""
    articles, groups = [], set()
    for name in data.matching("*.*"):
        found = _GOLD.fullmatch(name)
        if found is None or not all(data.find(f"{found[1]}.{code}") for code in found.group(2, 3)):
            continue
        numbered = _ARTICLE.fullmatch(found[1])
        group = numbered[1] if numbered else found[1]
        groups.add(group)
        if only and group not in only:
            continue
        source, target = (data.texts(f"{found[1]}.{code}", code) for code in found.group(2, 3))
        data.lines(name)  # for the hash
        gold = [link[:2] for link in read_links(str(data.root / name))]
        articles.append(Article(name, group, source, target, gold))
    missing = [group for group in only if group not in groups]
    if groups and missing:
        raise InputError(
            f"{data.root}: there is no article of {', '.join(missing)}; there are {', '.join(sorted(groups))}"
        )
    if not articles:
        raise InputError(f"{data.root}: there are no three files like x.de, x.fr and x.defr")
    return articles


def _reliability(group: str, rows: list[tuple[float, bool]]) -> Attachment:
    """How often beads of each confidence are right."""
    confidence, right = (np.array(column, float) for column in zip(*rows, strict=True))
    place = np.minimum((confidence * 10).astype(int), 9)
    table = [
        (
            f"{k / 10:.1f}",
            int((place == k).sum()),
            round(confidence[place == k].mean(), 3),
            round(right[place == k].mean(), 3),
        )
        for k in range(10)
        if (place == k).any()
    ]
    return Attachment(f"{group}.confidence", ("from", "beads", "mean confidence", "strictly right"), table)
