"""Documents with known beads, made of parallel lines: some cut or joined on one side, some left out.

The development article is one document, and weights that fit it need not fit others: these are of other kinds of text,
a quarter of their beads join several sentences, and single sentences are missing, as in articles and books.
"""

from __future__ import annotations

import re
from collections.abc import Iterable
from typing import NamedTuple

import numpy as np

from encoder.data.corpora import CorpusSettings, DataSettings, find_files
from encoder.data.parallel_readers import read_groups
from encoder.data.parallel_rows import Group
from tests.benchmarks.alignment_samples import DATA, KnownPair, join_documents

Lines = list[str]
LINES, DOCUMENTS = 65, 12  # lines of a document, documents of a source
SHORTEST, LONGEST = 9, 400  # letters of a line
# Shares of lines: such as begin a bead of several sentences, have no counterpart, lack a clause on one side.
SEVERAL, MISSING, SHORTENED = 0.27, 0.06, 0.1
RUNS = 0.25  # of the places where lines have no counterpart: two to four of them
CUT, JOINED = 0.45, 0.35  # shares of the beads of several sentences; the others are of two and two
UNEVEN = 0.15  # two cuts are at different places when their relative places differ by this
_BORDER = re.compile(r"(?<=[;:,.!?–]) ")


class Source(NamedTuple):
    path: str  # under train/
    languages: tuple[str, str]
    ordered: bool  # the lines are those of a text; else they are drawn


SOURCES = (
    Source("nway/quran.jsonl.xz", ("fr", "es"), ordered=True),
    Source("nway/quran.jsonl.xz", ("en", "fr"), ordered=True),
    Source("nway/europarl7.jsonl.xz", ("de", "fr"), ordered=False),
    Source("nway/europarl7.jsonl.xz", ("it", "nl"), ordered=False),
    Source("nway/europarl7.jsonl.xz", ("en", "de"), ordered=False),
    Source("mdn/en-fr.tsv.xz", ("en", "fr"), ordered=False),
    Source("nway/lohelp.jsonl.xz", ("de", "fr"), ordered=True),
    Source("nway/pydocs.jsonl.xz", ("en", "fr"), ordered=True),
)


def made_documents(source: Source) -> list[KnownPair]:
    rng = np.random.default_rng(1)
    rows = parallel_lines(source)
    if not source.ordered:
        rows = [rows[place] for place in rng.permutation(len(rows))]
    starts = rng.permutation(len(rows) // LINES)[:DOCUMENTS] * LINES
    return [make_document(rows[start : start + LINES], source.languages, rng) for start in starts.tolist()]


def parallel_lines(source: Source) -> list[tuple[str, str]]:
    (file,) = find_files(DataSettings(corpora=(CorpusSettings(path=str(DATA.parent / "train" / source.path)),)))
    rows = []
    for group in read_groups(file):
        if isinstance(group, Group):
            texts = dict(group.sentences)
            pair = texts.get(source.languages[0], ""), texts.get(source.languages[1], "")
            if all(SHORTEST <= len(text) < LONGEST for text in pair):
                rows.append(pair)
    return rows


def make_document(rows: list[tuple[str, str]], languages: tuple[str, str], rng: np.random.Generator) -> KnownPair:
    left = iter(rows)
    beads = [bead for row in left for bead in _beads(row, left, rng)]
    parts = [
        KnownPair((src, tgt), languages, [(tuple(range(len(src))), tuple(range(len(tgt))))], exact=True)
        for src, tgt in beads
    ]
    return join_documents(parts)


def _beads(
    row: tuple[str, str], following: Iterable[tuple[str, str]], rng: np.random.Generator
) -> list[tuple[Lines, Lines]]:
    """Of a line, and of those that follow where it needs more."""
    side = int(rng.integers(2))
    if rng.random() < MISSING:
        more = int(rng.integers(1, 4)) if rng.random() < RUNS else 0
        gone = [row, *(line for _, line in zip(range(more), following, strict=False))]
        return [([line[0]], []) if side else ([], [line[1]]) for line in gone]
    sides = [[row[0]], [row[1]]]
    if rng.random() < SHORTENED:
        sides[side] = [_shortened(row[side], rng)]
    if rng.random() < SEVERAL:
        sides = _several(sides, side, following, rng)
    return [(sides[0], sides[1])]


def _several(
    sides: list[Lines], side: int, following: Iterable[tuple[str, str]], rng: np.random.Generator
) -> list[Lines]:
    """A bead of one line as one of several sentences: one side cut, lines joined on one side, or both sides cut."""
    kind, marked = rng.random(), bool(rng.random() < 0.5)
    if kind < CUT:
        sides[side] = _cut(sides[side][0], marked, rng)
    elif kind < CUT + JOINED:
        for _, more in zip(range(1 + int(rng.random() < 0.2)), following, strict=False):
            sides = [[*lines, line] for lines, line in zip(sides, more, strict=True)]
        sides[side] = [_joined(sides[side], marked)]
    else:
        both = [_cut(lines[0], marked, rng) for lines in sides]
        places = [len(pieces[0]) / len(lines[0]) for pieces, lines in zip(both, sides, strict=True)]
        if abs(places[0] - places[1]) > UNEVEN and len(both[0]) == len(both[1]):
            sides = both
    return sides


def _cut(text: str, marked: bool, rng: np.random.Generator) -> Lines:
    """In two where a clause ends; `marked`: they look like sentences."""
    places = [found.start() for found in _BORDER.finditer(text)]
    places = [place for place in places if 15 < place < len(text) - 15 and 0.2 < place / len(text) < 0.8]
    if not places:
        return [text]
    place = int(rng.choice([place for place in places if text[place - 1] not in ",–"] or places))
    first, second = text[:place], text[place + 1 :]
    if marked and first[-1] in ",;:–":
        first, second = first[:-1].rstrip() + ".", second[:1].upper() + second[1:]
    return [first, second]


def _joined(lines: Lines, marked: bool) -> str:
    """As one line; `marked`: as one sentence."""
    whole = lines[0]
    for line in lines[1:]:
        whole = whole[:-1] + ", " + line[:1].lower() + line[1:] if marked and whole.endswith(".") else f"{whole} {line}"
    return whole


def _shortened(text: str, rng: np.random.Generator) -> str:
    """Without one of its clauses, unless it is most of it."""
    ends = [0, *(found.start() for found in _BORDER.finditer(text)), len(text)]
    place = int(rng.integers(len(ends) - 1))
    if ends[place + 1] - ends[place] > len(text) / 2:
        return text
    return (text[: ends[place]] + text[ends[place + 1] :]).strip()
