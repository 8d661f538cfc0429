"""Vector files: Arrow IPC with ids, NumPy `.npy` and LASER's raw `.bin`, memory-mapped and checked before use."""

from __future__ import annotations

import os
import shutil
import tempfile
from collections.abc import Iterable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, replace
from pathlib import Path
from tokenize import TokenError

import numpy as np
import pyarrow as pa

from mining.errors import InputError
from mining.files import atomic_writer
from mining.paths import local_path, open_url
from mining.top_k import norms

DTYPES = {"float16": np.float16, "float32": np.float32}
_CHECK_BYTES = 16 << 20  # rows are checked in pieces of this size
_SAMPLE_ROWS = 1000
_WILD_SPREAD = 1e4  # of magnitudes: embeddings stay below a hundred
_MAX_ROWS = (1 << 31) - 1  # Arrow's record batches and our kernels count rows of one file in 32 bits


@dataclass(frozen=True)
class Vectors:
    """The rows of one file, still on disk when the file is local."""

    name: str  # for messages
    ids: np.ndarray  # (rows,) int64, strictly increasing
    stored: np.ndarray  # (rows, dim) float16 or float32, usually a memory map
    inverse_norms: np.ndarray  # (rows,) float64; NaN keeps a row out of the graph
    metadata: dict[str, str]

    @property
    def dim(self) -> int:
        return int(self.stored.shape[1])

    def __len__(self) -> int:
        return len(self.stored)

    def rows(self, start: int, stop: int) -> Vectors:
        """A contiguous part, sharing the memory map."""
        return replace(
            self,
            ids=self.ids[start:stop],
            stored=self.stored[start:stop],
            inverse_norms=self.inverse_norms[start:stop],
        )

    def take(self, rows: np.ndarray) -> Vectors:
        """Some rows, copied."""
        return replace(self, ids=self.ids[rows], stored=self.stored[rows], inverse_norms=self.inverse_norms[rows])

    def unit(self, rows: np.ndarray) -> np.ndarray:
        """Some rows as unit float32 vectors."""
        return self.stored[rows].astype(np.float32) * self.inverse_norms[rows, None].astype(np.float32)


def from_array(array: np.ndarray, name: str = "array", ids: np.ndarray | None = None) -> Vectors:
    """Check an array of vectors and make it minable: finite, two-dimensional, ids increasing."""
    return _checked(name, array, np.arange(len(array)) if ids is None else ids, {})


def open_vectors(url: str, *, dim: int | None = None, dtype: str | None = None, rows: int | None = None) -> Vectors:
    """Open a vector file by its extension: `.arrow`, `.npy`, and anything else as LASER's raw floats.

    `dim`, `dtype` and `rows` (the lines of the text) are what the caller expects: a file that says otherwise is
    refused, and a raw file, which says nothing, takes them from here.
    """
    if dtype is not None and dtype not in DTYPES:
        raise InputError(f"vectors of type {dtype!r} are not supported; use float16 or float32")
    if dim is not None and dim < 1:
        raise InputError(f"vectors of dim {dim} do not exist; the dim must be 1 or more")
    metadata: dict[str, str] = {}
    with _on_disk(url) as path:
        if url.endswith((".arrow", ".feather", ".ipc")):
            array, ids, metadata = _map_arrow(url, path)
        else:
            array = _map_numpy(url, path) if url.endswith(".npy") else _map_raw(url, path, dim, dtype, rows)
            ids = np.arange(len(array))
    _expect(url, array, dim, dtype, rows)
    return _checked(url, array, ids, metadata)


def joined_vectors(parts: Sequence[Vectors]) -> Vectors:
    """Vectors of several files as one, through a temporary file where there is more than one."""
    if len(parts) == 1:
        return parts[0]
    if not parts:
        return from_array(np.empty((0, 1), np.float32), "no vectors")
    ids = np.concatenate([part.ids for part in parts])
    inverse_norms = np.concatenate([part.inverse_norms for part in parts])
    stored = _spooled((part.stored for part in parts), parts[0].stored.dtype, (len(ids), parts[0].dim))
    return Vectors(parts[0].name, ids, stored, inverse_norms, parts[0].metadata)


def taken_vectors(parts: Sequence[tuple[Vectors, np.ndarray]]) -> Vectors:
    """Some rows of each of several files as one, copied once; there is at least one file."""
    first, ends = parts[0][0], np.cumsum([len(rows) for _, rows in parts])
    stored = np.empty((ends[-1], first.dim), first.stored.dtype)
    for (vectors, rows), end in zip(parts, ends.tolist(), strict=True):
        # Rows exist: to "clip" them copies into place, to "raise" would copy twice.
        np.take(vectors.stored, rows, axis=0, out=stored[end - len(rows) : end], mode="clip")
    ids = np.concatenate([vectors.ids[rows] for vectors, rows in parts])
    inverse_norms = np.concatenate([vectors.inverse_norms[rows] for vectors, rows in parts])
    return Vectors(first.name, ids, stored, inverse_norms, first.metadata)


def write_vectors(url: str, ids: np.ndarray, array: np.ndarray, metadata: dict[str, str] | None = None) -> None:
    """Write one Arrow IPC file: `id` uint64 and `vector` fixed_size_list, one record batch, so it maps as one array."""
    if array.dtype.name not in DTYPES or array.ndim != 2:
        raise InputError(f"{url}: vectors must be a two-dimensional float16 or float32 array")
    values = pa.array(np.ascontiguousarray(array).ravel(), from_pandas=False)
    batch = pa.record_batch(
        {
            "id": pa.array(np.asarray(ids), pa.uint64()),
            "vector": pa.FixedSizeListArray.from_arrays(values, array.shape[1]),
        }
    )
    described = {"rows": str(len(array)), "dim": str(array.shape[1]), "dtype": array.dtype.name, **(metadata or {})}
    schema = batch.schema.with_metadata(described)
    with atomic_writer(url) as stream, pa.ipc.new_file(stream, schema) as writer:
        writer.write_batch(batch.replace_schema_metadata(described))


@contextmanager
def _on_disk(url: str) -> Iterator[Path]:
    """The file itself when it is local, otherwise a copy to memory-map: its bytes live as long as the map."""
    local = local_path(url)
    if local is not None:
        path = Path(local)
        if not path.exists():
            raise InputError(f"{url}: no such file")
        if path.is_dir():
            raise InputError(f"{url} is a folder; a vector file is needed")
        if not os.access(path, os.R_OK):
            raise InputError(f"{url}: cannot be read (permission denied)")
        yield path
        return
    with tempfile.TemporaryDirectory(prefix="twinlode-") as folder:
        copy = Path(folder) / "vectors"
        try:
            with open_url(url) as source, copy.open("wb") as target:
                shutil.copyfileobj(source, target, 16 << 20)
        except FileNotFoundError:
            raise InputError(f"{url}: no such file") from None
        except OSError as error:
            raise InputError(f"{url}: cannot be read ({error})") from None
        yield copy


def _map_arrow(url: str, path: Path) -> tuple[np.ndarray, np.ndarray, dict[str, str]]:
    try:
        reader = pa.ipc.open_file(pa.memory_map(str(path)))
        batches = [reader.get_batch(i) for i in range(reader.num_record_batches)]
    except (pa.ArrowInvalid, OSError) as error:
        raise InputError(f"{url}: not an Arrow IPC file, or a truncated one ({error})") from None
    schema = reader.schema
    names = schema.names
    if "id" not in names or "vector" not in names or not pa.types.is_fixed_size_list(schema.field("vector").type):
        columns = ", ".join(f"{field.name} ({field.type})" for field in schema)
        raise InputError(f"{url}: needs the columns `id` and `vector` (fixed-size list), but has {columns}")
    if not pa.types.is_integer(schema.field("id").type):
        raise InputError(f"{url}: the column `id` holds {schema.field('id').type} values; integers are needed")
    metadata = {key.decode(): value.decode(errors="replace") for key, value in (schema.metadata or {}).items()}
    width = schema.field("vector").type.list_size
    _refuse_nulls(url, batches)
    parts = [batch.column("vector").flatten().to_numpy().reshape(-1, width) for batch in batches]
    ids = [batch.column("id").to_numpy() for batch in batches]
    if not parts:
        empty = np.empty((0, width), schema.field("vector").type.value_type.to_pandas_dtype())
        return empty, np.empty(0, np.int64), metadata
    if metadata.get("rows", str(sum(map(len, parts)))) != str(sum(map(len, parts))):
        raise InputError(f"{url}: holds {sum(map(len, parts))} rows, but its metadata says {metadata['rows']}")
    # Several record batches, as other writers make, become one map.
    shape = (sum(map(len, parts)), width)
    return parts[0] if len(parts) == 1 else _spooled(parts, parts[0].dtype, shape), np.concatenate(ids), metadata


def _refuse_nulls(url: str, batches: list[pa.RecordBatch]) -> None:
    first = 0
    for batch in batches:
        ids, vectors = batch.column("id"), batch.column("vector")
        missing = ids.is_null().to_numpy(False) | vectors.is_null().to_numpy(False)
        if not missing.any() and vectors.flatten().null_count:
            missing = vectors.flatten().is_null().to_numpy(False).reshape(len(batch), -1).any(1)
        if missing.any():
            raise InputError(f"{url}: no id or no vector in {some_rows(np.flatnonzero(missing) + first)}")
        first += len(batch)


def _spooled(parts: Iterable[np.ndarray], dtype: np.dtype, shape: tuple[int, int]) -> np.ndarray:
    """Parts as one memory map, through a temporary file."""
    file = tempfile.TemporaryFile(prefix="twinlode-")  # noqa: SIM115 - the map keeps it alive
    for part in parts:
        part.tofile(file)
    file.flush()
    return np.memmap(file, dtype, "r", shape=shape)


def _map_numpy(url: str, path: Path) -> np.ndarray:
    try:
        array = np.load(path, mmap_mode="r", allow_pickle=False)
    except (ValueError, EOFError, OSError, SyntaxError, TokenError) as error:
        raise InputError(f"{url}: not a NumPy array file, or a truncated one ({error})") from None
    if not isinstance(array, np.ndarray) or array.ndim != 2:
        raise InputError(f"{url}: needs a two-dimensional array (sentences, dim)")
    return array


def _map_raw(url: str, path: Path, dim: int | None, dtype: str | None, rows: int | None) -> np.ndarray:
    size = path.stat().st_size
    if dtype is None and dim and rows:
        dtype = {2: "float16", 4: "float32"}.get(size // (rows * dim) if size % (rows * dim) == 0 else 0)
    if dtype is None:
        raise InputError(
            f"{url}: {size:,} bytes of raw floats do not tell their type"
            + (f" for {rows:,} rows of dim {dim}" if dim and rows else "")
            + "; give --dtype float32 or --dtype float16"
        )
    item = np.dtype(dtype).itemsize
    if dim is None and rows:
        if size % (rows * item):
            raise InputError(f"{url}: {size:,} bytes do not divide into {rows:,} rows of {dtype}")
        dim = size // (rows * item)
    if not dim:
        raise InputError(f"{url}: raw floats do not tell their dim; give --dim (LASER's is 1024)")
    if size % (dim * item):
        raise InputError(f"{url}: {size:,} bytes do not divide into rows of {dim} {dtype} ({dim * item:,} bytes each)")
    shape = (size // (dim * item), dim)
    array = np.memmap(path, dtype, "r", shape=shape) if size else np.empty(shape, dtype)
    if dtype == "float32" and _are_halves(array[:_SAMPLE_ROWS]):
        raise InputError(
            f"{url}: these are float16 numbers of dim {2 * dim}, not float32 of dim {dim}; give --dtype float16"
        )
    return array


def _are_halves(array: np.ndarray) -> bool:
    """Whether raw floats were written as float16: sane as such, but spread over many magnitudes as float32.

    A factor of 2 in float16 becomes 256 when the bits of two numbers are taken for one float32; in the other
    direction NaN and infinity turn up by themselves.
    """
    with np.errstate(invalid="ignore"):
        wide, halves = np.abs(array[array != 0]), np.asarray(array).view(np.float16)
        if not len(wide) or not np.isfinite(halves).all():
            return False
        middle, large = np.quantile(wide.astype(np.float64), [0.5, 0.99])
    return bool(large > _WILD_SPREAD * middle)


def _expect(url: str, array: np.ndarray, dim: int | None, dtype: str | None, rows: int | None) -> None:
    if array.dtype.name not in DTYPES:
        raise InputError(f"{url}: holds {array.dtype.name} values; float16 or float32 are needed")
    if dtype is not None and array.dtype.name != dtype:
        raise InputError(f"{url}: holds {array.dtype.name} values, but {dtype} was asked for")
    if dim is not None and array.shape[1] != dim:
        raise InputError(f"{url}: vectors of dim {array.shape[1]}, but dim {dim} was asked for")
    if rows is not None and len(array) != rows:
        raise InputError(
            f"{url}: {len(array):,} vectors, but the text has {rows:,} lines; they must correspond one to one"
        )
    if len(array) > _MAX_ROWS:
        raise InputError(f"{url}: {len(array):,} rows in one file; split it into files of at most {_MAX_ROWS:,}")


def _checked(name: str, array: np.ndarray, ids: np.ndarray, metadata: dict[str, str]) -> Vectors:
    """Vectors with their norms, after one pass over the file that finds what would mine garbage."""
    if array.ndim != 2 or array.dtype.name not in DTYPES:
        raise InputError(f"{name}: vectors must be a two-dimensional float16 or float32 array")
    if not array.dtype.isnative:
        raise InputError(f"{name}: the numbers are in the byte order of another machine; save them as little-endian")
    if not array.shape[1]:
        raise InputError(f"{name}: the vectors are of dim 0")
    if len(ids) > 1 and (np.diff(ids.astype(np.int64)) <= 0).any():
        row = int(np.argmax(np.diff(ids.astype(np.int64)) <= 0)) + 2
        raise InputError(f"{name}, row {row}: ids must increase from row to row, and none may come twice")
    lengths = np.empty(len(array))
    step = max(1, _CHECK_BYTES // max(1, array.shape[1] * 4))
    for start in range(0, len(array), step):
        piece = array[start : start + step]
        norms(np.ascontiguousarray(piece, np.float32), lengths[start : start + step])
    bad = np.flatnonzero(~np.isfinite(lengths))
    if len(bad):
        advice = "embed these sentences again" if 8 * len(bad) < len(array) else "check --dtype and --dim"
        raise InputError(f"{name}: NaN or infinite values in {some_rows(bad)}; {advice}")
    typical = float(np.median(lengths[lengths > 0])) if (lengths > 0).any() else 1.0
    if not 1e-6 < typical < 1e6:
        raise InputError(
            f"{name}: the typical vector has length {typical:.1e}; these numbers were probably written as another type "
            "than they are read (check --dtype and --dim)"
        )
    inverse = np.divide(1.0, lengths, out=np.full_like(lengths, np.nan), where=lengths > 0)
    return Vectors(name, ids.astype(np.int64), array, inverse, metadata)


def zero_rows(vectors: Vectors) -> np.ndarray:
    """Rows whose vector is all zeros; they have no direction and so are kept out of the graph."""
    return np.flatnonzero(np.isnan(vectors.inverse_norms))


def some_rows(rows: np.ndarray, most: int = 5) -> str:
    """'row 3', or 'rows 3, 7, 9, 12, 40 and 17 more', counted from 1."""
    shown = ", ".join(f"{row + 1:,}" for row in rows[:most].tolist())
    more = f" and {len(rows) - most:,} more" if len(rows) > most else ""
    return f"row {shown}" if len(rows) == 1 else f"rows {shown}{more}"


def take_rows(stored: np.ndarray, rows: np.ndarray, dtype: str) -> np.ndarray:
    """Some rows of a map: a part of it where they follow each other, else a copy, which is a map itself if large."""
    if len(rows) and stored.dtype == dtype and (np.diff(rows) == 1).all():
        return stored[rows[0] : rows[-1] + 1]
    step = max(1, _CHECK_BYTES // max(1, stored.shape[1] * 4))
    pieces = (stored[rows[start : start + step]].astype(dtype, copy=False) for start in range(0, len(rows), step))
    if len(rows) <= step:
        return next(pieces, np.empty((0, stored.shape[1]), dtype))
    return _spooled(pieces, np.dtype(dtype), (len(rows), stored.shape[1]))
