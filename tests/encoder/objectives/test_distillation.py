"""Distillation against its formula."""

import numpy as np
import torch
from torch.nn import functional

from encoder.objectives.distillation import Distillation
from tests.encoder.objectives.batches import DIM, make_batch


def test_loss_is_the_formula() -> None:
    torch.manual_seed(0)
    teacher = np.random.default_rng(0).normal(size=(9, 5)).astype(np.float16)
    objective = Distillation(teacher, DIM, features=2.0, similarities=3.0)
    vectors, rows = torch.randn(3, DIM), [7, 2, 4]
    found = objective.loss(vectors, make_batch([0, 1, 2], meaning=rows), 0.0)
    wanted = torch.from_numpy(teacher[rows].astype(np.float32))
    mapped = objective.head(vectors)
    features = sum(1 - functional.cosine_similarity(mapped[i], wanted[i], dim=0) for i in range(3)) / 3
    similarities = torch.zeros(())
    for i in range(3):
        for j in range(3):
            ours, theirs = (functional.cosine_similarity(x[i], x[j], dim=0) for x in (vectors, wanted))
            similarities += (ours - theirs) ** 2 / 9
    torch.testing.assert_close(found.total, 2 * features + 3 * similarities)
