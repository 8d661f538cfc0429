"""Makes `mining/alignment_weights.json`: `python -m tests.benchmarks.fit_alignment [OUT]`, three minutes of one core.

Fitted on the development sets of Text+Berg (in parts, as long as other articles) and of `documents`, whose paragraphs
bound the beads; no test set is read. What is printed is by cross-validation: each part aligned by the weights of the
others.
"""

from __future__ import annotations

import json
import sys
from collections.abc import Iterator, Sequence
from itertools import groupby
from pathlib import Path
from typing import NamedTuple

import numpy as np

from encoder.inference import Encoder
from mining.alignment import Document, align_sentences, document_of
from mining.alignment_fit import Bounds, fit, gold_bounds, make_example, paragraph_bounds
from mining.alignment_formats import Bead, beads_of
from mining.alignment_metrics import score_alignments
from mining.alignment_weights import MODEL_FILE, BeadModel
from mining.alignment_words import CorpusWords, of_document, project_words
from mining.files import atomic_text
from pipelines.evaluation.benchmark_files import DataFolder
from pipelines.evaluation.sentence_alignment import read_articles
from pipelines.mine.word_texts import find_words

DATA = Path(__file__).resolve().parents[3] / "shared" / "data" / "eval"
PARTS = 6
DOCUMENTS = 12  # of a language
LONGEST = 200  # sentences of both sides together
DOCUMENT_WEIGHT = 1.0  # with a tenth of it Text+Berg gains, and sentences without counterpart are swallowed: results.md
# Shares of words left out before encoding. The article's sentences are near to their translations (a mean distance of
# 0.49); with a third of the words gone they are as far apart as in freer ones (0.66), and vectors deserve less trust.
DROPPED = 0.0, 0.3
L2 = 0.3
WITHOUT_WORDS = "words n+m", "words", "deletion located", "deletion elsewhere"
Rows = dict[str, list[str]]  # the sentences of each document


class Sample(NamedTuple):
    """Two documents, and what is known of their alignment."""

    source: Document
    target: Document
    bounds: Bounds
    gold: list[Bead] | None  # none where only paragraphs are known


def thinned(lines: list[str], share: float) -> list[str]:
    """The lines without a share of their words: to the encoder a freer translation than it is."""
    draw = np.random.default_rng(len(lines))
    kept = [[word for word in line.split() if draw.random() >= share] for line in lines]
    return [" ".join(words) or line for words, line in zip(kept, lines, strict=True)]


def embed(
    encoder: Encoder, texts: Sequence[list[str]], languages: Sequence[str], dropped: float
) -> list[tuple[np.ndarray, CorpusWords]]:
    """Vectors of sentences and of words of both sides, some words dropped."""
    sides = []
    texts = [thinned(lines, dropped) for lines in texts]
    for lines, lang in zip(texts, languages, strict=True):
        words = find_words(lines, lang)
        sides.append(CorpusWords(words, encoder.encode(words.vocabulary.to_pylist(), lang)))
    vectors = [encoder.encode(lines, lang) for lines, lang in zip(texts, languages, strict=True)]
    return list(zip(vectors, project_words((sides[0], sides[1])), strict=True))


def article_samples(encoder: Encoder, dropped: float) -> Iterator[Sample]:
    """The development article of Text+Berg, in parts."""
    (article,) = read_articles(DataFolder(DATA / "bleualign_text_berg"), ("dev",))
    texts = article.source.lines, article.target.lines
    sides = embed(encoder, texts, ("de", "fr"), dropped)
    ends = np.maximum.accumulate([[max(side, default=-1) + 1 for side in bead] for bead in article.gold])
    cuts = [np.abs(ends.sum(1) - ends[-1].sum() * part / PARTS).argmin() + 1 for part in range(1, PARTS)]
    first = (0, 0)
    for start, stop in zip([0, *cuts], [*cuts, len(ends)], strict=True):
        last = tuple(ends[stop - 1].tolist())
        gold = [
            (tuple(place - first[0] for place in src), tuple(place - first[1] for place in tgt))
            for src, tgt in article.gold[start:stop]
        ]
        documents = [
            document_of(vectors[a:b], lines[a:b], of_document(words, a, b))
            for (vectors, words), lines, a, b in zip(sides, texts, first, last, strict=True)
        ]
        yield Sample(*documents, gold_bounds(gold, *(side.sentences for side in documents)), gold)
        first = last


def document_samples(encoder: Encoder, dropped: float) -> Iterator[Sample]:
    """Some documents of each language, by their paragraphs."""
    data = DataFolder(DATA / "documents" / "dev")
    for pair in sorted(name.split("/")[0] for name in data.matching("*-en/gold.tsv")):
        languages = "en", pair.removesuffix("-en")
        english, other = (_documents(data, f"{pair}/{pair}.{lang}") for lang in languages)
        paragraphs: dict[tuple[str, str], list[Bead]] = {}
        for _, fields in data.rows(f"{pair}/alignment.tsv", 4, "two documents and their lines are needed"):
            places = [tuple(int(line) for line in lines.split(",")) for lines in fields[2:4]]
            paragraphs.setdefault((fields[0], fields[1]), []).append((places[0], places[1]))
        names = [name for name in paragraphs if len(english[name[0]]) + len(other[name[1]]) < LONGEST]
        chosen = [names[place] for place in np.random.default_rng(0).permutation(len(names))[:DOCUMENTS]]
        for name in chosen:
            texts = english[name[0]], other[name[1]]
            documents = [
                document_of(vectors, lines, of_document(words, 0, len(lines)))
                for (vectors, words), lines in zip(embed(encoder, texts, languages, dropped), texts, strict=True)
            ]
            yield Sample(*documents, paragraph_bounds(paragraphs[name], *map(len, texts)), None)


def _documents(data: DataFolder, name: str) -> Rows:
    rows = (fields for _, fields in data.rows(name, 2, "docid TAB sentence is needed"))
    return {docid: [fields[1] for fields in run] for docid, run in groupby(rows, key=lambda fields: fields[0])}


def fit_model(samples: list[Sample], *, worded: bool) -> BeadModel:
    """Fit on all, and say what cross-validation over the parts with gold beads gives."""
    if not worded:
        samples = [
            sample._replace(source=sample.source._replace(words=None), target=sample.target._replace(words=None))
            for sample in samples
        ]
    examples = [make_example(*sample[:3], 1.0 if sample.gold is not None else DOCUMENT_WEIGHT) for sample in samples]
    without = ("deletion length",) if worded else WITHOUT_WORDS
    each = len(samples) // len(DROPPED)
    answers: dict[float, list[tuple[list[Bead], list[Bead]]]] = {dropped: [] for dropped in DROPPED}
    for place, sample in enumerate(samples[:each]):
        if sample.gold is not None:
            others = [example for other, example in enumerate(examples) if other % each != place]
            model = fit(others, l2=L2, without=without)
            for dropped, (source, target, *_) in zip(DROPPED, samples[place::each], strict=True):
                found = align_sentences(source, target, model=model).beads
                answers[dropped].append((sample.gold, beads_of(found)))
    for dropped, rows in answers.items():
        scores = score_alignments(rows)
        print(
            f"{'with' if worded else 'without'} words, {dropped:.0%} of them dropped: "
            f"strict F1 {100 * scores.strict.f1:.1f}, lax {100 * scores.lax.f1:.1f}",
            flush=True,
        )
    return fit(examples, l2=L2, without=without)


def main() -> None:
    encoder = Encoder.load(None, threads=1)
    samples = [
        sample
        for dropped in DROPPED
        for sample in (*article_samples(encoder, dropped), *document_samples(encoder, dropped))
    ]
    models = {"with words": fit_model(samples, worded=True), "without words": fit_model(samples, worded=False)}
    with atomic_text(sys.argv[1] if len(sys.argv) > 1 else str(MODEL_FILE)) as stream:
        json.dump(models, stream, indent=2)
        stream.write("\n")


if __name__ == "__main__":
    main()
