"""State and records: a loop continues with the same configuration and refuses another, naming what changed."""

from pathlib import Path

import pytest

from mining.errors import InputError
from pipelines.datasets.manifest import Input
from pipelines.loop.records import (
    GoldCheck,
    MinedPair,
    RoundRecord,
    TrainingRecord,
    begin_state,
    read_rounds,
    read_state,
    round_folder,
    write_round,
    write_state,
)

CONFIGURATION = {"updates": 20, "max_rounds": 2, "train": {"model": {"dim": 16}}}
INPUTS = [Input(name="seed.tsv", fingerprint="a")]
TRAINING = TrainingRecord(
    objective={}, start="scratch", seed_pairs=1, mined_pairs=0, seed_weight=1, updates=20, examples=640
)


def record(number: int, *mined: MinedPair) -> RoundRecord:
    return RoundRecord(
        round=number,
        parent=None,
        encoder="f",
        mined=mined,
        training=TRAINING,
        scores={},
        score=1,
        seconds={"train": 90},
    )


@pytest.mark.parametrize(
    ("configuration", "inputs", "message"),
    [
        ({**CONFIGURATION, "updates": 21}, INPUTS, "updates: 20 -> 21"),
        ({**CONFIGURATION, "train": {"model": {"dim": 8}}}, INPUTS, "train.model.dim: 16 -> 8"),
        (CONFIGURATION, [Input(name="seed.tsv", fingerprint="b")], "seed.tsv has changed"),
        (CONFIGURATION, [*INPUTS, Input(name="more.tsv", fingerprint="c")], "more.tsv is new"),
    ],
)
def test_another_configuration_is_refused(
    tmp_path: Path, configuration: dict, inputs: list[Input], message: str
) -> None:
    begin_state(tmp_path, CONFIGURATION, INPUTS)
    with pytest.raises(InputError, match=message):
        begin_state(tmp_path, configuration, inputs)


def test_files_of_each_role_are_compared_and_an_old_loop_takes_the_present_tests(tmp_path: Path) -> None:
    tests = [Input(role="evaluation", name="test.de", fingerprint="t")]
    begin_state(tmp_path, CONFIGURATION, INPUTS)  # as loops were recorded that knew the seed alone
    assert begin_state(tmp_path, CONFIGURATION, [*INPUTS, *tests]).inputs == [*INPUTS, *tests]
    cut = [Input(role="evaluation", name="test.de", fingerprint="u")]
    with pytest.raises(InputError, match=r"input test\.de has changed"):
        begin_state(tmp_path, CONFIGURATION, [*INPUTS, *cut])
    with pytest.raises(InputError, match=r"input test\.de is gone"):
        begin_state(tmp_path, CONFIGURATION, INPUTS)


def test_more_rounds_may_be_asked_for(tmp_path: Path) -> None:
    state = begin_state(tmp_path, CONFIGURATION, INPUTS)
    write_state(tmp_path, state.model_copy(update={"finished": 2, "best": 1}))
    again = begin_state(tmp_path, {**CONFIGURATION, "max_rounds": 5}, INPUTS)
    assert (again.finished, again.best, again.configuration["max_rounds"]) == (2, 1, 5)
    assert read_state(tmp_path) == again


def test_other_files_are_not_mixed_with_a_loop(tmp_path: Path) -> None:
    (tmp_path / "notes.txt").write_text("mine")
    with pytest.raises(InputError, match="holds other files and no loop"):
        begin_state(tmp_path, CONFIGURATION, INPUTS)


def test_rounds_are_read_up_to_the_first_unfinished_one(tmp_path: Path) -> None:
    for number in (0, 1, 3):
        write_round(round_folder(tmp_path, number), record(number))
    assert [found.round for found in read_rounds(tmp_path)] == [0, 1]


@pytest.mark.parametrize(
    ("mined", "note", "nothing"),
    [
        (MinedPair(pair="de-en", refused="no threshold"), "no threshold", "no threshold"),
        (MinedPair(pair="de-en"), None, "no pair was matched"),
        (
            MinedPair(pair="de-en", matched=1200, dropped={"below_threshold": 1199, "in_seed": 1, "x": 0}),
            None,
            "none of 1,200 matched pairs is left (below_threshold took 1,199, in_seed took 1)",
        ),
        (
            MinedPair(pair="de-en", matched=9, selected=9, doubt="other domain"),
            "no precision can be claimed (other domain); 9 pairs of unknown precision were trained on",
            None,
        ),
        (MinedPair(pair="de-en", matched=9, selected=9, estimated_precision=0.9), None, None),
    ],
)
def test_what_is_said_of_mined_pairs(mined: MinedPair, note: str | None, nothing: str | None) -> None:
    assert mined.note == note
    assert nothing is None or mined.why_nothing == nothing


def test_figures_of_a_round() -> None:
    mined = (
        MinedPair(pair="de-en", selected=30, estimated_precision=0.9, gold=GoldCheck(mined=20, correct=19, gold=50)),
        MinedPair(pair="fr-en", selected=10, estimated_precision=0.5, gold=GoldCheck(mined=5, correct=1, gold=50)),
        MinedPair(pair="es-en", refused="no threshold"),
    )
    found = record(1, *mined)
    assert found.pairs == 40
    assert found.estimated_precision == pytest.approx(0.8)
    assert found.true_precision == pytest.approx(0.8)
    assert found.minutes == 1.5
    assert (record(0).estimated_precision, record(0).true_precision) == (None, None)
