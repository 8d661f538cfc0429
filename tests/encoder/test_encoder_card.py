"""Cards that Hugging Face can read, written by every command that makes an encoder."""

from pathlib import Path

import pytest
import yaml

from encoder.cards import CARD, card_text, markdown_table, read_card
from encoder.checkpoint import load_checkpoint
from encoder.encoder_card import add_section
from encoder.exchange import export_encoder
from encoder.models import BagSettings
from encoder.quantization import quantize_encoder
from encoder.text import TextSettings
from encoder.training.observation import unobserved
from encoder.training.session import train
from tests.encoder.fixtures import write_checkpoint
from tests.encoder.training import conftest
from tests.encoder.training.conftest import make_settings

corpus = conftest.corpus
SECTIONS = ("Languages", "Figures", "Limits", "Data", "Recipe")


def sections(body: str) -> list[str]:
    return [line.removeprefix("## ") for line in body.splitlines() if line.startswith("## ")]


@pytest.fixture
def trained(corpus: Path) -> Path:
    settings = make_settings(corpus, evaluation={"pairs": 8}, limits={"steps": 4})
    return train(settings, corpus.parent / "run", unobserved).folder


def test_training_says_what_from_and_how(trained: Path, corpus: Path) -> None:
    head, body = read_card(trained / CARD)
    assert head["language"] == ["en", "fr"]
    assert head["pipeline_tag"] == "sentence-similarity"
    assert sections(body) == list(SECTIONS)
    assert load_checkpoint(trained).fingerprint in body, "and the card is no part of it"
    assert f"| {corpus} | en fr | 64 |" in body
    assert "| held out p at 1 | " in body
    recipe = yaml.safe_load(body.partition("```yaml\n")[2].partition("```")[0])
    assert recipe["optimizer"] == {"lr": 0.02, "weight_decay": 0}, "what was given, without defaults"


def test_a_quantized_encoder_has_its_own_fingerprint(trained: Path, tmp_path: Path) -> None:
    made = quantize_encoder(str(trained), tmp_path / "small", megabytes=1)
    _, body = read_card(tmp_path / "small" / CARD)
    assert sections(body) == [*SECTIONS, "Quantized"]
    assert f"this one is `{made.fingerprint}`" in body


@pytest.mark.parametrize(("segment", "needs"), [(False, "static embedding model"), (True, "needs twinlode")])
def test_an_export_says_how_to_load_it(segment: bool, needs: str, tmp_path: Path) -> None:
    write_checkpoint(tmp_path / "encoder", BagSettings(dim=16), text=TextSettings(segment=segment))
    export_encoder(str(tmp_path / "encoder"), "sentence-transformers", tmp_path / "out")
    head, body = read_card(tmp_path / "out" / CARD)
    assert head["library_name"] == "sentence-transformers"
    assert needs in body and 'SentenceTransformer("path' in body
    assert ("trust_remote_code" in body) == segment


def test_a_section_is_written_once(trained: Path) -> None:
    for text in ("first", "second"):
        add_section(trained, trained, "Loop", text)
    _, body = read_card(trained / CARD)
    assert sections(body) == [*SECTIONS, "Loop"]
    assert "second" in body and "first" not in body


def test_a_card_can_be_read_back() -> None:
    text = card_text({"language": ["no", "en"], "license": "x"}, "# A\n\nb")
    assert yaml.safe_load(text.split("---")[1])["language"] == ["no", "en"], "no is a language, not false"
    assert text.endswith("---\n\n# A\n\nb\n")
    assert markdown_table(["a", "b"], [("x|y", 1)]) == "| a | b |\n| --- | --- |\n| x\\|y | 1 |"
