"""The model card of an encoder that was trained just now: what it was made from and how."""

from __future__ import annotations

from pathlib import Path

import yaml

from encoder.cards import CARD, markdown_table, write_card
from encoder.data.store import Store
from encoder.encoder_card import checkpoint_card
from encoder.training.training_settings import TrainSettings


def write_training_card(folder: Path, settings: TrainSettings, store: Store) -> None:
    """The card of an encoder that was trained just now: data, recipe, figures, languages, limits."""
    recipe = settings.model_dump(mode="json", exclude_unset=True)
    sections = {
        "Data": _data(settings, store),
        "Recipe": f"```yaml\n{yaml.safe_dump(recipe, sort_keys=False, allow_unicode=True)}```",
    }
    head, body = checkpoint_card(folder, sections)
    write_card(folder / CARD, head, body)


def _data(settings: TrainSettings, store: Store) -> str:
    """Pairs of each corpus, and what was dropped before."""
    rows = []
    for number, corpus in enumerate(settings.data.corpora):
        sources = [source for source in store.sources if source.corpus == number]
        languages = sorted({lang for source in sources for lang in source.langs})
        rows.append((corpus.path, " ".join(languages), f"{sum(len(source.pairs) for source in sources):,}"))
    dropped = ", ".join(f"{name.replace('_', ' ')} {count:,}" for name, count in store.counters.items())
    return f"{markdown_table(['corpus', 'languages', 'pairs'], rows)}\n\nDropped or changed: {dropped or 'nothing'}."
