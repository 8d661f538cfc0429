"""Marks survive whatever happens between two key presses."""

import resource
import signal
from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from mining.errors import InputError
from pipelines.review.marks import Marks

ACTIONS = st.lists(st.tuples(st.sampled_from(["right", "wrong", "skip", "undo"]), st.sampled_from("abcd")), max_size=30)


@settings(max_examples=25)
@given(ACTIONS)
def test_what_is_read_again_is_what_stood(tmp_path_factory: pytest.TempPathFactory, actions: list) -> None:  # type: ignore[type-arg]
    path = tmp_path_factory.mktemp("marks") / "marks.jsonl"
    marks = Marks(path)
    stack: list[tuple[str, str]] = []
    for action, pair in actions:
        if action == "undo":
            assert marks.undo() == (stack.pop()[0] if stack else None)
        else:
            marks.add(pair, action)
            stack.append((pair, action))
    assert marks.verdicts() == dict(stack) == Marks(path).verdicts()


def test_half_a_line_of_a_crash_is_cut_off(tmp_path: Path) -> None:
    path = tmp_path / "marks.jsonl"
    Marks(path).add("a", "right")
    whole = path.read_bytes()
    path.write_bytes(whole + b'{"pair":"b","ma')
    marks = Marks(path)
    assert marks.verdicts() == {"a": "right"}
    marks.add("c", "wrong")
    assert Marks(path).verdicts() == {"a": "right", "c": "wrong"}


def test_a_damaged_line_is_named(tmp_path: Path) -> None:
    path = tmp_path / "marks.jsonl"
    path.write_text("nonsense\n")
    with pytest.raises(InputError, match=r"marks.jsonl, line 1: not a mark"):
        Marks(path)


def test_a_mark_that_cannot_be_written_leaves_nothing_and_is_said(tmp_path: Path) -> None:
    marks = Marks(tmp_path / "marks.jsonl")
    marks.add("a", "right")
    before = marks.path.read_bytes()
    limits = resource.getrlimit(resource.RLIMIT_FSIZE)
    handler = signal.signal(signal.SIGXFSZ, signal.SIG_IGN)
    resource.setrlimit(resource.RLIMIT_FSIZE, (len(before) + 10, limits[1]))  # as a disk that is nearly full
    try:
        with pytest.raises(InputError, match=r"marks\.jsonl: the mark is not kept \(File too large\)"):
            marks.add("b", "wrong")
    finally:
        resource.setrlimit(resource.RLIMIT_FSIZE, limits)
        signal.signal(signal.SIGXFSZ, handler)
    assert marks.path.read_bytes() == before
    marks.add("b", "wrong")
    assert Marks(marks.path).verdicts() == {"a": "right", "b": "wrong"}
