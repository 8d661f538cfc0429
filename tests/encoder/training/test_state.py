"""What is saved during a run, and a disk that is full."""

import errno
from collections.abc import Callable
from pathlib import Path

import pytest
from safetensors import SafetensorError

from encoder.models import BagSettings
from encoder.training.optimizers import make_optimizer
from encoder.training.state import save_state
from encoder.training.training_settings import OptimizerSettings
from mining.errors import InputError
from tests.encoder.fixtures import write_checkpoint
from tests.encoder.training.test_cache import make_modules


def write_state(path: Path, number: int) -> None:
    modules = make_modules(dropout=0.0)
    save_state(path, modules, make_optimizer(OptimizerSettings(), modules), {"step": number})


def write_best(folder: Path, number: int) -> None:
    write_checkpoint(folder, BagSettings(dim=8), seed=number)


def contents(folder: Path) -> dict[Path, bytes]:
    return {path: path.read_bytes() for path in folder.rglob("*") if path.is_file()}


@pytest.mark.parametrize(
    ("write", "writer"),
    [(write_state, "encoder.training.state.save_file"), (write_best, "encoder.checkpoint.save_model")],
    ids=["state", "checkpoint"],
)
@pytest.mark.parametrize(
    "error",
    [
        OSError(errno.ENOSPC, "No space left on device"),
        SafetensorError("Error while serializing: I/O error: No space left on device (os error 28)"),
    ],
    ids=["OSError", "SafetensorError"],
)
def test_a_full_disk_leaves_what_was_saved_before(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, write: Callable[[Path, int], None], writer: str, error: Exception
) -> None:
    def fill_the_disk(_: object, path: str | Path, *rest: object) -> None:
        Path(path).write_bytes(b"the first half")
        raise error

    write(tmp_path / "saved", 1)
    before = contents(tmp_path)
    monkeypatch.setattr(writer, fill_the_disk)
    with pytest.raises(InputError, match="No space left on device"):
        write(tmp_path / "saved", 2)
    assert contents(tmp_path) == before
