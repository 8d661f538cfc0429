"""Checkpoints: what is saved is what is loaded, and every kind of damage is one sentence."""

import errno
import json
import shutil
from collections.abc import Callable
from pathlib import Path

import fsspec
import numpy as np
import pytest
import torch

import encoder.checkpoint as checkpoint
from encoder import Encoder
from encoder.checkpoint import content_fingerprint, load_checkpoint
from encoder.exchange import export_encoder, import_encoder
from encoder.models import BagSettings, TransformerSettings
from mining.errors import InputError
from tests.encoder.fixtures import write_checkpoint, write_tiny_xlm_roberta


@pytest.mark.parametrize("settings", [BagSettings(dim=8, bigrams=16), TransformerSettings(preset="tiny")])
def test_round_trip(tmp_path: Path, settings: BagSettings | TransformerSettings) -> None:
    folder = write_checkpoint(tmp_path / "best", settings, seed=3)
    first, second = load_checkpoint(folder), load_checkpoint(folder)
    assert {path.name for path in folder.iterdir()} == {
        "config.yaml",
        "model.safetensors",
        "sentencepiece.model",
        "metrics.json",
        "fingerprint",
    }
    assert first.settings.model == settings and first.settings.languages == ("de", "en")
    assert first.metrics == {"p@1": 0.5}
    assert first.fingerprint == content_fingerprint(folder) == second.fingerprint
    tokens = first.text.encode(["the old dog", "12"], None).batch()
    torch.testing.assert_close(first.model(tokens), second.model(tokens), rtol=0, atol=0)


def test_fingerprint_follows_weights_but_not_metrics(tmp_path: Path) -> None:
    one = write_checkpoint(tmp_path / "one", BagSettings(dim=8), seed=1)
    two = write_checkpoint(tmp_path / "two", BagSettings(dim=8), seed=2)
    assert load_checkpoint(one).fingerprint != load_checkpoint(two).fingerprint
    (one / "metrics.json").write_text("{}")
    assert load_checkpoint(one).metrics == {}


def test_a_new_checkpoint_replaces_the_old_and_leaves_nothing_behind(tmp_path: Path) -> None:
    write_checkpoint(tmp_path / "best", BagSettings(dim=8), seed=1)
    write_checkpoint(tmp_path / "best", BagSettings(dim=12), seed=1)
    assert load_checkpoint(tmp_path / "best").model.dim == 12
    assert sorted(path.name for path in tmp_path.iterdir()) == ["best", "best.spm"]


def rewrite(name: str, change: Callable[[bytes], bytes], *, refresh: bool = False) -> Callable[[Path], None]:
    def apply(folder: Path) -> None:
        (folder / name).write_bytes(change((folder / name).read_bytes()))
        if refresh:
            (folder / "fingerprint").write_text(content_fingerprint(folder))

    return apply


DAMAGE = {
    "folder missing": (shutil.rmtree, "no such checkpoint folder"),
    "another version": (rewrite("config.yaml", lambda b: b.replace(b"version: 1", b"version: 7")), "version 7"),
    "unknown key": (rewrite("config.yaml", lambda b: b + b"colour: red\n"), "unknown key colour"),
    "bad yaml": (rewrite("config.yaml", lambda b: b"a: [1"), "not valid YAML"),
    "truncated weights": (rewrite("model.safetensors", lambda b: b[:-10]), "fingerprint"),
    "corrupt weights": (rewrite("model.safetensors", lambda b: b[:-10], refresh=True), "corrupt"),
    "corrupt header": (rewrite("model.safetensors", lambda b: b"x" * len(b), refresh=True), "corrupt"),
    "missing weights": (lambda folder: (folder / "model.safetensors").unlink(), "model.safetensors is missing"),
    "missing subwords": (lambda folder: (folder / "sentencepiece.model").unlink(), "sentencepiece.model is missing"),
    "missing config": (lambda folder: (folder / "config.yaml").unlink(), "config.yaml is missing"),
    "truncated metrics": (rewrite("metrics.json", lambda b: b[:5]), "metrics.json: missing or damaged"),
    "no subword model": (rewrite("sentencepiece.model", lambda b: b"junk", refresh=True), "not a SentencePiece model"),
}


@pytest.mark.parametrize("name", DAMAGE)
def test_damage_is_one_sentence(tmp_path: Path, name: str) -> None:
    folder = write_checkpoint(tmp_path / "best", BagSettings(dim=8))
    damage, message = DAMAGE[name]
    damage(folder)
    with pytest.raises(InputError, match=message) as caught:
        load_checkpoint(folder)
    assert "\n" not in str(caught.value) and str(folder) in str(caught.value)


@pytest.mark.parametrize("step", ["save_model", "content_fingerprint"])
def test_disk_full_while_saving_keeps_the_old_checkpoint(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, step: str
) -> None:
    folder = write_checkpoint(tmp_path / "best", BagSettings(dim=8), seed=1)
    before = load_checkpoint(folder).fingerprint

    def full(*_: object) -> None:
        raise OSError(errno.ENOSPC, "No space left on device")

    with monkeypatch.context() as patch:
        patch.setattr(checkpoint, step, full)
        with pytest.raises(InputError, match="No space left on device"):
            write_checkpoint(folder, BagSettings(dim=8), seed=2)
    assert load_checkpoint(folder).fingerprint == before
    assert sorted(path.name for path in tmp_path.iterdir()) == ["best", "best.spm"]


def test_a_folder_of_something_else_is_not_overwritten(tmp_path: Path) -> None:
    (tmp_path / "thesis").mkdir()
    (tmp_path / "thesis" / "chapter1.txt").write_text("precious")
    with pytest.raises(InputError, match="not a checkpoint"):
        write_checkpoint(tmp_path / "thesis", BagSettings(dim=8))
    assert (tmp_path / "thesis" / "chapter1.txt").read_text() == "precious"


def test_remote_checkpoint_is_copied_and_followed(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("tempfile.tempdir", str(tmp_path))
    memory = fsspec.filesystem("memory")
    for seed in (1, 2):
        folder = write_checkpoint(tmp_path / "best", BagSettings(dim=8), seed=seed)
        memory.put(f"{folder}/", "/models/best/", recursive=True)
        assert load_checkpoint("memory://models/best").fingerprint == load_checkpoint(folder).fingerprint
    with pytest.raises(InputError, match="no such checkpoint"):
        load_checkpoint("memory://models/absent")


CODE = """
from pathlib import Path

from transformers import XLMRobertaConfig, XLMRobertaModel

Path({marker!r}).touch()


class MarkingConfig(XLMRobertaConfig):
    model_type = "marking"


class MarkingModel(XLMRobertaModel):
    config_class = MarkingConfig
"""


def bring_code(folder: Path, marker: Path) -> None:
    """Have a Hugging Face folder come with code that leaves a marker when it runs."""
    (folder / "marking.py").write_text(CODE.format(marker=str(marker)))
    classes = {"AutoConfig": "marking.MarkingConfig", "AutoModel": "marking.MarkingModel"}
    config = json.loads((folder / "config.json").read_text()) | {"model_type": "marking", "auto_map": classes}
    (folder / "config.json").write_text(json.dumps(config))


def test_code_of_a_plain_folder_runs_only_when_the_user_asks(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("transformers.dynamic_module_utils.HF_MODULES_CACHE", str(tmp_path / "modules"))
    folder, marker = write_tiny_xlm_roberta(tmp_path / "xlmr"), tmp_path / "marker"
    bring_code(folder, marker)
    with pytest.raises(InputError, match="trust_remote_code=True"):
        Encoder.load(folder)
    assert not marker.exists()
    Encoder.load(folder, trust_remote_code=True)
    assert marker.exists()


@pytest.mark.parametrize("setting", [b"true", b"false"])
def test_code_of_a_checkpoint_runs_only_when_the_user_asks(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, setting: bytes
) -> None:
    monkeypatch.setattr("transformers.dynamic_module_utils.HF_MODULES_CACHE", str(tmp_path / "modules"))
    folder, marker = tmp_path / "best", tmp_path / "marker"
    import_encoder(str(write_tiny_xlm_roberta(tmp_path / "xlmr")), folder)
    expected = Encoder.load(folder).encode(["the cat"])
    bring_code(folder / "pretrained", marker)
    rewrite("config.yaml", lambda b: b.replace(b"code: false", b"code: " + setting), refresh=True)(folder)
    for refused in (
        Encoder.load,
        load_checkpoint,
        lambda path: export_encoder(str(path), "huggingface", tmp_path / "x"),
    ):
        with pytest.raises(InputError, match="trust_remote_code=True") as caught:
            refused(folder)
        assert "\n" not in str(caught.value)
    assert not marker.exists()
    if setting == b"true":
        np.testing.assert_allclose(Encoder.load(folder, trust_remote_code=True).encode(["the cat"]), expected)
        assert marker.exists()
