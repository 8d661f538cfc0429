"""A whole loop over made-up languages: what rounds leave, what is never trained on, and that nothing is done twice."""

import json
import shutil
from collections import Counter
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import pyarrow.parquet as pq
import pytest

from encoder.checkpoint import load_checkpoint
from encoder.data.corpora import DataSettings, find_files
from encoder.data.exclusion import exclusion_key, read_exclusions
from encoder.data.parallel_readers import read_groups
from encoder.data.parallel_rows import Group
from encoder.text import TextEncoder
from encoder.tokens import Tokens
from pipelines.datasets.manifest import open_dataset
from pipelines.loop.records import RoundRecord, read_round, read_state
from pipelines.prepare.pieces import load_text_encoder, pieces_tokenizer
from tests.conftest import Refusal, RunTwinlode
from tests.pipelines.loop.corpora import one_pair, write_configuration, write_world

OBJECTIVE = {"kind": "ems", "xtr": 0, "projection_dim": 0, "temperature": 0.1}
WITH_NEGATIVES = {
    "kind": "mixture",
    "parts": [{"objective": OBJECTIVE}, {"objective": {"kind": "msimcse", "strategy": "nli"}}],
}


def leak(folder: Path, pair: str) -> list[str]:
    """Put true pairs of the test into the text to be mined; gives their sentences."""
    sides = [
        dict(line.split("\t") for line in (folder / "test" / pair / f"{pair}.{lang}").read_text().splitlines())
        for lang in pair.split("-")
    ]
    gold = [line.split("\t") for line in (folder / "test" / pair / f"{pair}.gold").read_text().splitlines()[:10]]
    leaked = [[side[ids[n]] for ids in gold] for n, side in enumerate(sides)]
    for lang, texts in zip(pair.split("-"), leaked, strict=True):
        with (folder / f"shared.{lang}").open("a") as stream:
            stream.writelines(f"leaked-{n}\t{text.upper()}.\n" for n, text in enumerate(texts))
    return [text for texts in leaked for text in texts]


def configuration(folder: Path) -> dict[str, Any]:
    tree = one_pair(write_world(folder))
    tree["rounds"][0]["change"] = {"objective": WITH_NEGATIVES}
    tree["selection"] = {"hard_negatives": {"below": 1.1}, "per_sentence": 2}
    tree["classifier"] = {"trees": 5, "lexicon_pairs": 0, "word_dim": 16}
    return tree | {"max_rounds": 1, "control": True, "shared": str(folder / "shared")}


def test_a_loop(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, twinlode: RunTwinlode, capsys: pytest.CaptureFixture[str]
) -> None:
    for place in ("loop.round_classifier", "clean.bitext_sample"):
        monkeypatch.setattr(f"pipelines.{place}.FEWEST_PAIRS", 50)
    tree = configuration(tmp_path)
    leaked = leak(tmp_path, "de-en")
    config, out = write_configuration(tmp_path, tree), tmp_path / "out"
    tokenized = count_tokenized(monkeypatch)
    assert twinlode("loop", config, "--out", out) == 0
    shown = capsys.readouterr()
    assert "control" in shown.out
    assert "| control |" in (out / "loop.md").read_text()
    state = read_state(out)
    assert state is not None
    assert (state.finished, state.stopped) == (2, "all 1 rounds are done")
    first, second, control = (read_round(out / name) for name in ("round-0", "round-1", "control"))
    assert first and second and control
    _check_lineage(out, first, second, control)
    assert load_checkpoint(out / "best").fingerprint == (first, second)[state.best or 0].encoder
    _check_training_data(tmp_path, out, second, leaked)
    _check_tokenized_once(out / "round-1" / "train", tokenized)
    _check_seed_tokens(out)

    made = {path: path.stat().st_mtime_ns for path in out.rglob("*") if path.is_file() and path.name != "state.json"}
    assert twinlode("loop", config, "--out", out) == 0
    assert "round 1 finished (before)" in capsys.readouterr().err
    made.pop(out / "loop.md")
    assert {path: path.stat().st_mtime_ns for path in made} == made

    assert twinlode("loop", config, "--out", out, "--set", "rounds.0.precision=0.9") == 2
    assert "another configuration" in capsys.readouterr().err


def test_why_nothing_was_mined_and_that_other_tests_are_refused(
    tmp_path: Path, twinlode: RunTwinlode, capsys: pytest.CaptureFixture[str]
) -> None:
    tree = one_pair(write_world(tmp_path)) | {"updates": 30, "gold": []}
    tree["rounds"][0]["precision"] = 0.99
    german, english = tree["text"]["de"]["inputs"], tree["text"]["en"]["inputs"]
    tree["text"]["de"]["inputs"], tree["text"]["en"]["inputs"] = english, german
    config, out = write_configuration(tmp_path, tree), tmp_path / "out"
    assert twinlode("loop", config, "--out", out) == 0
    reason = "nothing was mined for round 1: de-en: no threshold reaches the precision 0.99: the estimate is at most"
    assert reason in " ".join(capsys.readouterr().err.split())
    assert reason in (out / "loop.md").read_text()

    test = tmp_path / "test" / "de-en" / "de-en.gold"
    test.write_text("".join(test.read_text().splitlines(keepends=True)[:9]))
    assert twinlode("loop", config, "--out", out, "--set", "max_rounds=3") == 2
    assert f"input {test} has changed" in " ".join(capsys.readouterr().err.split())


def test_round_0_and_the_control_begin_with_a_given_encoder(
    tmp_path: Path, refusal: Refusal, twinlode: RunTwinlode
) -> None:
    tree = one_pair(write_world(tmp_path)) | {"updates": 4, "max_rounds": 0, "gold": []}
    assert twinlode("loop", write_configuration(tmp_path, tree), "--out", tmp_path / "first") == 0
    encoder = tmp_path / "encoder"
    shutil.copytree(tmp_path / "first" / "best", encoder)
    tree["train"]["start"] = {"encoder": str(encoder)}
    config, out = write_configuration(tmp_path, tree | {"updates": 1, "control": True}), tmp_path / "out"
    assert twinlode("loop", config, "--out", out) == 0
    for name in ("round-0", "control"):
        record = read_round(out / name)
        assert record is not None and record.training.start == str(encoder)
        made, given = (load_checkpoint(folder).model.state_dict() for folder in (out / name / "encoder", encoder))
        moved = [float((made[key] - given[key]).abs().max()) for key in given if given[key].is_floating_point()]
        assert 0 < max(moved) < 0.1  # one update away, not a new encoder
    (encoder / "fingerprint").write_text("another")
    assert f"input {encoder} has changed" in " ".join(refusal("loop", config, "--out", out).split())


def test_a_seed_too_small_for_a_classifier_is_refused_before_training(
    tmp_path: Path, twinlode: RunTwinlode, capsys: pytest.CaptureFixture[str]
) -> None:
    config, out = write_configuration(tmp_path, configuration(tmp_path)), tmp_path / "out"
    assert twinlode("loop", config, "--out", out) == 2
    assert "400 seed pairs" in capsys.readouterr().err
    assert not (out / "round-0").exists()


def count_tokenized(monkeypatch: pytest.MonkeyPatch) -> Counter[str]:
    """How often each sentence is tokenized from now on."""
    seen: Counter[str] = Counter()
    encode = TextEncoder.encode

    def counted(self: TextEncoder, sentences: Sequence[str], lang: str | None, **how: Any) -> Tokens:
        seen.update(sentences)
        return encode(self, sentences, lang, **how)

    monkeypatch.setattr(TextEncoder, "encode", counted)
    return seen


def _check_tokenized_once(folder: Path, tokenized: Counter[str]) -> None:
    """Mined sentences, when they are prepared; those of hard negatives go to the trainer as text."""
    pairs = pq.read_table(folder / "de-en.parquet")
    negatives = {cell for path in folder.glob("*.tsv") for line in path.open() for cell in line.rstrip().split("\t")}
    texts = {*pairs["src_text"].to_pylist(), *pairs["tgt_text"].to_pylist()} - negatives
    assert texts and {tokenized[text] for text in texts} == {1}
    assert all(tokenized[text] <= 3 for text in pairs["src_text"].to_pylist())  # once more a file of negatives


def _check_seed_tokens(out: Path) -> None:
    """Rounds after the first take the tokens of the seed as they were kept, which are the encoder's own."""
    encoder = str(out / "round-0" / "encoder")
    kept, plain = (_groups(out / "seed" / f"de-en.{kind}", encoder) for kind in ("parquet", "tsv"))
    assert [group.texts for group in kept] == [group.texts for group in plain] != []
    for place, lang in enumerate(("de", "en")):
        expected = load_text_encoder(encoder).encode([group.texts[place] for group in kept], lang)
        tokens = Tokens.from_lists([group.tokens[place] for group in kept if group.tokens])
        assert (tokens.ids == expected.ids).all() and (tokens.offsets == expected.offsets).all()


def _groups(path: Path, encoder: str) -> list[Group]:
    files = find_files(DataSettings.model_validate({"corpora": [{"path": str(path)}]}))
    rows = [row for file in files for row in read_groups(file, pieces_tokenizer(encoder))]
    return [row for row in rows if isinstance(row, Group)]


def _check_lineage(out: Path, first: RoundRecord, second: RoundRecord, control: RoundRecord) -> None:
    assert (first.round, first.parent, first.mined) == (0, None, ())
    assert (second.round, second.parent) == (1, first.encoder)
    assert second.training.start == str(out / "round-0" / "encoder")
    assert second.training.mined_pairs == second.pairs > 0
    assert second.training.objective["kind"] == "mixture"
    assert (control.round, control.training.updates) == (None, 240)
    assert control.training.start == "scratch"
    assert len({first.encoder, second.encoder, control.encoder}) == 3
    for record, name in ((first, "round-0"), (second, "round-1"), (control, "control")):
        assert load_checkpoint(out / name / "encoder").fingerprint == record.encoder
        assert json.loads((out / name / "metrics.json").read_text())["bucc"]
        assert set(record.scores) == {"F1"}


def _check_training_data(folder: Path, out: Path, record: RoundRecord, leaked: list[str]) -> None:
    evaluation = read_exclusions([str(path) for path in (folder / "test").rglob("*") if path.is_file()])
    work = folder / "shared" / "round-1"
    for mined in record.mined:
        source = mined.pair.split("-")[0]
        assert open_dataset(str(work / "graph" / mined.pair), "graph").rows
        assert (
            open_dataset(str(work / "vectors" / source), "vectors").rows
            == open_dataset(str(folder / "shared" / "text" / source), "sentences").rows
        )
        pairs = open_dataset(str(work / "pairs" / mined.pair), "pairs")
        rescore = pairs.manifest.request.configuration["rescore"]
        assert isinstance(rescore, dict) and rescore["version"]  # by the classifier of round 0
        assert mined.matched == mined.selected + sum(mined.dropped.values())
        assert mined.threshold == pairs.manifest.measures["threshold"]
        selected = pq.read_table(out / "round-1" / "train" / f"{mined.pair}.parquet")
        assert selected.num_rows == mined.selected
        texts = selected["src_text"].to_pylist() + selected["tgt_text"].to_pylist()
        assert not evaluation & {exclusion_key(text) for text in texts}
        assert mined.gold is not None
        assert mined.gold.correct <= mined.gold.mined <= mined.selected
        assert mined.hard_negatives > 0
        assert (mined.doubt is None) == (mined.estimated_precision is not None)
    german = record.mined[0]
    assert german.dropped["evaluation_file"] > 0
    assert leaked
