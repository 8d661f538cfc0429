"""What every reader takes and gives: a block of a file in, batches of sentences with provenance out."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from typing import Annotated, Literal, NamedTuple, cast

import numpy as np
from pydantic import AfterValidator, BaseModel, ConfigDict, Field

from encoder.languages import canonical
from mining.errors import InputError

Format = Literal["txt", "tsv", "bucc", "jsonl", "parquet", "gettext", "wet", "warc", "html"]

# Reasons for which a reader drops a row; the counters of every dataset use these words.
EMPTY = "empty"
BAD_UTF8 = "bad_utf8"
TOO_LONG = "too_long"
NO_COLUMN = "no_column"
BAD_JSON = "bad_json"
UNTRANSLATED = "untranslated"
NOT_A_PAGE = "not_a_page"
TOO_DEEP = "too_deep"
TOO_MANY_ATTRIBUTES = "too_many_attributes"
TRUNCATED = "truncated"


class ReadSettings(BaseModel):
    """How files become sentences; the same for every file of one dataset."""

    model_config = ConfigDict(extra="forbid", frozen=True)

    lang: Annotated[str, AfterValidator(canonical)] = Field(description="language of the text, such as en")
    format: Format | None = Field(default=None, description="the file format; by extension when not given")
    column: str | None = Field(
        default=None,
        coerce_numbers_to_str=True,
        description="tsv: column number from 1; jsonl: field; parquet: column name",
    )
    ref_column: str | None = Field(
        default=None,
        coerce_numbers_to_str=True,
        description="tsv, jsonl, parquet: the column that names the row or document",
    )
    max_chars: int = Field(default=2000, ge=1, description="longer lines are dropped as too_long")
    truncated: Literal["stop", "keep"] = Field(
        default="stop",
        description="a cut-off or corrupt archive: stop with an error, or keep what could be read and count it",
    )


@dataclass(frozen=True)
class Block:
    """A piece of one input file that one worker reads; `start` and `stop` are bytes, or row groups for Parquet."""

    index: int
    url: str
    format: Format
    start: int = 0
    stop: int | None = None


class RowBatch(NamedTuple):
    """Consecutive rows of a block: what was kept, and how many were dropped for which reason."""

    texts: list[str]
    lines: np.ndarray  # (len(texts),) int64, counted from 1 at the start of the block
    refs: Sequence[str | None] | None  # what the input itself calls each row: BUCC id, document URL, message context
    dropped: Counter[str]
    end: int  # lines (rows, records) of the block consumed so far
    alternates: dict[str, dict[str, str]] | None = None  # of pages, by ref: the URL of each other language (hreflang)
    paragraphs: np.ndarray | None = None  # (len(texts),) of pages, whose sentences share a line: which of the page's

    @property
    def rows_in(self) -> int:
        return len(self.texts) + self.dropped.total()


Read = Callable[[Block, ReadSettings], Iterator[RowBatch]]


def keep_rows(
    texts: list[str | None],
    first: int,
    settings: ReadSettings,
    dropped: Counter[str],
    refs: Sequence[str | None] | None = None,
) -> RowBatch:
    """A batch of the rows that are neither empty nor over-long; `first` is the line of the first.

    Rows that are None were found wanting before, and are in `dropped` already.
    """
    most = settings.max_chars
    kept = [i for i, text in enumerate(texts) if text and len(text) <= most and not text.isspace()]
    if len(kept) < len(texts):
        present = [text for text in texts if text is not None]
        long = sum(len(text) > most for text in present)
        dropped = dropped + Counter({TOO_LONG: long, EMPTY: len(present) - len(kept) - long})
    rows = cast(list[str], [texts[i] for i in kept])
    return RowBatch(
        rows,
        np.asarray(kept, np.int64) + first,
        None if refs is None else [refs[i] for i in kept],
        dropped,
        first + len(texts) - 1,
    )


def ref_of(value: object) -> str | None:
    """What a row is called, None where there is nothing in its column."""
    return None if value is None else str(value) or None


def column_number(name: str | None, default: int, what: str) -> int:
    """A column given by number from 1, as an index from 0."""
    try:
        number = int(name) if name is not None else default
    except ValueError:
        number = 0
    if number < 1:
        raise InputError(f"{what} {name!r} is not a column number; the columns of a TSV file count from 1")
    return number - 1
