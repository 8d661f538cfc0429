"""What a person should know of a corpus: which column of it is read, and that most of it is in another language."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence

from mining.errors import InputError
from mining.language_id import detect
from mining.paths import expand
from pipelines.datasets.manifest import Counters
from pipelines.prepare.corpus_sample import sample_sentences
from pipelines.prepare.parts import LANGUAGE
from pipelines.prepare.readers import ReadSettings, document_format
from pipelines.prepare.readers.formats import reader_format

_LINES = 100
_CODES, _SENTENCES = 0.9, 0.5  # shares of codes from which on a column has no text, and up to which it has
_SHOWN = 30  # characters


def column_notes(inputs: Sequence[str], read: ReadSettings, *, documents: bool = False) -> list[str]:
    """Which column of TSV files is read where nobody chose one; of `documents`, `docid TAB sentence` is none of them.

    It is an error where that one has codes (names of lines, scores, URLs) and another one has sentences: nobody wants
    the codes mined, and whoever does can choose them.
    """
    if read.column is not None:
        return []
    tables = (url for url in expand(list(inputs)) if (read.format or reader_format(url)) == "tsv")
    url = next((url for url in tables if not documents or document_format(url, read) == "tsv"), None)
    if url is None:
        return []
    columns = _columns(sample_sentences([url], read.model_copy(update={"format": "txt"}), _LINES))
    if len(columns) < 2:
        return []
    codes = [sum(map(_is_code, cells)) / len(cells) for cells in columns]
    if codes[0] >= _CODES and min(codes) <= _SENTENCES:
        text = codes.index(min(codes))
        raise InputError(
            f"{url}: column 1, which is read by default, has no sentences ({_shown(columns[0])}), and column "
            f"{text + 1} has ({_shown(columns[text])}); give --column {text + 1}, or --column 1 if that is the text"
        )
    return [f"{url} has {len(columns)} columns, of which 1 is read ({_shown(columns[0])}); --column N reads another"]


def language_notes(inputs: Sequence[str], read: ReadSettings, counters: Counters, option: str) -> list[str]:
    """That most sentences of a corpus are not in its language, and which they seem to be in; `option` names that."""
    foreign = counters.dropped.get(LANGUAGE, 0)
    if 2 * foreign <= counters.rows_in:
        return []
    found = detect(sample_sentences(inputs, read))
    is_other = found.language != read.lang and found.shares.get(found.language, 0) > 0.5
    letters = f"; most are in {found.script} letters" if found.script else ""
    looks = f"; most look like {found.language}" if is_other else letters
    files = ", ".join(inputs[:3])
    return [f"{foreign:,} of {counters.rows_in:,} sentences of {files} are not {read.lang}{looks}: check {option}"]


def _columns(lines: Sequence[str]) -> list[tuple[str, ...]]:
    """The cells of each column, of the lines with as many columns as most have."""
    rows = [line.split("\t") for line in lines]
    widths = Counter(map(len, rows)).most_common(1)
    return list(zip(*(row for row in rows if len(row) == widths[0][0]), strict=True)) if widths else []


def _is_code(cell: str) -> bool:
    """One word of plain letters, digits and signs; scripts that write no spaces have other letters."""
    return cell.isascii() and len(cell.split()) < 2


def _shown(cells: Sequence[str]) -> str:
    return ", ".join(repr(cell if len(cell) <= _SHOWN else f"{cell[:_SHOWN]}...") for cell in cells[:2])
