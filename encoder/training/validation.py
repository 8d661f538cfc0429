"""What the best checkpoint is chosen by: held-out pairs, similarity of English sentences, or another task."""

from __future__ import annotations

from collections.abc import Callable
from typing import NamedTuple

import numpy as np
import torch
from scipy.stats import spearmanr
from torch import nn
from torch.nn import functional

from encoder.batch import Batch
from encoder.data.preparation import Tokenizer
from encoder.inference import Encoder
from encoder.training.heldout_retrieval import encode_sorted, evaluate
from mining.errors import InputError
from mining.files import iterate_lines

P_AT_1 = "held_out_p_at_1"
STS_DEV = "sts_dev_spearman"
Measure = Callable[[Encoder], float]  # as a share of 1, the higher the better


class Validation(NamedTuple):
    """A figure of a model, the higher the better, as a share of 1."""

    name: str  # in files
    title: str  # in tables
    measure: Callable[[nn.Module], float]


def by_retrieval(held_out: Batch) -> Validation:
    """P@1 of held-out pairs."""
    return Validation(P_AT_1, "held-out P@1", lambda model: evaluate(model, held_out))


def by_similarity(path: str, tokenizer: Tokenizer, max_tokens: int, device: torch.device) -> Validation:
    """Spearman's correlation with the judgements of `path`, a file in the form of STS-B's `sts-dev.csv`."""
    first, second, gold = _read(path)
    tokens = tokenizer.encode([*first, *second], "en").truncate(max_tokens).batch(device)

    def measure(model: nn.Module) -> float:
        training = model.training
        model.eval()
        try:
            one, other = functional.normalize(encode_sorted(model, tokens), dim=1).chunk(2)
        finally:
            model.train(training)
        correlation = float(spearmanr((one * other).sum(1).cpu().numpy(), gold).statistic)
        return correlation if np.isfinite(correlation) else -1.0  # all vectors are the same

    return Validation(STS_DEV, "Spearman on STS dev", measure)


def by_task(title: str, measure: Measure, encoder: Encoder) -> Validation:
    """A score of another task, by the encoder whose model is being trained."""

    def measured(model: nn.Module) -> float:
        training = model.training
        model.eval()
        try:
            value = measure(encoder)
        finally:
            model.train(training)
        return value if np.isfinite(value) else -1.0

    return Validation("dev_task", title, measured)


def _read(path: str) -> tuple[list[str], list[str], np.ndarray]:
    first, second, gold = [], [], []
    for number, line in enumerate(iterate_lines(path), 1):
        cells = line.split("\t")
        try:
            gold.append(float(cells[4]))
            first.append(cells[5])
            second.append(cells[6])
        except (IndexError, ValueError):
            raise InputError(
                f"{path}, line {number}: not genre, file, year, id, similarity and two sentences, as STS-B has them"
            ) from None
    if len(gold) < 3:
        raise InputError(f"{path}: {len(gold)} pairs; a correlation needs 3 or more")
    return first, second, np.array(gold)
