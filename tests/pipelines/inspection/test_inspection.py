"""Every kind of our own files is recognised, and what is not ours is refused."""

import json
import shutil
from pathlib import Path

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from typer.testing import CliRunner

from encoder.models import BagSettings
from mining.errors import InputError
from mining.pair_formats import Format, write_pairs
from mining.vectors import write_vectors
from pipelines.cli import app
from pipelines.inspection import describe
from pipelines.loop.records import LoopState, MinedPair, RoundRecord, TrainingRecord, write_round, write_state
from pipelines.review.review_session import Session
from tests.conftest import Refusal
from tests.encoder.fixtures import write_checkpoint
from tests.pipelines.works import pairs_of, write_work

PAIRS = pa.table({"src_text": ["good [bold]day", "night"], "tgt_text": ["guten Tag", "Nacht"], "score": [1.5, 1.25]})


@pytest.fixture(scope="module")
def place(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A folder with one of each."""
    folder = tmp_path_factory.mktemp("things")
    work = write_work(folder / "demo" / "work" / "en-de", pairs_of(40))
    write_work(folder / "demo" / "work" / "en-fr", pairs_of(30))
    Session(str(work), 10, 0.9)
    shutil.copytree(work / "src", folder / "unfinished")
    request = json.loads((folder / "unfinished" / "manifest.json").read_text())["request"]
    (folder / "unfinished" / "manifest.json").unlink()
    (folder / "unfinished" / "_work").mkdir()
    (folder / "unfinished" / "_work" / "request.json").write_text(json.dumps(request))
    write_checkpoint(folder / "encoder", BagSettings(dim=8))
    for name in ("pairs.tsv", "pairs.jsonl.gz", "pairs.tmx", "pairs.parquet"):
        write_pairs(str(folder / name), [PAIRS], src_lang="en", tgt_lang="de")
    write_pairs(str(folder / "moses"), [PAIRS], format=Format.MOSES, src_lang="en", tgt_lang="de")
    write_pairs(str(folder / "no.tsv"), [PAIRS.append_column("reason", pa.array(["length", "script"]))])
    write_vectors(str(folder / "v.arrow"), np.arange(3), np.ones((3, 4), np.float16), {"encoder": "abc"})
    np.save(folder / "v.npy", np.ones((3, 4), np.float32))
    _write_loop(folder / "loop")
    return folder


def _write_loop(folder: Path) -> None:
    training = TrainingRecord(
        objective={"kind": "ems"}, start="scratch", seed_pairs=9, mined_pairs=0, seed_weight=1, updates=5, examples=50
    )
    record = RoundRecord(
        round=0, parent=None, encoder="e0e0", mined=[MinedPair(pair="de-en", matched=30, selected=20)],
        training=training, scores={"F1": 50.0}, score=50.0, seconds={"train": 60.0},
    )  # fmt: skip
    write_round(folder / "round-0", record)
    write_state(folder, LoopState(configuration={"rounds": 3}, inputs=[], finished=1, best=0))


THINGS = [
    ("demo/work/en-de/src", "sentences dataset", {"rows": "41", "read.lang": "en", "dropped: duplicate": "2"}),
    ("demo/work/en-de/src-vectors", "vectors dataset", {"rows": "41", "encoder": "e1e2"}),
    ("demo/work/en-de/graph", "neighbour graph dataset", {"k": "2"}),
    ("demo/work/en-de/pairs", "pairs dataset", {"rows": "40", "threshold": "1.0000", "margin": "ratio"}),
    ("demo/work/en-de/pairs/manifest.json", "pairs dataset", {"rows": "40"}),
    ("demo/work/en-de/pairs/00000.parquet", "pairs (parquet)", {"rows": "40"}),
    ("demo/work/en-de/pairs/rejected-00000.parquet", "rejected pairs (parquet)", {"rows": "1"}),
    ("demo/work/en-de/src/00000.parquet", "shard of a sentences dataset", {"rows": "41"}),
    ("demo/work/en-de/graph/forward-00000.parquet", "neighbours of one direction", {"k": "2"}),
    ("demo/work/en-de", "work folder of a mine", {"datasets": "6"}),
    ("demo/work/en-de/review.json", "review", {"wanted": "0.9", "right": "0"}),
    ("demo", "folder of mines", {"mines": "2"}),
    ("unfinished", "sentences dataset", {"read.lang": "en"}),
    ("encoder", "twinlode encoder", {"model.dim": "8", "model.kind": "bag"}),
    ("pairs.tsv", "pairs (tsv)", {"rows": "2"}),
    ("pairs.jsonl.gz", "pairs (jsonl)", {"rows": "2"}),
    ("pairs.tmx", "pairs (tmx)", {"rows": "2"}),
    ("pairs.parquet", "pairs (parquet)", {"rows": "2"}),
    ("moses", "pairs (moses)", {"rows": "2"}),
    ("no.tsv", "rejected pairs (tsv)", {"rows": "2"}),
    ("v.arrow", "vectors", {"rows": "3", "dim": "4", "type": "float16", "encoder": "abc"}),
    ("v.npy", "vectors", {"rows": "3", "dim": "4", "type": "float32"}),
    ("loop", "loop", {"rounds finished": "1", "rounds": "3"}),
    ("loop/round-0", "round of a loop", {"encoder": "e0e0", "score": "50.00"}),
]


@pytest.mark.parametrize(("name", "what", "facts"), THINGS, ids=[name for name, _, _ in THINGS])
def test_what_it_is(place: Path, name: str, what: str, facts: dict[str, str]) -> None:
    found = describe(str(place / name), 2)
    assert found.what == what
    assert facts.items() <= dict(found.facts).items()
    assert len(found.rows) <= 7
    if what.endswith(" dataset") and name not in ("unfinished", "demo/work/en-de/src/00000.parquet"):
        assert len(found.rows) == 2
        assert len(dict(found.facts)["fingerprint"]) == 16


def test_what_lies_beside_a_moses_pair_is_none_of_it(tmp_path: Path) -> None:
    write_pairs(str(tmp_path / "out"), [PAIRS], format=Format.MOSES, src_lang="en", tgt_lang="de")
    (tmp_path / "out.work").mkdir()
    (tmp_path / "out.tsv").write_text("1.0\ta\tb\n")
    found = describe(str(tmp_path / "out"))
    assert found.what == "pairs (moses)"
    assert found.columns == ["de", "en"], "which is the source cannot be known"
    assert found.rows[0] == [PAIRS["tgt_text"][0].as_py(), PAIRS["src_text"][0].as_py()]


def test_a_damaged_encoder_is_told(place: Path, tmp_path: Path) -> None:
    shutil.copytree(place / "encoder", tmp_path / "encoder")
    (tmp_path / "encoder" / "sentencepiece.model").write_bytes(b"other")
    assert "damaged or edited" in dict(describe(str(tmp_path / "encoder")).facts)["fingerprint"]


def test_folders_of_other_libraries(tmp_path: Path) -> None:
    (tmp_path / "config.json").write_text('{"model_type": "bert", "hidden_size": 12}')
    assert describe(str(tmp_path)).what == "Hugging Face encoder"
    (tmp_path / "modules.json").write_text('[{"type": "sentence_transformers.models.Pooling"}]')
    found = describe(str(tmp_path))
    assert found.what == "sentence-transformers encoder"
    assert {"hidden size": "12", "modules": "Pooling"}.items() <= dict(found.facts).items()


def other_things(folder: Path) -> list[tuple[str, str]]:
    """What cannot be described, and what is said."""
    (folder / "notes.docx").write_text("x")
    (folder / "empty").mkdir()
    (folder / "cut.parquet").write_bytes(b"PAR1")
    pq.write_table(
        pa.table({"src_text": ["a b c d"] * 99, "tgt_text": ["e"] * 99}), folder / "edited.parquet", compression="zstd"
    )
    edited = bytearray((folder / "edited.parquet").read_bytes())
    edited[30:50] = bytes(20)
    (folder / "edited.parquet").write_bytes(edited)
    (folder / "cut.npy").write_bytes(b"\x93NUMPY")
    pq.write_table(pa.table({"colour": ["red"]}), folder / "other.parquet")
    (folder / "wide.tsv").write_text("a\tb\tc\td\te\n")
    return [
        ("notes.docx", "not a file of twinlode"),
        ("nowhere", "no such file or folder"),
        ("empty", "not a folder of twinlode"),
        ("cut.parquet", "not a Parquet file"),
        ("edited.parquet", "not a Parquet file, or a damaged one"),
        ("cut.npy", "not a NumPy array file"),
        ("other.parquet", "columns colour, which is none of twinlode's"),
        ("wide.tsv", "wide.tsv, line 1"),
    ]


def test_what_is_not_ours_is_one_sentence_and_exit_2(tmp_path: Path, refusal: Refusal) -> None:
    for name, phrase in other_things(tmp_path):
        said = refusal("inspect", tmp_path / name)
        assert phrase in said and "\n" not in said, name
    with pytest.raises(InputError):
        describe(str(tmp_path / "nowhere"))


def test_the_command_prints_texts_as_they_are(place: Path) -> None:
    arguments = ["inspect", str(place / "pairs.tsv"), "--rows", "1"]
    result = CliRunner().invoke(app, arguments, catch_exceptions=False, env={"COLUMNS": "120"})
    assert result.exit_code == 0
    assert "good [bold]day" in result.output and "Nacht" not in result.output
