"""The model card of an encoder: what it was made from and how, and what is known of it."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from pathlib import Path
from typing import Any

from encoder.cards import CARD, TAG, markdown_table, read_card, write_card
from encoder.checkpoint import CONFIG, FINGERPRINT, CheckpointSettings, read_metrics
from encoder.settings import load_settings

_TAGS = ("sentence-similarity", "feature-extraction", "bitext-mining", TAG)
_LIMITS = {
    "bag": "A bag of words knows no word order beyond neighbours: negation, numbers and who did what to whom hardly "
    "change a vector.",
    "transformer": "Sentences longer than its positions are cut.",
    "pretrained": "The limits of the model that it was made from hold here, too; see its own card.",
}


def model_head(languages: Iterable[str], library: str = "twinlode") -> dict[str, Any]:
    """What says to Hugging Face that this is a sentence encoder, and of which languages."""
    return {
        "language": sorted(languages),
        "library_name": library,
        "pipeline_tag": "sentence-similarity",
        "tags": list(_TAGS),
    }


def add_section(source: Path, target: Path, title: str, text: str, *, library: str | None = None) -> None:
    """The card of the checkpoint `source` with one section more, written into the folder `target`."""
    head, body = read_card(source / CARD) if (source / CARD).is_file() else checkpoint_card(source, {})
    head |= {"library_name": library} if library else {}
    kept = body.partition(f"\n## {title}\n")[0].rstrip()  # written again, it stands there once
    write_card(target / CARD, head, f"{kept}\n\n## {title}\n\n{text}")


def checkpoint_card(folder: Path, sections: Mapping[str, str]) -> tuple[dict[str, Any], str]:
    """What a checkpoint folder itself tells."""
    settings = load_settings(CheckpointSettings, folder / CONFIG)
    fingerprint = (folder / FINGERPRINT).read_text().strip()
    known = ", ".join(settings.languages) or "those of the model that it was made from"
    figures = [(name.replace("_", " "), f"{value:g}") for name, value in read_metrics(folder).items()]
    body = f"""# Sentence encoder {fingerprint[:8]}

Sentence vectors for mining, cleaning and aligning translations, made with twinlode. Fingerprint `{fingerprint}`.

    from encoder import Encoder
    vectors = Encoder.load("path/of/this/folder").encode(["Good morning."], lang="en")

## Languages

{known}. Of others it has seen nothing.

## Figures

{markdown_table(["", ""], figures) if figures else "None were measured."}

Held-out figures are of text like the training text, which says little about other text: measure it on yours
(`twinlode eval`).

## Limits

{_LIMITS[settings.model.kind]}
"""
    for title, text in sections.items():
        body += f"\n## {title}\n\n{text}\n"
    return model_head(settings.languages), body
