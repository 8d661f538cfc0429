"""Distillation: sentences whose vectors another encoder has made, learned beside the objective of a run.

Formula: features * mean(1 - cos(W u, t)) + similarities * mean over sentence pairs of (cos(u, u') - cos(t, t'))^2, with
u the vectors of the encoder in training, t those of the teacher, and W a linear map that only training has.
Data: single sentences with vectors; no translations are needed.
Reference: Mao and Nakagawa, "LEALLA: Learning Lightweight Language-agnostic Sentence Embeddings with Knowledge
Distillation" (feature and logit distillation); there beside a contrastive loss, as here.
"""

from __future__ import annotations

import numpy as np
import torch
from torch import Tensor, nn
from torch.nn import functional

from encoder.batch import Batch, DataShape
from encoder.objectives.contrastive import in_float32
from encoder.objectives.objective import Loss, Objective


class Distillation(Objective):
    """`teacher` is (sentences, dim of the teacher); a batch says by `meaning` which of its rows are meant."""

    shape: DataShape = "monolingual"

    def __init__(self, teacher: np.ndarray, dim: int, features: float, similarities: float) -> None:
        super().__init__()
        self._teacher, self._features, self._similarities = teacher, features, similarities
        self.head = nn.Linear(dim, teacher.shape[1], bias=False)

    def loss(self, vectors: Tensor, batch: Batch, progress: float) -> Loss:
        rows = self._teacher[batch.meaning.cpu().numpy()]
        wanted = torch.from_numpy(rows.astype(np.float32)).to(vectors.device)
        features, similarities = distillation_losses(vectors, self.head(vectors), wanted)
        total = self._features * features + self._similarities * similarities
        return Loss(total, {"features": features.detach(), "similarities": similarities.detach()})


@in_float32
def distillation_losses(vectors: Tensor, mapped: Tensor, teacher: Tensor) -> tuple[Tensor, Tensor]:
    """Mean of 1 - cosine of mapped vectors and the teacher's, and mean square difference of all cosines."""
    student, wanted = functional.normalize(vectors, dim=1), functional.normalize(teacher, dim=1)
    features = 1 - functional.cosine_similarity(mapped, teacher, dim=1).mean()
    return features, (student @ student.T - wanted @ wanted.T).square().mean()
