"""The default encoder: a small one made here, and the one that ships where it is there."""

import json
import shutil
from pathlib import Path

import numpy as np
import pytest

from encoder import Encoder, default
from encoder.build_check import check_files, file_digest
from encoder.checkpoint import CLASSIFIER
from encoder.default import folder as installation
from encoder.default.language_card import CARD, Card, Figure
from encoder.default.probe_vectors import PROBES, ProbeVectors, write_probes
from encoder.models import BagSettings
from mining.errors import InputError
from tests.encoder.fixtures import write_checkpoint


def unit(count: int, seed: int) -> np.ndarray:
    rows = np.random.default_rng(seed).normal(size=(count, 16)).astype(np.float32)
    return rows / np.linalg.norm(rows, axis=1, keepdims=True)


@pytest.fixture
def root(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    root = tmp_path / "default"
    model = write_checkpoint(root / "model", BagSettings(dim=16))
    # English 0-29, German 0-19, French 10-29, by group
    language = np.repeat([0, 1, 2], [30, 20, 20]).astype(np.uint8)
    group = np.concatenate([np.arange(30), np.arange(20)[::-1], np.arange(10, 30)]).astype(np.int32)
    write_probes(root / PROBES, ProbeVectors(unit(70, 0), language, group, ("en", "de", "fr")))
    figures = {
        "de": Figure(benchmark="Tatoeba", precision=95.0, sentences=1000),
        "fr": Figure(benchmark="UDHR", precision=41.2, sentences=57),
        "dz": Figure(benchmark="held-out", precision=98.0, sentences=200),
        "oc": Figure(benchmark="Tatoeba", precision=70.0, sentences=1000),
    }
    card = Card(
        name="twinlode-3/1",
        fingerprint=(model / "fingerprint").read_text().strip(),
        files={name: file_digest(root / name) for name in (PROBES, "model/config.yaml", "model/model.safetensors")},
        trained={"en": 0, "de": 10, "fr": 5, "dz": 3},
        figures=figures,
    )
    (root / CARD).write_text(card.model_dump_json())
    monkeypatch.setattr(installation, "ROOT", root)
    return root


def test_load_without_a_name_is_the_default_encoder(root: Path) -> None:
    loaded = Encoder.load()
    assert loaded.fingerprint == default.card().fingerprint == Encoder.load(root / "model").fingerprint
    default.check()
    check_files(root)


def test_an_installation_without_one_says_so(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(installation, "ROOT", tmp_path)
    assert not default.has_default()
    for call in (Encoder.load, default.card, lambda: default.status("de"), lambda: default.probes("de", "en")):
        with pytest.raises(InputError, match="no default encoder in this installation"):
            call()


@pytest.mark.parametrize(
    ("lang", "level", "warning"),
    [
        ("en", "known", None),
        ("deu", "known", None),
        ("fr", "weak", "twinlode-3/1 knows fr badly (UDHR P@1 41%)"),
        ("dz", "weak", "twinlode-3/1 knows dz badly (held-out P@1 98%)"),
        ("oci", "unknown", "twinlode-3/1 was never trained on oc (Tatoeba P@1 70%)"),
        ("ja", "unknown", "twinlode-3/1 was never trained on ja (not measured)"),
    ],
)
@pytest.mark.usefixtures("root")
def test_status_of_a_language(lang: str, level: str, warning: str | None) -> None:
    status = default.status(lang)
    assert status.level == level
    assert status.warning is None if warning is None else (status.warning or "").startswith(warning)


@pytest.mark.usefixtures("root")
def test_probes_pair_what_translates_the_same_english_sentence() -> None:
    english, german, french = unit(70, 0)[:30], unit(70, 0)[30:50][::-1], unit(70, 0)[50:]
    cases = {
        ("de", "en"): (german, english[:20]),
        ("en", "fr"): (english[10:], french),
        ("de", "fr"): (german[10:], french[:10]),
        ("de", "ja"): (german[:0], german[:0]),
    }
    for (source, target), expected in cases.items():
        for found, vectors in zip(default.probes(source, target), expected, strict=True):
            assert found.dtype == np.float32
            np.testing.assert_allclose(found, vectors, atol=0.02)


@pytest.mark.usefixtures("root")
def test_probes_belong_to_their_encoder() -> None:
    assert len(default.probes("de", "en", encoder=default.card().fingerprint).source) == 20
    with pytest.raises(InputError, match="probe vectors are those of twinlode-3/1"):
        default.probes("de", "en", encoder="another")


def test_files_that_do_not_fit_are_refused(root: Path) -> None:
    damaged = shutil.copytree(root, root.with_name("damaged"))
    (damaged / PROBES).write_bytes(b"x" + (damaged / PROBES).read_bytes())
    with pytest.raises(InputError, match=r"probes\.safetensors: missing, or not that of"):
        default.check(damaged)
    with pytest.raises(SystemExit, match=r"probes\.safetensors is missing or not the file"):
        check_files(damaged)
    (damaged / "model" / "config.yaml").write_text("version: 1")
    with pytest.raises(InputError, match="do not fit the fingerprint"):
        default.check(damaged)
    (damaged / CARD).write_text(json.dumps({"name": 1}))
    with pytest.raises(InputError, match="not a card"):
        default.check(damaged)


@pytest.mark.skipif(not default.has_default(), reason="the default encoder is not released yet")
def test_the_shipped_encoder_fits_its_card_and_its_limit() -> None:
    default.check()
    check_files(installation.ROOT)
    files = [path for path in installation.ROOT.rglob("*") if path.suffix != ".py" and path.is_file()]
    classifier = [path for path in files if path.parent.name == CLASSIFIER]
    assert sum(path.stat().st_size for path in files if path not in classifier) <= 32_000_000
    assert sum(path.stat().st_size for path in classifier) <= 3_000_000
    assert {"en", *default.card().figures} >= set(default.card().trained)
