"""The default encoder out of a run of a few steps on a made-up corpus."""

from pathlib import Path

import pytest

from encoder import Encoder, default
from encoder.default import folder as installation
from encoder.default.probe_vectors import PROBES
from encoder.training.observation import unobserved
from encoder.training.session import train
from pipelines.evaluation.model_card import corpus_name, write_language_page
from pipelines.evaluation.release import domain_of, release
from tests.encoder.training.conftest import OBJECTS, SUBJECTS, VERBS, make_settings


def write_aligned(folder: Path, code: str) -> None:
    folder.mkdir(parents=True)
    lines = [(f"{s} sees {o}", f"{SUBJECTS[s]} voit {OBJECTS[o]}") for s in SUBJECTS for o in OBJECTS]
    (folder / f"tatoeba.{code}-eng.eng").write_text("\n".join(english for english, _ in lines) + "\n")
    (folder / f"tatoeba.{code}-eng.{code}").write_text("\n".join(other for _, other in lines) + "\n")


def test_a_run_becomes_a_default_encoder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    corpus = tmp_path / "tatoeba" / "en-fr.tsv"
    corpus.parent.mkdir()
    pairs = [
        (f"{s} {v} {o}", f"{SUBJECTS[s]} {VERBS[v]} {OBJECTS[o]}") for s in SUBJECTS for v in VERBS for o in OBJECTS
    ]
    corpus.write_text("".join(f"{left}\t{right}\n" for left, right in pairs), encoding="utf-8")
    model = {"kind": "bag", "dim": 16, "bigrams": 32, "words": 32, "ngrams": 32}
    settings = make_settings(
        corpus.parent / "*.tsv", model=model, evaluation={"pairs": 8, "share": 0.3}, limits={"steps": 3}
    )
    train(settings, tmp_path / "run", unobserved)
    write_aligned(tmp_path / "eval" / "tatoeba-v1", "fra")
    write_aligned(tmp_path / "eval" / "lowresource", "oci")

    old = tmp_path / "default" / "model" / "old.safetensors"  # of the release before, which gives way
    old.parent.mkdir(parents=True)
    old.touch()
    card = release(tmp_path / "run", tmp_path, tmp_path / "default", version=2, quota=5, note="Made by a test.")
    assert not old.exists()
    assert sorted(path.name for path in (tmp_path / "default").iterdir()) == ["card.json", "model", PROBES]

    assert card.name == "twinlode-2/2"
    assert card.trained == {"en": 0, "fr": 64}
    assert {lang: figure.benchmark for lang, figure in card.figures.items()} == {"fr": "Tatoeba", "oc": "UDHR"}
    monkeypatch.setattr(installation, "ROOT", tmp_path / "default")
    default.check()
    assert default.probes("fr", "en", encoder=Encoder.load().fingerprint).source.shape == (5, 16)
    write_language_page(tmp_path / "languages.md", card)
    page = (tmp_path / "languages.md").read_text()
    assert f"| fr | 64 | {card.figures['fr'].precision} | Tatoeba |" in page
    assert page.endswith(f"P@1 on Tatoeba or UDHR: oc {card.figures['oc'].precision:.0f}.\n")
    written = (tmp_path / "default" / "model" / "README.md").read_text()
    assert (
        "Made by a test." in written
        and "CC-BY 2.0" in written
        and f"| fr | 64 | {card.figures['fr'].precision}" in written
    )


@pytest.mark.parametrize(
    ("path", "name", "domain"),
    [
        ("x/tatoeba/*.tsv.xz", "tatoeba", "everyday"),
        ("x/tatoeba/en-sl.tsv.xz", "tatoeba", "everyday"),
        ("x/nway/europarl7.jsonl.xz", "europarl7", "parliament"),
        ("x/mdn/*.tsv", "mdn", "documentation"),
        ("x/new/thing.tsv", "thing", "documentation"),
        ("x/dictionary.*.tsv.xz", "dictionary", None),
    ],
)
def test_name_and_domain_of_a_corpus(path: str, name: str, domain: str | None) -> None:
    assert (corpus_name(path), domain_of(path)) == (name, domain)
