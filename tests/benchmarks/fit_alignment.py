"""Makes `mining/alignment_weights.json`: `python -m tests.benchmarks.fit_alignment [OUT]`, three minutes of one core.
With `ENCODER=FOLDER` the weights of another encoder than the package's.

Fitted on the development sets of Text+Berg and of `documents`, on stand-ins made of them and on documents made of
training text; no test set is read. What is printed is not in sample: parts of the article are aligned by the weights
of the others, made documents by weights that have seen none of their corpus, and manuals are those of the half that
is not fitted.
"""

from __future__ import annotations

import json
import os
import sys
from collections.abc import Sequence
from typing import NamedTuple, TypeVar

import numpy as np

from encoder.inference import Encoder
from mining.alignment import align_sentences
from mining.alignment_fit import FitExample, fit, make_example
from mining.alignment_formats import Bead, beads_of
from mining.alignment_metrics import score_alignments
from mining.alignment_priors import Shares, bead_shares
from mining.alignment_weights import MODEL_FILE, BeadModel
from mining.files import atomic_text
from tests.benchmarks.alignment_baselines import bertalign, vecalign
from tests.benchmarks.alignment_made import SOURCES, Source, made_documents
from tests.benchmarks.alignment_samples import (
    PARTS,
    KnownPair,
    Sample,
    article_parts,
    make_sample,
    manual_chains,
    manual_pairs,
    with_joined_lines,
    without_passages,
)

L2 = 0.3
FOLDS = 3  # of the parts of the article and of the corpora of made documents
WITHOUT_WORDS = "words inside", "words astray", "deletion located", "deletion elsewhere"


class StandIn(NamedTuple):
    """How samples are made of what is known, and how much they count."""

    dropped: float  # share of words left out before encoding
    missing: float  # share of beads or paragraphs of which one side is taken out
    weight: float
    joined: float = 0.0  # share of the beads whose sentences are one line


ARTICLE = (
    StandIn(0.0, 0.0, 0.5), StandIn(0.15, 0.0, 0.5), StandIn(0.3, 0.0, 0.5), StandIn(0.45, 0.0, 0.5),
    StandIn(0.0, 0.12, 0.1), StandIn(0.3, 0.12, 0.1), StandIn(0.0, 0.0, 0.0, 0.5), StandIn(0.3, 0.0, 0.0, 0.5),
)  # fmt: skip
BASELINED = ARTICLE[0], ARTICLE[2]  # the slower ones of the published ways are not compiled
MANUALS = StandIn(0.0, 0.0, 0.5), StandIn(0.3, 0.0, 0.5), StandIn(0.0, 0.2, 0.1), StandIn(0.2, 0.2, 0.0)
MADE = 0.1, 0.25, 0.4  # words dropped: the encoder was trained on these texts
MADE_WEIGHT = 0.5
Kind = TypeVar("Kind")
Samples = dict[StandIn, list[Sample]]
MadeSamples = dict[Source, list[Sample]]


def samples_of(encoder: Encoder, stand_in: StandIn, pairs: list[KnownPair]) -> list[Sample]:
    if stand_in.joined:
        pairs = [with_joined_lines(pair, stand_in.joined, seed) for seed, pair in enumerate(pairs)]
    if stand_in.missing:
        pairs = [without_passages(pair, stand_in.missing, seed) for seed, pair in enumerate(pairs)]
    return [make_sample(encoder, pair, stand_in.dropped) for pair in pairs]


def manual_samples(encoder: Encoder, half: int) -> Samples:
    pairs, chains = manual_pairs(half), manual_chains(half)
    return {kind: samples_of(encoder, kind, chains if kind.missing else pairs) for kind in MANUALS}


def made_samples(encoder: Encoder, source: Source) -> list[Sample]:
    return [make_sample(encoder, pair, MADE[place % len(MADE)]) for place, pair in enumerate(made_documents(source))]


def examples_of(samples: Samples) -> list[list[FitExample]]:
    """For each stand-in that counts."""
    return [
        [make_example(*sample[:3], kind.weight) for sample in rows] for kind, rows in samples.items() if kind.weight
    ]


def say_articles(name: str, articles: Samples, models: Sequence[BeadModel], usual: Shares) -> None:
    """The scores of the parts, each by the model of its fold."""
    for kind, rows in articles.items():
        found = aligned_parts(rows, models, usual)
        _say(name, kind, [(row.gold or [], beads_of(beads)) for row, beads in zip(rows, found, strict=True)])


def aligned_parts(rows: list[Sample], models: Sequence[BeadModel], usual: Shares | None) -> list[np.ndarray]:
    return [
        align_sentences(row.source, row.target, model=models[_fold(place)], usual=usual).beads
        for place, row in enumerate(rows)
    ]


def _fold(part: int) -> int:
    return part * FOLDS // PARTS


def _made_folds(made: MadeSamples) -> dict[Source, int]:
    """All documents of a corpus are in one fold."""
    corpora = list(dict.fromkeys(source.path for source in made))
    return {source: corpora.index(source.path) % FOLDS for source in made}


def aligned_made(
    made: MadeSamples, models: Sequence[BeadModel], usual: Shares | None
) -> dict[Source, list[np.ndarray]]:
    return {
        source: [align_sentences(row.source, row.target, model=models[fold], usual=usual).beads for row in made[source]]
        for source, fold in _made_folds(made).items()
    }


def say_made(name: str, made: MadeSamples, models: Sequence[BeadModel], usual: Shares) -> None:
    for source, found in aligned_made(made, models, usual).items():
        answers = [(row.gold or [], beads_of(beads)) for row, beads in zip(made[source], found, strict=True)]
        print(f"{name}, made of {source.path}, {'-'.join(source.languages)}: {_scores(answers)}", flush=True)


def _say(name: str, kind: StandIn, answers: list[tuple[list[Bead], list[Bead]]]) -> None:
    print(
        f"{name}, article, {kind.dropped:.0%} of words dropped, {kind.missing:.0%} of beads missing, {kind.joined:.0%} "
        f"of several sentences joined: {_scores(answers)}",
        flush=True,
    )


def _scores(answers: list[tuple[list[Bead], list[Bead]]]) -> str:
    scores = score_alignments(answers)
    return f"strict F1 {100 * scores.strict.f1:.1f}, lax {100 * scores.lax.f1:.1f}"


def say_manuals(name: str, manuals: Samples, model: BeadModel, usual: Shares) -> None:
    for kind, rows in manuals.items():
        right = total = 0
        for row in rows:
            alignment = align_sentences(row.source, row.target, model=model, usual=usual)
            for a, b, c, d in alignment.beads[alignment.two_sided].tolist():
                groups = row.bounds.source[a:b, None], row.bounds.target[None, c:d]
                right += int(((groups[0] == groups[1]) & (groups[0] >= 0)).sum())
                total += (b - a) * (d - c)
        print(
            f"{name}, manuals, {kind.dropped:.0%} of words dropped, {kind.missing:.0%} of paragraphs missing: "
            f"{100 * right / total:.1f}% of {total:,} sentence pairs inside",
            flush=True,
        )


def wordless(samples: dict[Kind, list[Sample]]) -> dict[Kind, list[Sample]]:
    return {
        kind: [
            row._replace(source=row.source._replace(words=None), target=row.target._replace(words=None)) for row in rows
        ]
        for kind, rows in samples.items()
    }


class Fitted(NamedTuple):
    model: BeadModel
    usual: Shares  # in the article and some made documents, each part aligned by the weights of others


class Known(NamedTuple):
    articles: Samples
    made: MadeSamples
    manuals: Samples
    held_out: Samples  # manuals that are not fitted

    def wordless(self) -> Known:
        articles, made, *manuals = self
        return Known(wordless(articles), wordless(made), *map(wordless, manuals))


def fit_model(name: str, known: Known, without: tuple[str, ...]) -> Fitted:
    examples = _examples(known)
    whole = fit([example for rows in examples.values() for example in rows], l2=L2, without=without)
    models = [
        fit(
            [example for own, rows in examples.items() if own != fold for example in rows],
            l2=L2,
            without=without,
            begin=whole,
        )
        for fold in range(FOLDS)
    ]
    few = {source: rows[:1] for source, rows in known.made.items()}
    found = aligned_parts(known.articles[ARTICLE[0]], models, None)
    usual = bead_shares(found + [beads for rows in aligned_made(few, models, None).values() for beads in rows])
    say_articles(name, known.articles, models, usual)
    say_made(name, known.made, models, usual)
    say_manuals(name, known.held_out, whole, usual)
    return Fitted(whole, usual)


def _examples(known: Known) -> dict[int, list[FitExample]]:
    """By fold; those that are in all of them under -1."""
    folds: dict[int, list[FitExample]] = {-1: [example for rows in examples_of(known.manuals) for example in rows]}
    for rows in examples_of(known.articles):
        for part, example in enumerate(rows):
            folds.setdefault(_fold(part), []).append(example)
    for source, fold in _made_folds(known.made).items():
        folds.setdefault(fold, []).extend(make_example(*row[:3], MADE_WEIGHT) for row in known.made[source])
    return folds


def main() -> None:
    encoder = Encoder.load(os.environ.get("ENCODER"), threads=1)
    parts = list(article_parts())
    articles = {kind: samples_of(encoder, kind, parts) for kind in ARTICLE}
    for name, baseline in (("Vecalign's cost", vecalign), ("Bertalign's score", bertalign)):
        for kind in BASELINED:
            rows = articles[kind]
            _say(name, kind, [(row.gold or [], baseline(row.source, row.target)) for row in rows])
    made = {source: made_samples(encoder, source) for source in SOURCES}
    known = Known(articles, made, *(manual_samples(encoder, half) for half in (0, 1)))
    worded = fit_model("with words", known, ("deletion length",))
    bare = fit_model("without words", known.wordless(), WITHOUT_WORDS)
    models = {"with words": worded.model, "without words": bare.model, "usual shares": worded.usual}
    with atomic_text(sys.argv[1] if len(sys.argv) > 1 else str(MODEL_FILE)) as stream:
        json.dump(models, stream, indent=2)
        stream.write("\n")


if __name__ == "__main__":
    main()
