"""Which rows of which part go into which shard."""

import pyarrow as pa
import pytest

from encoder.normalize import NormalizeSettings
from encoder.subword import Subword
from encoder.text import TextEncoder, TextSettings
from pipelines.prepare.parts import Part
from pipelines.prepare.readers.blocks import Block
from pipelines.prepare.shards import cut_texts, lines_before, plan_shards
from tests.encoder.fixtures import subword_bytes


def part(block: int, number: int, rows: int, end: int, last: bool = True) -> Part:
    return Part(block=block, number=number, rows=rows, batches=1, end=end, last=last, counters={})


BLOCKS = [Block(0, "a.txt", "txt"), Block(1, "a.txt", "txt"), Block(2, "b.txt", "txt")]
PARTS = [part(0, 0, 4, 5, False), part(0, 1, 2, 9), part(1, 0, 0, 3), part(2, 0, 5, 7)]

# Rows a shard, repeated rows a part, and for each shard (part, begin, end) of what it takes.
CASES = {
    "all in one": (100, [0, 0, 0, 0], [[(0, 0, 4), (1, 0, 2), (3, 0, 5)]]),
    "cut inside of parts": (3, [0, 0, 0, 0], [[(0, 0, 3)], [(0, 3, 4), (1, 0, 2)], [(3, 0, 3)], [(3, 3, 5)]]),
    "cut where a part ends": (6, [0, 0, 0, 0], [[(0, 0, 4), (1, 0, 2)], [(3, 0, 5)]]),
    "without what is repeated": (3, [3, 0, 0, 4], [[(0, 0, 1), (1, 0, 2)], [(3, 0, 1)]]),
    "one by one": (1, [3, 1, 0, 4], [[(0, 0, 1)], [(1, 0, 1)], [(3, 0, 1)]]),
    "nothing left": (3, [4, 2, 0, 5], []),
}


@pytest.mark.parametrize(("rows_per_shard", "repeats", "expected"), CASES.values(), ids=CASES)
def test_plan(rows_per_shard: int, repeats: list[int], expected: list[list[tuple[int, int, int]]]) -> None:
    planned = plan_shards(PARTS, BLOCKS, repeats, rows_per_shard)
    found = [[(piece.ordinal, piece.begin, piece.end) for piece in shard.slices] for shard in planned]
    assert found == expected
    assert [shard.index for shard in planned] == list(range(len(expected)))
    assert [shard.first_id for shard in planned] == [rows_per_shard * n for n in range(len(expected))]
    for piece in (piece for shard in planned for piece in shard.slices):
        assert piece.repeats == repeats[piece.ordinal]
        assert piece.source == BLOCKS[PARTS[piece.ordinal].block].url
        assert piece.lines_before == {0: 0, 1: 9, 2: 0}[PARTS[piece.ordinal].block]


def test_lines_of_a_file_go_on_over_its_blocks() -> None:
    assert lines_before(PARTS, BLOCKS) == {0: 0, 1: 9, 2: 0}


def test_what_is_clean_is_not_cleaned_again(monkeypatch: pytest.MonkeyPatch) -> None:
    steps: list[NormalizeSettings] = []
    monkeypatch.setattr("encoder.text.normalize", lambda texts, settings: (steps.append(settings), list(texts))[1])
    tokens = cut_texts(
        TextEncoder(TextSettings(), Subword(subword_bytes())), pa.chunked_array([["One.", "Two."]]), "en"
    )
    assert len(tokens.lengths) == 2 and steps
    assert not any(step.control or step.nfkc or step.whitespace for step in steps)
