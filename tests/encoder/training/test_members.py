"""Runs of several seeds, merged: one folder like that of any run, continued and refused like one."""

from pathlib import Path
from typing import Any

import pytest

from encoder.checkpoint import load_checkpoint
from encoder.row_use import training_sentences
from encoder.training.observation import Quiet, unobserved
from encoder.training.session import train
from encoder.training.state import BEST, STATE_FILE, read_facts
from encoder.training.training_settings import TrainSettings
from mining.errors import InputError
from tests.encoder.training.conftest import make_settings
from tests.encoder.training.test_session import SHIPPED


def members(corpus: Path, count: int, temperature: float = 1.0) -> TrainSettings:
    changes: dict[str, Any] = SHIPPED | {"evaluation": {"pairs": 8, "share": 0.3}, "limits": {"steps": 4}}
    data = {"corpora": [{"path": str(corpus)}], "temperature": temperature}
    return make_settings(corpus, **changes, data=data, random_seed=3, members=count)


def test_members_are_runs_of_their_own_merged_into_one(corpus: Path, tmp_path: Path) -> None:
    """One of them is there before, as after a kill, or where members were trained side by side."""
    run, begun = tmp_path / "run", []
    train(members(corpus, 1), run / "seed-3", unobserved)
    state = (run / "seed-3" / STATE_FILE).read_bytes()

    def watched(folder: Path) -> Quiet:
        begun.append(folder)
        return Quiet()

    trained = train(members(corpus, 2), run, watched)
    assert begun == [run / "seed-3", run / "seed-4"]
    assert (run / "seed-3" / STATE_FILE).read_bytes() == state, "nothing was trained again"
    assert trained.folder == run / BEST and trained.result.position.step == 8
    merged, first, second = (load_checkpoint(run / name / BEST) for name in (".", "seed-3", "seed-4"))
    assert len({merged.fingerprint, first.fingerprint, second.fingerprint}) == 3
    assert merged.settings == first.settings and merged.metrics["held_out_p_at_1"] == trained.result.best
    assert "members: 2" in (trained.folder / "README.md").read_text()
    alone = train(members(corpus, 1).model_copy(update={"random_seed": 4}), tmp_path / "one", unobserved)
    assert load_checkpoint(alone.folder).fingerprint == second.fingerprint, "a member is what its seed gives"
    facts = read_facts(run / STATE_FILE)
    assert facts["settings"]["members"] == 2 and facts["data"] == trained.store.folder.name
    sample = training_sentences(trained.folder)
    assert sample is not None and len(sample.lengths) == trained.store.sentences, "it can be quantized by its use"

    assert train(members(corpus, 3), run, unobserved).result.position.step == 12, "another member may be added"
    for other, message in (
        (members(corpus, 2, temperature=2.0), "seed-3 holds a run with another data.temperature"),
        (members(corpus, 1), r"run holds a run with another members \(3, now 1\)"),
    ):
        with pytest.raises(InputError, match=message):
            train(other, run, unobserved)


def test_only_bags_have_members(corpus: Path) -> None:
    with pytest.raises(InputError, match="members: only bags can be merged into one, not encoders of the kind transf"):
        make_settings(corpus, model={"kind": "transformer", "dim": 32, "layers": 1, "heads": 2, "ffn": 64}, members=2)
