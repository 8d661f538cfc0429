"""MPCL: contrastive learning with all translations of a sentence as positives.

Formula: -log( sum over positives e^{sim/T} / sum over all others j != i e^{sim/T} ), equation 2; sim is the cosine, and
with `minmax` rescaled to [-1, 1] over each anchor's candidates.
Data: groups of `least` or more translations; with `hard_negatives`, NLI triples in several languages, where the
entailed hypothesis in several languages is the positives (section 3.5.1 leaves open which sentences they are).
When: N-way parallel text; mined pairs become groups with `data.assemble`.
Reference: Zhao et al., "Leveraging Multi-lingual Positive Instances in Contrastive Learning to Improve Sentence
Embedding".
"""

from __future__ import annotations

from typing import Literal, NamedTuple

import torch
from pydantic import Field, model_validator
from torch import Tensor, nn
from torch.nn import functional

from encoder.batch import Batch, DataShape
from encoder.distributed import gather, gather_ragged, rank
from encoder.objectives.contrastive import shared_keys, similarities
from encoder.objectives.msimcse import tanh_head
from encoder.objectives.objective import EncoderFacts, Loss, Objective
from encoder.settings import Settings


class MpclSettings(Settings):
    """Defaults are the paper's. `single` is its "+Single" control: the same groups, split into disjoint pairs.

    A plain language model as backbone begins with one positive: `warmup: 2000, warmup_rate: 2`; its control, which has
    one anyway, with the rate alone.

    Members of a group are drawn by sentence: an assembled group may have several of one language. All groups of a
    corpus count as one source, so `data.temperature` weighs corpora here, not languages.
    """

    kind: Literal["mpcl"] = "mpcl"
    positives: int = Field(5, ge=1, description="Most translations beside the anchor (K).")
    temperature: float = Field(0.05, gt=0, description="Of the softmax.")
    least: int = Field(3, ge=2, description="Sentences of the smallest group to learn from.")
    minmax: bool | None = Field(
        None,
        description="Rescale each anchor's similarities to [-1, 1] before the temperature; by default where it has "
        "several positives.",
    )
    anchors: Literal["one", "all"] = Field("one", description="A random sentence of each group, or every one in turn.")
    single: bool = Field(False, description="The control: groups split into disjoint pairs.")
    hard_negatives: bool = Field(False, description="Learn from triples; contradictions join the candidates.")
    warmup: float = Field(
        0.0,
        ge=0,
        description="Begin with one positive (equation 1): share of the run when below 1, else steps.",
    )
    warmup_rate: float = Field(1.0, gt=0, description="Times the learning rate during that; the paper's is 2.")
    head: Literal["none", "tanh"] = Field("none", description="A layer used in training alone.")

    @property
    def shape(self) -> DataShape:
        return "triples" if self.hard_negatives else "groups"

    @model_validator(mode="after")
    def _one_control_at_a_time(self) -> MpclSettings:
        if self.single and (self.hard_negatives or self.anchors == "all"):
            raise ValueError("single is a control without hard_negatives and anchors: all; leave them out")
        return self


class SentencePool(NamedTuple):
    """Every sentence of the step, on all processes."""

    vectors: Tensor  # (all, dim) unit length
    keys: Tensor  # (all, 2) text and meaning
    example: Tensor  # (all,) numbered over all processes
    first: int  # this process's first row


class Mpcl(Objective):
    def __init__(self, settings: MpclSettings, encoder: EncoderFacts) -> None:
        super().__init__()
        self.settings, self.shape = settings, settings.shape
        self.positives, self.least = settings.positives, settings.least
        self._warming = False
        self.head = tanh_head(encoder.dim) if settings.head == "tanh" else nn.Identity()

    def begin(self, step: int, progress: float) -> float:
        warmup = self.settings.warmup
        self._warming = progress < warmup if warmup < 1 else step < warmup
        return self.settings.warmup_rate if self._warming else 1.0

    def loss(self, vectors: Tensor, batch: Batch, progress: float) -> Loss:
        vectors = functional.normalize(self.head(vectors), dim=1)
        everything = self._gather(vectors, batch)
        one_positive = self.settings.single or self._warming
        anchors, positives = self._choose(batch, one_positive)
        allowed = ~self._forbidden(anchors, positives, batch, everything)  # (anchors, all)
        similarity = similarities(vectors[anchors], everything.vectors)
        if not one_positive if self.settings.minmax is None else self.settings.minmax:
            similarity = minmax(similarity, allowed)
        logits = similarity / self.settings.temperature
        numerator = logits.masked_fill(~self._cells(positives, everything, len(anchors)), -torch.inf).logsumexp(1)
        denominator = logits.masked_fill(~allowed, -torch.inf).logsumexp(1)
        # Divided by the batch's examples, equally many on every process; anchors need not be.
        loss = (denominator - numerator).sum() / self._scale(batch, len(anchors))
        best = logits.detach().masked_fill(~allowed, -torch.inf).argmax(1)
        hits = (everything.example[best] == everything.example[everything.first + anchors]).float().mean()
        return Loss(loss, {"contrastive": loss.detach(), "batch_p_at_1": hits})

    def _gather(self, vectors: Tensor, batch: Batch) -> SentencePool:
        rows, first = gather_ragged(vectors)
        keys = torch.stack([batch.text, batch.meaning], dim=1)
        example = batch.example.clone()
        if self.settings.hard_negatives:
            example[-batch.examples :] = -1  # a hard negative is of nobody's group
        example = torch.where(example < 0, example, example + rank() * batch.examples)
        return SentencePool(rows, gather_ragged(keys).rows, gather_ragged(example).rows, first)

    def _choose(self, batch: Batch, one_positive: bool) -> tuple[Tensor, tuple[Tensor, Tensor]]:
        """Anchor rows, and cells (number of the anchor, row in the batch) that are its positives."""
        count = batch.sentences - (batch.examples if self.settings.hard_negatives else 0)
        example = batch.example[:count]
        if one_positive:
            first, second = (
                disjoint_pairs(example) if self.settings.single else first_positives(example, batch.examples)
            )
            return first, (torch.arange(len(first), device=first.device), second)
        anchors = torch.arange(count if self.settings.anchors == "all" else batch.examples, device=example.device)
        rows, columns = shared_keys(example[anchors, None], example[:, None])
        other = anchors[rows] != columns
        return anchors, (rows[other], columns[other])

    def _forbidden(
        self, anchors: Tensor, positives: tuple[Tensor, Tensor], batch: Batch, everything: SentencePool
    ) -> Tensor:
        """The anchor itself, and whatever means the same without being one of its positives."""
        forbidden = torch.zeros(len(anchors), len(everything.vectors), dtype=torch.bool, device=anchors.device)
        keys = torch.stack([batch.text, batch.meaning], dim=1)
        for number, sentence in ((torch.arange(len(anchors), device=anchors.device), anchors), positives):
            rows, columns = shared_keys(keys[sentence], everything.keys)
            forbidden[number[rows], columns] = True
        rows, columns = shared_keys(everything.example[everything.first + anchors, None], everything.example[:, None])
        forbidden[rows, columns] = True
        forbidden[positives[0], everything.first + positives[1]] = False
        return forbidden

    def _cells(self, positives: tuple[Tensor, Tensor], everything: SentencePool, anchors: int) -> Tensor:
        cells = torch.zeros(anchors, len(everything.vectors), dtype=torch.bool, device=positives[0].device)
        cells[positives[0], everything.first + positives[1]] = True
        return cells

    def _scale(self, batch: Batch, anchors: int) -> Tensor | int:
        if not self.settings.single and self.settings.anchors == "one":
            return anchors
        total = gather(batch.example.new_tensor([anchors])).float()
        return total.mean()


def minmax(similarity: Tensor, allowed: Tensor) -> Tensor:
    """Each row stretched so that its allowed cells reach from -1 to 1."""
    low = similarity.masked_fill(~allowed, torch.inf).amin(1, keepdim=True)
    high = similarity.masked_fill(~allowed, -torch.inf).amax(1, keepdim=True)
    return 2 * (similarity - low) / (high - low).clamp(min=1e-6) - 1


def first_positives(example: Tensor, examples: int) -> tuple[Tensor, Tensor]:
    """Each anchor with the first of its positives."""
    anchors = torch.arange(examples, device=example.device)
    order = example[examples:].argsort(stable=True)
    first = torch.searchsorted(example[examples:][order], anchors)
    return anchors, examples + order[first]


def disjoint_pairs(example: Tensor) -> tuple[Tensor, Tensor]:
    """Sentences of each example two by two; where their number is odd the last one has no partner."""
    order = example.argsort(stable=True)
    grouped = example[order]
    start = torch.searchsorted(grouped, grouped)
    place = torch.arange(len(example), device=example.device) - start
    is_first = (place % 2 == 0)[:-1] & (grouped[:-1] == grouped[1:])
    at = is_first.nonzero()[:, 0]
    return order[at], order[at + 1]
