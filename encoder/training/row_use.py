"""How much sentences use each embedding of a bag: what a table's rows are worth when bytes are short."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import torch
from torch import Tensor

from encoder.data.store import Store
from encoder.models import Bag
from encoder.models.bag import bigram_buckets, word_buckets
from encoder.models.spelling import different_words, ngrams
from encoder.settings import validate_settings
from encoder.tokens import Tokens
from encoder.training.state import STATE_FILE, read_facts
from encoder.training.training_settings import TrainSettings

_SAMPLE = 400_000  # sentences
_SPREAD = 0.75  # rare rows matter more in new text than in what was trained on: uses count to this power


def training_sentences(encoder: Path) -> Tokens | None:
    """Some sentences of the run that an encoder's folder lies in; None where its data is not there."""
    if not (encoder.parent / STATE_FILE).exists():
        return None
    facts = read_facts(encoder.parent / STATE_FILE)
    settings = validate_settings(TrainSettings, facts["settings"], str(encoder.parent / STATE_FILE))
    folder = Path(settings.data.cache or encoder.parent / "data") / facts["data"]
    if not folder.exists():
        return None
    return Store(folder).sample(_SAMPLE)


@torch.inference_mode()
def row_use(model: Bag, sentences: Tokens | None) -> dict[str, np.ndarray]:
    """For each table the use of its rows, as a power of how often a sentence has them; ones without sentences."""
    counts = {name: torch.zeros(len(weight)) for name, weight in model.named_parameters()}
    if sentences is None:
        return {name: np.ones(len(count), np.float32) for name, count in counts.items()}
    batch = sentences.batch()
    _add(counts["tokens.weight"], batch.ids)
    if model.bigrams is not None:
        _add(counts["bigrams.weight"], bigram_buckets(batch, model.bigrams.num_embeddings).ids)
    if model.words is not None:
        _add(counts["words.weight"], word_buckets(batch, model.word_starts, model.words.num_embeddings).ids)
    if model.ngrams is not None:
        words, occurrences = different_words(batch, model.word_starts)
        grams = ngrams(words, model.spellings, model.ngrams.num_embeddings)
        times = torch.bincount(occurrences.ids, minlength=len(words.offsets) - 1)
        sizes = grams.offsets.diff()
        # one of n n-grams has an n-th of its error in the word, and the square of that in the energy
        _add(counts["ngrams.weight"], grams.ids, (times / sizes.clamp(min=1) ** 2).repeat_interleave(sizes))
    return {name: ((count + 0.5) ** _SPREAD).numpy() for name, count in counts.items()}


def _add(counts: Tensor, rows: Tensor, weights: Tensor | None = None) -> None:
    counts += torch.bincount(rows, weights, minlength=len(counts))
