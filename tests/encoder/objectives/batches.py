"""Small batches of each data shape, without a corpus."""

from __future__ import annotations

import torch

from encoder.batch import Batch
from encoder.objectives.objective import EncoderFacts
from encoder.tokens import Tokens

VOCABULARY, DIM = 40, 8
FACTS = EncoderFacts(DIM, VOCABULARY, ("en", "de", "fr"), None, dropout=True)


def make_batch(example: list[int], meaning: list[int] | None = None, text: list[int] | None = None) -> Batch:
    """Sentences of one to five random tokens; `text` and `meaning` are all different unless given."""
    generator = torch.Generator().manual_seed(len(example))
    count = len(example)
    lists = [torch.randint(2, VOCABULARY, (1 + n % 5,), generator=generator).tolist() for n in range(count)]
    return Batch(
        tokens=Tokens.from_lists(lists).batch(),
        example=torch.tensor(example),
        language=torch.arange(count) % 3,
        text=torch.tensor(text if text is not None else range(1000, 1000 + count)),
        meaning=torch.tensor(meaning if meaning is not None else [100 + e for e in example]),
        examples=max(example) + 1,
    )
