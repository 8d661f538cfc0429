"""What killed runs left is removed; what somebody is writing stays."""

from pathlib import Path

from mining.files import atomic_path, atomic_writer, require_writable
from mining.locks import held_beside, held_folder
from mining.temporary_files import remove_leftovers, remove_unfinished, temporary_name, unfinished


def names(folder: Path) -> list[str]:
    return sorted(str(path.relative_to(folder)) for path in folder.rglob("*"))


def leave(path: Path) -> None:
    """What a kill leaves of a file."""
    path.parent.mkdir(exist_ok=True)
    (path.parent / temporary_name(path.name)).write_text("half")


def test_the_holder_of_a_folder_clears_it(tmp_path: Path) -> None:
    leave(tmp_path / "manifest.json")
    leave(tmp_path / "best" / "model.safetensors")
    (tmp_path / temporary_name(".best")).mkdir()
    (tmp_path / "mine.tmp").write_text("a user's")
    with held_folder(str(tmp_path)):
        assert names(tmp_path) == [".lock", "best", "mine.tmp"]
    assert names(tmp_path) == ["best", "mine.tmp"]


def test_what_is_being_written_stays(tmp_path: Path) -> None:
    with atomic_writer(str(tmp_path / "pairs.tsv")) as stream:
        stream.write(b"whole")
        stream.flush()
        remove_leftovers(tmp_path)
        require_writable(str(tmp_path / "pairs.tsv"))
    assert (tmp_path / "pairs.tsv").read_text() == "whole"


def test_blocks_that_a_signal_kept_from_their_end_leave_nothing(tmp_path: Path) -> None:
    """A signal may come after a file was made and before its `with` block is entered."""
    made = [held_folder(str(tmp_path)), atomic_writer(str(tmp_path / "pairs.tsv")), atomic_path(tmp_path / "model")]
    _, _, model = [one.__enter__() for one in made]
    assert isinstance(model, Path)
    model.mkdir()
    assert len(names(tmp_path)) == 3
    remove_unfinished()
    assert names(tmp_path) == []
    for one in reversed(made[:2]):
        one.__exit__(KeyboardInterrupt, KeyboardInterrupt(), None)
    unfinished.clear()


def test_what_was_made_in_the_place_of_another_temporary_goes_too(tmp_path: Path) -> None:
    inner = temporary_name(f".{temporary_name('.model')}")
    (tmp_path / inner).mkdir()
    with held_beside(tmp_path / "model"):
        assert names(tmp_path) == [".model.lock"]


def test_what_ended_is_not_removed(tmp_path: Path) -> None:
    with atomic_writer(str(tmp_path / "pairs.tsv")) as stream:
        stream.write(b"whole")
    with atomic_path(tmp_path / "model") as model:
        model.mkdir()
    assert not unfinished
    remove_unfinished()
    assert names(tmp_path) == ["model", "pairs.tsv"]


def test_outputs_clear_what_is_beside_them_and_no_more(tmp_path: Path) -> None:
    leave(tmp_path / "pairs.tsv")
    leave(tmp_path / "other.tsv")
    require_writable(str(tmp_path / "pairs.tsv"))
    (left,) = names(tmp_path)
    assert left.startswith("other.tsv.")


def test_a_folder_that_appears_as_a_whole(tmp_path: Path) -> None:
    (tmp_path / temporary_name(".out")).mkdir()
    with held_beside(tmp_path / "out"), atomic_path(tmp_path / "out") as temporary:
        temporary.mkdir()
    assert names(tmp_path) == ["out"]


def test_a_loop_killed_at_its_first_file_begins_again(tmp_path: Path) -> None:
    """`begin_state` refuses a folder with other files: half a state.json is none."""
    leave(tmp_path / "out" / "state.json")
    with held_beside(tmp_path / "out"):
        assert names(tmp_path / "out") == []
