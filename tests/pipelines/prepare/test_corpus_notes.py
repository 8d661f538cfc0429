"""Which column of a table is read, and a corpus that is mostly of another language."""

from pathlib import Path

import pytest

from mining.errors import InputError
from pipelines.datasets.manifest import Counters
from pipelines.prepare.corpus_notes import column_notes, language_notes
from pipelines.prepare.readers import ReadSettings
from tests.pipelines.installed import ENGLISH, GERMAN

READ = ReadSettings(lang="en")
ENGLISH_LINES, GERMAN_LINES = ENGLISH.splitlines(), GERMAN.splitlines()
CODES = [f"E{number}" for number in range(len(ENGLISH_LINES))]
SCORES = [f"{0.1 * number:.4f}" for number in range(len(ENGLISH_LINES))]
CHINESE = ["我们明天去看电影", "他没有找到钥匙", "火车早上九点出发", "孩子们在花园里玩"] * 2
WORDS = ["File", "Edit", "Open", "Save", "Close", "Print", "Help", "Quit"]
PHRASES = ["doc 1 of 8"] * 8


def table(folder: Path, *columns: list[str], name: str = "a.tsv") -> str:
    (folder / name).write_text("".join("\t".join(row) + "\n" for row in zip(*columns, strict=True)))
    return str(folder / name)


@pytest.mark.parametrize(
    ("columns", "chosen"),
    [
        ((CODES, ENGLISH_LINES), 2),
        ((SCORES, ENGLISH_LINES, GERMAN_LINES), 2),
        ((CODES, SCORES, GERMAN_LINES), 3),
        ((CODES, CHINESE), 2),
        ((["id", *CODES[1:]], ["text", *ENGLISH_LINES[1:]]), 2),
        (([""] * 8, ENGLISH_LINES), 2),
    ],
)
def test_codes_are_refused_where_another_column_has_sentences(
    tmp_path: Path, columns: tuple[list[str], ...], chosen: int
) -> None:
    with pytest.raises(InputError) as refused:
        column_notes([table(tmp_path, *columns)], READ)
    said = str(refused.value)
    assert f"a.tsv: column 1, which is read by default, has no sentences ({columns[0][0]!r}, " in said
    assert said.endswith(f"; give --column {chosen}, or --column 1 if that is the text")


@pytest.mark.parametrize(
    "columns",
    [
        (ENGLISH_LINES, GERMAN_LINES),
        (ENGLISH_LINES, CODES),
        (CHINESE, ENGLISH_LINES),
        (CODES, SCORES),
        (WORDS, CODES),
        (PHRASES, ENGLISH_LINES),
    ],
)
def test_the_column_that_is_read_is_said(tmp_path: Path, columns: tuple[list[str], ...]) -> None:
    (note,) = column_notes([table(tmp_path, *columns)], READ)
    assert f"a.tsv has 2 columns, of which 1 is read ({columns[0][0][:30]!r}"[:-1] in note
    assert note.endswith("; --column N reads another")


@pytest.mark.parametrize("change", [{"column": "1"}, {"format": "bucc"}, {"format": "txt"}])
def test_nothing_is_said_of_a_choice(tmp_path: Path, change: dict[str, str]) -> None:
    assert column_notes([table(tmp_path, CODES, ENGLISH_LINES)], READ.model_copy(update=change)) == []


def test_nothing_is_said_of_one_column(tmp_path: Path) -> None:
    assert column_notes([table(tmp_path, CODES)], READ) == []
    assert column_notes([table(tmp_path, CODES, ENGLISH_LINES)], READ, documents=True) == []
    assert column_notes([table(tmp_path, [*ENGLISH_LINES, "one\ttab"])], READ) == []
    assert column_notes([table(tmp_path, CODES, ENGLISH_LINES, name="a.txt")], READ) == []
    assert column_notes([table(tmp_path, [])], READ) == []


@pytest.mark.parametrize(
    ("text", "looks"),
    [
        (GERMAN * 5, "; most look like de"),
        (ENGLISH * 5, ""),
        ("12 34\n" * 9, ""),
        ("ᱟᱢ ᱫᱚ ᱪᱮᱫ.\n" * 9, "; most are in Ol Chiki letters"),
    ],
)
def test_the_language_that_most_sentences_seem_to_be_in(tmp_path: Path, text: str, looks: str) -> None:
    (tmp_path / "a.txt").write_text(text)
    inputs = [f"{tmp_path}/a.txt"]
    counters = Counters(rows_in=1000, kept=499, dropped={"language": 501})
    assert language_notes(inputs, READ, counters, "--lang") == [
        f"501 of 1,000 sentences of {tmp_path}/a.txt are not en{looks}: check --lang"
    ]
    half = Counters(rows_in=1000, kept=500, dropped={"language": 500})
    assert language_notes(inputs, READ, half, "--lang") == []
