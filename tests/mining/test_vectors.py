"""Vector files: what is written is what is mapped, and what would mine garbage is refused with its place."""

import tempfile
import tracemalloc
from pathlib import Path

import fsspec
import numpy as np
import pyarrow as pa
import pytest

from mining.errors import InputError
from mining.vectors import from_array, open_vectors, take_rows, taken_vectors, write_vectors, zero_rows

ARRAY = np.random.default_rng(0).standard_normal((7, 5)).astype(np.float32)


@pytest.mark.parametrize("dtype", ["float16", "float32"])
@pytest.mark.parametrize("rows", [0, 1, 7])
def test_arrow_round_trip(tmp_path: Path, dtype: str, rows: int) -> None:
    path, ids = str(tmp_path / "v.arrow"), np.arange(rows) * 3 + 2
    write_vectors(path, ids, ARRAY[:rows].astype(dtype), {"encoder": "abc"})
    read = open_vectors(path, dim=5, dtype=dtype, rows=rows)
    np.testing.assert_array_equal(read.stored, ARRAY[:rows].astype(dtype))
    np.testing.assert_array_equal(read.ids, ids)
    assert read.metadata["encoder"] == "abc"
    assert (read.metadata["rows"], read.metadata["dim"], read.metadata["dtype"]) == (str(rows), "5", dtype)


def test_arrow_is_mapped_not_copied(tmp_path: Path) -> None:
    path = str(tmp_path / "v.arrow")
    write_vectors(path, np.arange(7), ARRAY)
    before = pa.total_allocated_bytes()
    opened = open_vectors(path)
    assert pa.total_allocated_bytes() - before < ARRAY.nbytes
    assert not opened.stored.flags.writeable


def test_many_record_batches_of_another_writer_become_one_array(tmp_path: Path) -> None:
    schema = pa.schema([("id", pa.uint64()), ("vector", pa.list_(pa.float32(), 5))])
    with pa.ipc.new_file(str(tmp_path / "v.arrow"), schema) as writer:
        for start in (0, 3, 6):
            part = ARRAY[start : start + 3]
            ids = pa.array(np.arange(start, start + len(part)), pa.uint64())
            writer.write_batch(
                pa.record_batch([ids, pa.FixedSizeListArray.from_arrays(pa.array(part.ravel()), 5)], schema=schema)
            )
    np.testing.assert_array_equal(open_vectors(str(tmp_path / "v.arrow")).stored, ARRAY)


def test_numpy_and_raw_files(tmp_path: Path) -> None:
    np.save(tmp_path / "v.npy", ARRAY)
    ARRAY.tofile(tmp_path / "v.bin")
    ARRAY.astype(np.float16).tofile(tmp_path / "half.bin")
    np.testing.assert_array_equal(open_vectors(str(tmp_path / "v.npy")).stored, ARRAY)
    for given in ({"dim": 5, "dtype": "float32"}, {"rows": 7, "dtype": "float32"}, {"rows": 7, "dim": 5}):
        np.testing.assert_array_equal(open_vectors(str(tmp_path / "v.bin"), **given).stored, ARRAY)
    half = open_vectors(str(tmp_path / "half.bin"), rows=7, dim=5)
    assert half.stored.dtype == np.float16


def test_remote_files_are_copied_and_mapped(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(tempfile, "tempdir", str(tmp_path))
    with fsspec.open("memory://vectors/v.npy", "wb") as stream:
        np.save(stream, ARRAY)
    np.testing.assert_array_equal(open_vectors("memory://vectors/v.npy").stored, ARRAY)
    assert not list(Path(tempfile.gettempdir()).iterdir()), "copies go when they are no longer used"
    write_vectors("memory://vectors/v.arrow", np.arange(7), ARRAY)
    np.testing.assert_array_equal(open_vectors("memory://vectors/v.arrow").stored, ARRAY)


def test_bad_files_are_one_sentence(tmp_path: Path) -> None:
    np.save(tmp_path / "v.npy", ARRAY)
    np.save(tmp_path / "flat.npy", ARRAY.ravel())
    np.save(tmp_path / "double.npy", ARRAY.astype(np.float64))
    np.save(tmp_path / "big.npy", ARRAY.astype(">f4"))
    np.save(tmp_path / "narrow.npy", ARRAY[:, :0])
    ARRAY.tofile(tmp_path / "v.bin")
    write_vectors(str(tmp_path / "v.arrow"), np.arange(7), ARRAY)
    (tmp_path / "cut.arrow").write_bytes((tmp_path / "v.arrow").read_bytes()[:-40])
    (tmp_path / "cut.npy").write_bytes((tmp_path / "v.npy").read_bytes()[:-4])
    (tmp_path / "cut.bin").write_bytes((tmp_path / "v.bin").read_bytes()[:-3])
    cases: list[tuple[str, dict[str, object], str]] = [
        ("none.npy", {}, "no such file"),
        (".", {}, "is a folder"),
        ("flat.npy", {}, "two-dimensional"),
        ("double.npy", {}, "holds float64"),
        ("big.npy", {}, "byte order of another machine"),
        ("narrow.npy", {}, "dim 0"),
        ("cut.arrow", {}, "truncated"),
        ("cut.npy", {}, "truncated"),
        ("cut.bin", {"dim": 5, "dtype": "float32"}, "137 bytes do not divide into rows of 5 float32"),
        ("v.bin", {}, "give --dtype"),
        ("v.bin", {"dtype": "float32"}, "give --dim"),
        ("v.bin", {"dtype": "float32", "rows": 8}, "do not divide into 8 rows"),
        ("v.bin", {"dtype": "int8"}, "not supported"),
        ("v.bin", {"dim": -5, "dtype": "float32"}, "dim -5 do not exist"),
        ("v.npy", {"dim": 6}, "vectors of dim 5, but dim 6 was asked for"),
        ("v.npy", {"dtype": "float16"}, "holds float32 values, but float16"),
        ("v.npy", {"rows": 9}, "7 vectors, but the text has 9 lines"),
    ]
    for name, given, message in cases:
        with pytest.raises(InputError, match=message) as caught:
            open_vectors(str(tmp_path / name), **given)  # type: ignore[arg-type]
        assert "\n" not in str(caught.value)
        assert str(tmp_path) in str(caught.value) or "not supported" in message or "do not exist" in message


@pytest.mark.parametrize("value", [np.nan, np.inf])
def test_rows_that_are_not_numbers_are_named(value: float) -> None:
    bad = ARRAY.copy()
    bad[[2, 5], 1] = value
    with pytest.raises(InputError, match="v: NaN or infinite values in rows 3, 6"):
        from_array(bad, "v")


def test_zero_rows_are_found_and_kept_out() -> None:
    with_zero = ARRAY.copy()
    with_zero[4] = 0
    vectors = from_array(with_zero)
    assert zero_rows(vectors).tolist() == [4]


def test_ids_must_increase() -> None:
    with pytest.raises(InputError, match="v, row 3: ids must increase"):
        from_array(ARRAY, "v", ids=np.array([1, 2, 2, 3, 4, 5, 6]))


def test_floats_read_as_another_type_are_refused(tmp_path: Path) -> None:
    half = np.random.default_rng(1).standard_normal((100, 64)).astype(np.float16) / 8
    for scale in (1 / 64, 1 / 8, 1, 8):
        (half * np.float16(scale)).tofile(tmp_path / "v.bin")
        with pytest.raises(InputError, match=r"float16 numbers of dim 64, .* give --dtype float16"):
            open_vectors(str(tmp_path / "v.bin"), rows=100, dtype="float32")
    half.astype(np.float32).tofile(tmp_path / "v.bin")
    assert open_vectors(str(tmp_path / "v.bin"), rows=100, dtype="float32").dim == 64
    rng = np.random.default_rng(1)
    rng.standard_normal((100, 64)).astype(np.float32).tofile(tmp_path / "v.bin")
    with pytest.raises(InputError, match=r"NaN or infinite values in rows .* check --dtype"):
        open_vectors(str(tmp_path / "v.bin"), rows=100, dtype="float16")


def arrow_file(path: Path, ids: pa.Array, vectors: pa.Array, metadata: dict[str, str]) -> None:
    table = pa.table({"id": ids, "vector": vectors}).replace_schema_metadata(metadata)
    with pa.ipc.new_file(str(path), table.schema) as writer:
        writer.write_table(table, max_chunksize=4)


def test_arrow_files_of_other_writers_are_refused_in_one_sentence(tmp_path: Path) -> None:
    kind = pa.list_(pa.float32(), 5)
    rows = ARRAY.tolist()
    hole = [None if i == 5 else row for i, row in enumerate(rows)]
    part = [[None, *row[1:]] if i == 6 else row for i, row in enumerate(rows)]
    numbers = pa.array(range(7), pa.uint64())
    whole = pa.array(rows, kind)
    cases = [
        (numbers, pa.array(hole, kind), {}, "no id or no vector in row 6"),
        (numbers, pa.array(part, kind), {}, "no id or no vector in row 7"),
        (pa.array([0, None, 2, 3, 4, 5, 6], pa.uint64()), whole, {}, "no id or no vector in row 2"),
        (pa.array(list("abcdefg")), whole, {}, "`id` holds string values"),
        (numbers, whole, {"rows": "many"}, "holds 7 rows, but its metadata says many"),
        (numbers, pa.array(rows, pa.list_(pa.float32())), {}, r"but has id \(uint64\), vector \(list"),
    ]
    for ids, vectors, metadata, message in cases:
        arrow_file(tmp_path / "v.arrow", ids, vectors, metadata)
        with pytest.raises(InputError, match=message):
            open_vectors(str(tmp_path / "v.arrow"))


def test_rows_of_a_map_are_a_part_of_it_or_another_map(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    np.save(tmp_path / "v.npy", np.arange(400, dtype=np.float32).reshape(100, 4))
    stored = np.load(tmp_path / "v.npy", mmap_mode="r")
    part = take_rows(stored, np.arange(10, 60), "float32")
    assert np.shares_memory(part, stored)
    monkeypatch.setattr("mining.vectors._CHECK_BYTES", 16 * 7)  # seven rows at a time
    for rows in (np.arange(0, 100, 3), np.arange(50)[::-1]):
        for dtype in ("float32", "float16"):
            copied = take_rows(stored, rows, dtype)
            np.testing.assert_array_equal(copied, stored[rows].astype(dtype))
            assert isinstance(copied, np.memmap) and copied.dtype == dtype, "what is large is not held in memory"
    assert take_rows(stored, np.empty(0, np.int64), "float32").shape == (0, 4)


@pytest.mark.parametrize("dtype", [np.float16, np.float32])
def test_rows_of_several_files_are_copied_once(dtype: type) -> None:
    draw = np.random.default_rng(0)
    files = [from_array(draw.standard_normal((3000, 64)).astype(dtype)) for _ in range(3)]
    given = [
        (file, np.sort(draw.permutation(3000)[:count])) for file, count in zip(files, (2000, 1, 2500), strict=True)
    ]
    tracemalloc.start()
    found = taken_vectors(given)
    peak = tracemalloc.get_traced_memory()[1]
    tracemalloc.stop()
    for name in ("ids", "stored", "inverse_norms"):
        expected = np.concatenate([getattr(file.take(rows), name) for file, rows in given])
        np.testing.assert_array_equal(getattr(found, name), expected)
        assert getattr(found, name).dtype == expected.dtype
    assert peak < 1.3 * (found.stored.nbytes + found.ids.nbytes + found.inverse_norms.nbytes)
