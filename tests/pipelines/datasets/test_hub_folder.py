"""What Hugging Face's `datasets` makes of the folders that we write."""

from collections.abc import Iterator
from pathlib import Path

import pyarrow as pa
import pyarrow.parquet as pq
import pytest
import yaml
from datasets import Dataset, Translation, load_dataset

from encoder.cards import read_card
from mining import __version__
from mining.errors import InputError
from mining.temporary_files import temporary_name
from pipelines.commands.options import hub_folder
from pipelines.datasets import hub_folder as module
from pipelines.datasets.hub_folder import Columns, HubFolder

PAIRS = [("Good morning.", "Guten Morgen."), ("Good night.", "Gute Nacht."), ("Bread", "Brot"), ("Sea", "Meer")]


def tables(rows: list[tuple[str, str]]) -> list[pa.Table]:
    def table(part: list[tuple[str, str]], first: int) -> pa.Table:
        return pa.table(
            {
                "src_text": [pair[0] for pair in part],
                "tgt_text": [pair[1] for pair in part],
                "score": pa.array([1.5] * len(part), pa.float32()),
                "src_source": ["en.txt"] * len(part),
                "src_line": list(range(first, first + len(part))),
            }
        )

    return [table(rows[:1], 1), table(rows[1:], 2)]


def write(folder: Path, columns: Columns, rows: list[tuple[str, str]] = PAIRS) -> Path:
    HubFolder(str(folder), columns, ("en", "de")).write(tables(rows), len(rows), [("matched", "7")])
    return folder


def load(folder: Path) -> Dataset:
    return load_dataset(str(folder), split="train", cache_dir=str(folder.parent / "cache"))


@pytest.fixture(autouse=True)
def small_files(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(module, "ROWS_PER_FILE", 2)


def test_the_columns_of_each_convention(tmp_path: Path) -> None:
    loaded = load(write(tmp_path / "a", Columns.src_trg))
    assert [(row["src_text"], row["trg_text"]) for row in loaded] == PAIRS
    assert (loaded[2]["score"], loaded[2]["src_source"], loaded[2]["src_line"]) == (1.5, "en.txt", 3)
    assert loaded[2]["trg_source"] is loaded[2]["trg_line"] is None
    loaded = load(write(tmp_path / "b", Columns.sentences))
    assert loaded.column_names == ["sentence1", "sentence2"]
    loaded = load(write(tmp_path / "c", Columns.translation))
    assert loaded.features["translation"] == Translation(languages=["en", "de"])
    assert loaded[3]["translation"] == {"en": "Sea", "de": "Meer"}


def test_files_are_numbered_of_all(tmp_path: Path) -> None:
    folder = write(tmp_path / "a", Columns.sentences)
    write(folder, Columns.sentences, PAIRS[:3])
    names = sorted(path.name for path in (folder / "data").iterdir())
    assert names == ["train-00000-of-00002.parquet", "train-00001-of-00002.parquet"]
    write(folder, Columns.sentences, [])
    (empty,) = (folder / "data").iterdir()
    assert empty.name == "train-00000-of-00001.parquet"
    assert pq.read_table(empty).num_rows == 0


def test_the_card_tells_what_it_is(tmp_path: Path) -> None:
    head, body = read_card(write(tmp_path / "a", Columns.src_trg) / "README.md")
    assert head["language"] == ["de", "en"] and head["size_categories"] == ["n<1K"]
    assert head["configs"][0]["data_files"] == [{"split": "train", "path": "data/train-*.parquet"}]
    assert "# en-de, 4 pairs" in body and f"twinlode {__version__}." in body
    assert "| matched | 7 |" in body and "| trg_line | int64 |" in body
    assert yaml.safe_dump(head)


def test_what_is_there_is_not_overwritten(tmp_path: Path) -> None:
    (tmp_path / "thesis").mkdir()
    (tmp_path / "thesis" / "README.md").write_text("years of work")
    with pytest.raises(InputError, match="something else"):
        hub_folder(str(tmp_path / "thesis"), "src_text", ("en", "de"))
    hub_folder(str(write(tmp_path / "ours", Columns.src_trg)), "src_text", ("en", "de"))


def test_a_killed_run_knows_its_own_folder(tmp_path: Path) -> None:
    def killed() -> Iterator[pa.Table]:
        yield from tables(PAIRS)[:1]
        raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        HubFolder(str(tmp_path / "a"), Columns.src_trg, ("en", "de")).write(killed(), len(PAIRS), [])
    (tmp_path / "b").mkdir()
    (tmp_path / "b" / temporary_name("README.md")).write_text("half a card")
    for name in ("a", "b"):
        hub_folder(str(tmp_path / name), "src_text", ("en", "de"))
        assert len(load(write(tmp_path / name, Columns.src_trg))) == len(PAIRS)


@pytest.mark.parametrize(
    ("columns", "languages", "told"),
    [
        ("source", ("en", "de"), "--dataset-columns is one of src_text, sentence1, translation, not source"),
        ("src_text", ("en", None), "needs --src-lang and --tgt-lang"),
        ("translation", ("en", "en"), "two different languages"),
    ],
)
def test_mistakes_are_said_at_once(columns: str, languages: tuple[str, str | None], told: str, tmp_path: Path) -> None:
    with pytest.raises(InputError, match=told):
        hub_folder(str(tmp_path / "new"), columns, languages)
