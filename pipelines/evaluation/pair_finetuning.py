"""Fine-tuning of a whole encoder to classify sentence pairs, as XTREME does for PAWS-X."""

from __future__ import annotations

import copy
from collections.abc import Iterator, Sequence
from typing import Any, NamedTuple

import numpy as np
import torch
from torch import Tensor, nn

from encoder.models import Pretrained


class LabelledPairs(NamedTuple):
    first: list[str]
    second: list[str]
    labels: np.ndarray  # (pairs,) bool


class FinetuneSettings(NamedTuple):
    """XTREME's for PAWS-X."""

    learning_rate: float = 2e-5
    batch: int = 32
    epochs: int = 5
    max_tokens: int = 128


class FinetunedClassifier(nn.Module):
    """The backbone on both sentences at once, and RoBERTa's head on its first token."""

    def __init__(self, model: Pretrained, max_tokens: int) -> None:
        super().__init__()
        self.tokenizer, self.max_tokens = model.text.tokenizer, max_tokens
        self.backbone = copy.deepcopy(model.backbone)
        width = self.backbone.config.hidden_size
        dropout = getattr(self.backbone.config, "hidden_dropout_prob", 0.1)
        self.head = nn.Sequential(
            nn.Dropout(dropout), nn.Linear(width, width), nn.Tanh(), nn.Dropout(dropout), nn.Linear(width, 2)
        )

    def forward(self, first: Sequence[str], second: Sequence[str]) -> Tensor:
        """(pairs, 2)"""
        device = next(self.parameters()).device
        # A limit that the encoder set for single sentences must not cut pairs.
        self.tokenizer.backend_tokenizer.no_truncation()
        tokens: Any = self.tokenizer(
            list(first), list(second), truncation=True, max_length=self.max_tokens, padding=True, return_tensors="pt"
        ).to(device)
        return self.head(self.backbone(**tokens).last_hidden_state[:, 0])


def finetune(
    model: Pretrained, train: LabelledPairs, dev: LabelledPairs, settings: FinetuneSettings, seed: int
) -> FinetunedClassifier:
    """A classifier of the epoch that is best on `dev`; the model itself stays as it is."""
    torch.manual_seed(seed)
    classifier = FinetunedClassifier(model, settings.max_tokens)
    optimizer = torch.optim.AdamW(classifier.parameters(), lr=settings.learning_rate, weight_decay=0.0)
    steps = settings.epochs * -(-len(train.labels) // settings.batch)
    schedule = torch.optim.lr_scheduler.LinearLR(optimizer, 1.0, 0.0, steps)
    best, state = -1.0, classifier.state_dict()
    for _ in range(settings.epochs):
        classifier.train()
        for rows in torch.randperm(len(train.labels)).split(settings.batch):
            scores = classifier(*_texts(train, rows.tolist()))
            loss = nn.functional.cross_entropy(
                scores, torch.as_tensor(train.labels[rows.numpy()]).long().to(scores.device)
            )
            optimizer.zero_grad()
            loss.backward()
            torch.nn.utils.clip_grad_norm_(classifier.parameters(), 1.0)
            optimizer.step()
            schedule.step()
        correct = float((classify(classifier, dev) == dev.labels).mean())
        if correct > best:
            best, state = correct, {name: value.clone() for name, value in classifier.state_dict().items()}
    classifier.load_state_dict(state)
    return classifier


@torch.inference_mode()
def classify(classifier: FinetunedClassifier, pairs: LabelledPairs, batch: int = 64) -> np.ndarray:
    """(pairs,) bool: which are paraphrases."""
    classifier.eval()
    parts = [classifier(*_texts(pairs, rows)).argmax(1).cpu().numpy() for rows in _batches(len(pairs.labels), batch)]
    return np.concatenate(parts).astype(bool)


def _batches(count: int, size: int) -> Iterator[range]:
    return (range(start, min(start + size, count)) for start in range(0, count, size))


def _texts(pairs: LabelledPairs, rows: Sequence[int]) -> tuple[list[str], list[str]]:
    return [pairs.first[row] for row in rows], [pairs.second[row] for row in rows]
