"""Evaluation files of every format keep their sentences out of training, and out of the vocabulary."""

import json
from collections.abc import Callable
from pathlib import Path

import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from encoder.data.corpora import DataSettings
from encoder.data.exclusion import is_excluded, read_exclusions
from encoder.data.vocabulary import prepare_subword
from encoder.subword import Subword, SubwordSettings
from encoder.text import TextSettings
from mining.errors import InputError

ONE, OTHER = "A red stone, alone", "Der rote Stein"
PO = 'msgid ""\nmsgstr "Language: de\\n"\n\nmsgid "{}"\nmsgstr "{}"\n'
UNIT = '<tu><tuv xml:lang="en"><seg>{}</seg></tuv><tuv xml:lang="de"><seg>{}</seg></tuv></tu>'


def _parquet(path: Path) -> None:
    pq.write_table(pa.table({"left": [ONE], "right": [OTHER], "score": [2.5]}), path)


WRITERS: dict[str, Callable[[Path], object]] = {
    "x.txt": lambda path: path.write_text(f"{ONE}\n{OTHER}\n"),
    "x.deu": lambda path: path.write_text(f"{ONE}\n{OTHER}\n"),
    "x.tsv": lambda path: path.write_text(f"en-1\t{ONE}\t{OTHER}\n"),
    "x.csv": lambda path: path.write_text(f'"{ONE}",{OTHER},2.5\n'),
    "x.jsonl": lambda path: path.write_text(json.dumps({"en": ONE, "more": [{"de": OTHER}]}) + "\n"),
    "x.json": lambda path: path.write_text(json.dumps([{"question": ONE}, OTHER], indent=1)),
    "x.parquet": _parquet,
    "x.po": lambda path: path.write_text(PO.format(ONE, OTHER)),
    "x.tmx": lambda path: path.write_text(f"<tmx><body>{UNIT.format(ONE, OTHER)}</body></tmx>"),
}


@pytest.mark.parametrize("name", WRITERS)
def test_sentences_of_a_file_are_excluded(tmp_path: Path, name: str) -> None:
    WRITERS[name](tmp_path / name)
    keys = read_exclusions([str(tmp_path / name)])
    for text in (ONE, OTHER.upper()):
        assert is_excluded([text], keys)
    assert not is_excluded(["The red stone"], keys)


@pytest.mark.parametrize(
    ("name", "content", "message"),
    [
        ("x.txt", b"fine\n\xff\xfe\n", r"x\.txt, line 2: not valid UTF-8"),
        ("x.jsonl", b"{\n", r"x\.jsonl: not valid JSON"),
        ("x.parquet", b"nothing", r"x\.parquet: cannot be read as Parquet"),
        ("x.csv", b"\n \n", r"x\.csv: the file has no text"),
    ],
)
def test_what_would_exclude_nothing_is_refused(tmp_path: Path, name: str, content: bytes, message: str) -> None:
    (tmp_path / name).write_bytes(content)
    with pytest.raises(InputError, match=message):
        read_exclusions([str(tmp_path / name)])


def test_excluded_sentences_do_not_shape_the_vocabulary(tmp_path: Path) -> None:
    plain = "".join(f"the red stone {n}\tder rote stein {n}\n" for n in range(50))
    (tmp_path / "en-de.tsv").write_text(plain + "zyzzyva\tzyzzyva\n" * 50)
    (tmp_path / "secret.txt").write_text("Zyzzyva\n")
    data = DataSettings.model_validate({"corpora": [{"path": str(tmp_path / "en-de.tsv")}]})
    known = {}
    for exclude in ((), (str(tmp_path / "secret.txt"),)):
        settings = SubwordSettings(vocabulary=45, model="bpe")
        path = prepare_subword(data, TextSettings(), settings, tmp_path, exclude=exclude)
        known[bool(exclude)] = len(Subword.load(path).encode(["zyzzyva"]).ids)
    assert known[False] < known[True]
