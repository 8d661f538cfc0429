"""Documents whose alignment is known, for the fit of the bead model: development sets only, and stand-ins made of them.

The development article of Text+Berg is a close translation with few sentences left out, the manuals of `documents` are
closer still. Words dropped before encoding make freer translations of them, passages taken out of one side make
documents with insertions, lines joined documents with more beads of one sentence a side.
"""

from __future__ import annotations

from collections.abc import Iterator
from itertools import groupby
from pathlib import Path
from typing import NamedTuple

import numpy as np

from encoder.inference import Encoder
from mining.alignment import Document, document_of
from mining.alignment_fit import Bounds, gold_bounds, paragraph_bounds
from mining.alignment_formats import Bead
from mining.alignment_words import CorpusWords, of_document, project_words
from pipelines.evaluation.benchmark_files import DataFolder
from pipelines.evaluation.sentence_alignment import read_articles
from pipelines.mine.word_texts import find_words

DATA = Path(__file__).resolve().parents[3] / "shared" / "data" / "eval"
PARTS = 6  # of the article
DOCUMENTS = 12  # of a language, for each half
CHAINS, CHAINED = 6, 80  # chains of a language and half, and sentences of a side at most
LONGEST = 260  # sentences of both sides of a document together
PASSAGE = 2.0  # beads or paragraphs, on average


class KnownPair(NamedTuple):
    """Two documents, and their beads or paragraphs."""

    texts: tuple[list[str], list[str]]
    languages: tuple[str, str]
    beads: list[Bead]
    exact: bool  # whether they are beads; of paragraphs only that no bead leaves them is known


class Sample(NamedTuple):
    source: Document
    target: Document
    bounds: Bounds
    gold: list[Bead] | None  # none where only paragraphs are known


def make_sample(encoder: Encoder, pair: KnownPair, dropped: float) -> Sample:
    """Vectors of sentences and words with a share of the words left out; lengths and marks are of the whole text."""
    sides, vectors = [], []
    for lines, lang in zip(pair.texts, pair.languages, strict=True):
        fewer = _thinned(lines, dropped)
        words = find_words(fewer, lang)
        sides.append(CorpusWords(words, encoder.encode(words.vocabulary.to_pylist(), lang)))
        vectors.append(encoder.encode(fewer, lang))
    documents = [
        document_of(rows, lines, of_document(words, 0, len(lines)))
        for rows, lines, words in zip(vectors, pair.texts, project_words((sides[0], sides[1])), strict=True)
    ]
    sizes = len(pair.texts[0]), len(pair.texts[1])
    if pair.exact:
        return Sample(documents[0], documents[1], gold_bounds(pair.beads, *sizes), pair.beads)
    paragraphs = [bead for bead in pair.beads if all(bead)]
    return Sample(documents[0], documents[1], paragraph_bounds(paragraphs, *sizes), None)


def _thinned(lines: list[str], share: float) -> list[str]:
    draw = np.random.default_rng(len(lines))
    kept = [[word for word in line.split() if draw.random() >= share] for line in lines]
    return [" ".join(words) or line for words, line in zip(kept, lines, strict=True)]


def without_passages(pair: KnownPair, share: float, seed: int) -> KnownPair:
    """Of a share of the beads or paragraphs, in runs, one side is taken out; of manuals always the same side."""
    rng = np.random.default_rng(seed)
    gone = np.zeros(len(pair.beads), bool)
    while gone.sum() < share * len(gone):
        start = rng.integers(len(gone))
        gone[start : start + rng.geometric(1 / PASSAGE)] = True
    keep = [np.ones(len(lines), bool) for lines in pair.texts]
    side = int(rng.integers(2))
    for place in np.flatnonzero(gone):
        number = int(rng.integers(2)) if pair.exact else side
        keep[number][list(pair.beads[place][number])] = False
    beads = [bead for old in pair.beads for bead in _remaining(old, keep)]
    texts = [[line for line, kept in zip(*sides, strict=True) if kept] for sides in zip(pair.texts, keep, strict=True)]
    return pair._replace(texts=(texts[0], texts[1]), beads=beads)


def with_joined_lines(pair: KnownPair, share: float, seed: int) -> KnownPair:
    """Of a share of the beads of several sentences, those of a side are one line: as of another sentence splitter."""
    rng = np.random.default_rng(seed)
    joins = [all(bead) and len(bead[0]) + len(bead[1]) > 2 and rng.random() < share for bead in pair.beads]
    texts: tuple[list[str], list[str]] = ([], [])
    numbers: list[list[int]] = [[], []]  # of the new line that each line is in
    for side, lines in enumerate(pair.texts):
        owner = {place: number for number, bead in enumerate(pair.beads) for place in bead[side] if joins[number]}
        for place, line in enumerate(lines):
            if place in owner and owner.get(place - 1) == owner[place]:
                texts[side][-1] += f" {line}"
            else:
                texts[side].append(line)
            numbers[side].append(len(texts[side]) - 1)
    beads = [(_renumbered(src, numbers[0]), _renumbered(tgt, numbers[1])) for src, tgt in pair.beads]
    return pair._replace(texts=texts, beads=beads)


def _renumbered(places: tuple[int, ...], numbers: list[int]) -> tuple[int, ...]:
    return tuple(sorted({numbers[place] for place in places}))


def _remaining(bead: Bead, keep: list[np.ndarray]) -> list[Bead]:
    """The bead in the numbers of the sentences that are kept; one for each sentence where a side is gone."""
    sides = [
        tuple(int(kept[:place].sum()) for place in places if kept[place])
        for places, kept in zip(bead, keep, strict=True)
    ]
    if all(sides):
        return [(sides[0], sides[1])]
    return [((place,), ()) for place in sides[0]] + [((), (place,)) for place in sides[1]]


def article_parts() -> Iterator[KnownPair]:
    """The development article of Text+Berg, in parts as long as other articles."""
    (article,) = read_articles(DataFolder(DATA / "bleualign_text_berg"), ("dev",))
    ends = np.maximum.accumulate([[max(side, default=-1) + 1 for side in bead] for bead in article.gold])
    cuts = [np.abs(ends.sum(1) - ends[-1].sum() * part / PARTS).argmin() + 1 for part in range(1, PARTS)]
    first = (0, 0)
    for start, stop in zip([0, *cuts], [*cuts, len(ends)], strict=True):
        last = tuple(ends[stop - 1].tolist())
        gold = [_moved(bead, -first[0], -first[1]) for bead in article.gold[start:stop]]
        texts = article.source.lines[first[0] : last[0]], article.target.lines[first[1] : last[1]]
        yield KnownPair((list(texts[0]), list(texts[1])), ("de", "fr"), gold, exact=True)
        first = last


def _moved(bead: Bead, source: int, target: int) -> Bead:
    return tuple(place + source for place in bead[0]), tuple(place + target for place in bead[1])


def manuals(half: int) -> list[list[KnownPair]]:
    """For each language, one half of the development documents in random order."""
    data = DataFolder(DATA / "documents" / "dev")
    languages = []
    for name in sorted(name.split("/")[0] for name in data.matching("*-en/gold.tsv")):
        both = "en", name.removesuffix("-en")
        english, other = (_documents(data, f"{name}/{name}.{lang}") for lang in both)
        paragraphs: dict[tuple[str, str], list[Bead]] = {}
        for _, fields in data.rows(f"{name}/alignment.tsv", 4, "two documents and their lines are needed"):
            places = [tuple(int(line) for line in lines.split(",")) for lines in fields[2:4]]
            paragraphs.setdefault((fields[0], fields[1]), []).append((places[0], places[1]))
        names = [couple for couple in paragraphs if len(english[couple[0]]) + len(other[couple[1]]) < LONGEST]
        order = np.random.default_rng(0).permutation(len(names))[half::2]
        chosen = [names[place] for place in order]
        languages.append([KnownPair((english[a], other[b]), both, paragraphs[a, b], exact=False) for a, b in chosen])
    return languages


def _documents(data: DataFolder, name: str) -> dict[str, list[str]]:
    rows = (fields for _, fields in data.rows(name, 2, "docid TAB sentence is needed"))
    return {docid: [fields[1] for fields in run] for docid, run in groupby(rows, key=lambda fields: fields[0])}


def chained(pairs: list[KnownPair]) -> Iterator[KnownPair]:
    """Documents behind one another, as chapters of a longer one."""
    chapters: list[KnownPair] = []
    for pair in pairs:
        if chapters and sum(len(chapter.texts[0]) for chapter in [*chapters, pair]) > CHAINED:
            yield join_documents(chapters)
            chapters = []
        chapters.append(pair)
    if chapters:
        yield join_documents(chapters)


def join_documents(pairs: list[KnownPair]) -> KnownPair:
    texts: tuple[list[str], list[str]] = ([], [])
    beads: list[Bead] = []
    for pair in pairs:
        beads += [_moved(bead, len(texts[0]), len(texts[1])) for bead in pair.beads]
        for lines, more in zip(texts, pair.texts, strict=True):
            lines += more
    return pairs[0]._replace(texts=texts, beads=beads)


def manual_pairs(half: int) -> list[KnownPair]:
    return [pair for pairs in manuals(half) for pair in pairs[:DOCUMENTS]]


def manual_chains(half: int) -> list[KnownPair]:
    """Of documents that `manual_pairs` does not have."""
    return [chain for pairs in manuals(half) for chain in list(chained(pairs[DOCUMENTS:]))[:CHAINS]]
