"""EMS: cross-lingual token reconstruction plus sentence-level contrastive learning on translation pairs.

Formula: L = 1/|B| (L_XTR + weight * L_contrastive), equation 12 with weight 1.
Data: pairs. When: training an encoder from scratch, or any encoder on parallel text.
Reference: Mao, Chu, Kurohashi, "EMS: Efficient and Effective Massively Multilingual Sentence Representation Learning".
"""

from __future__ import annotations

from typing import Literal

import torch
from pydantic import Field, model_validator
from torch import Tensor, nn

from encoder.batch import Batch, DataShape, take_tokens
from encoder.objectives.contrastive import contrastive_loss, pair_keys
from encoder.objectives.objective import EncoderFacts, Loss, Objective
from encoder.objectives.xtr import XtrHead, reconstruction_loss, sample_candidates, target_entropy
from encoder.settings import Settings
from mining.errors import InputError


class EmsSettings(Settings):
    """Defaults are the paper's. The ablations of its Table 13, in order: `language_dim: 0`, `contrastive: 0`,
    `xtr: 0`, `projection_dim: 0`, `share_embedding: true`. Its row "replace XTR with UGT" is the objective of an
    earlier paper, which is not here. Otherwise than in the paper: XTR's head has the layer norm of the released code,
    and known translations in a batch are no negatives."""

    kind: Literal["ems"] = "ems"
    xtr: float = Field(1.0, ge=0, description="Weight of token reconstruction; 0 leaves it out.")
    contrastive: float = Field(1.0, ge=0, description="Weight of the contrastive loss; 0 leaves it out.")
    language_dim: int = Field(128, ge=0, description="Width of the target-language embedding; 0 for none.")
    language_std: float = Field(
        1.0,
        gt=0,
        description="Standard deviation of language embeddings at the start. The paper's vectors are near 1, too; "
        "those of a bag or a pre-norm encoder are far smaller, and drown in it.",
    )
    share_embedding: bool = Field(False, description="Use the encoder's input embedding as XTR's output matrix.")
    projection_dim: int = Field(128, ge=0, description="Output of the contrastive MLP; 0 compares raw vectors.")
    temperature: float = Field(0.1, gt=0, description="Of the contrastive softmax.")
    margin: float = Field(
        0.0, ge=0, lt=1, description="What a pair's cosine must win by, not in the paper; 0 for none."
    )
    local_negatives: bool = Field(
        False, description="Compare with the sentences of this process alone, as the released code does."
    )
    xtr_negatives: int = Field(
        0, ge=0, description="Score the batch's tokens and this many random others; 0 scores the whole vocabulary."
    )
    xtr_pairs: int = Field(0, ge=0, description="Reconstruct this many random pairs of each batch; 0 for all.")

    @property
    def shape(self) -> DataShape:
        return "pairs"

    @model_validator(mode="after")
    def _something_to_learn(self) -> EmsSettings:
        if not self.xtr and not self.contrastive:
            raise ValueError("xtr and contrastive are both 0, so there is nothing to learn; give one a weight")
        return self


class Ems(Objective):
    def __init__(self, settings: EmsSettings, encoder: EncoderFacts) -> None:
        super().__init__()
        self.settings, self.shape = settings, settings.shape
        self.vocabulary = encoder.vocabulary
        self.xtr = _xtr_head(settings, encoder) if settings.xtr else None
        self.projection = _projection(encoder.dim, settings.projection_dim) if settings.contrastive else None

    def loss(self, vectors: Tensor, batch: Batch, progress: float) -> Loss:
        total = vectors.new_zeros(())
        parts: dict[str, Tensor] = {}
        if self.xtr is not None:
            cross_entropy, parts["xtr"] = self._reconstruct(self.xtr, vectors, batch)
            total = total + self.settings.xtr * cross_entropy
        if self.projection is not None:
            left, right = self.projection(vectors).chunk(2)  # (pairs, projection_dim), equations 10 and 11
            contrastive, hits = contrastive_loss(
                left,
                right,
                pair_keys(batch),
                self.settings.temperature,
                self.settings.margin,
                local=self.settings.local_negatives,
            )
            parts |= {"contrastive": contrastive.detach(), "batch_p_at_1": hits}
            total = total + self.settings.contrastive * contrastive
        return Loss(total, parts)

    def _reconstruct(self, head: XtrHead, vectors: Tensor, batch: Batch) -> tuple[Tensor, Tensor]:
        """Mean over pairs of equation 6, without the constant entropy to minimise and with it to report."""
        pairs = len(vectors) // 2
        chosen = torch.arange(pairs, device=vectors.device)
        if 0 < self.settings.xtr_pairs < pairs:
            chosen = torch.randperm(pairs, device=vectors.device)[: self.settings.xtr_pairs]
        source = torch.cat([chosen, chosen + pairs])
        target = source.roll(len(chosen))  # left sides predict right sides and the other way round
        tokens = take_tokens(batch.tokens, target)
        hidden = head(vectors[source], batch.language[target])
        negatives = self.settings.xtr_negatives
        candidates = sample_candidates(tokens.ids, self.vocabulary, negatives) if negatives else None
        loss = reconstruction_loss(hidden, head.output, tokens, candidates) / len(chosen)
        return loss, loss.detach() - target_entropy(tokens) / len(chosen)


def _xtr_head(settings: EmsSettings, encoder: EncoderFacts) -> XtrHead:
    shared = encoder.embedding if settings.share_embedding else None
    if settings.share_embedding and shared is None:
        raise InputError("objective.share_embedding: this encoder has no input embedding to share; set it to false")
    head = XtrHead(encoder.dim, encoder.vocabulary, len(encoder.languages), settings.language_dim, shared)
    if head.language is not None:
        head.language.weight.data.mul_(settings.language_std)
    return head


def _projection(dim: int, projection_dim: int) -> nn.Module:
    """W1 ReLU(W2 u), equation 10; the identity for the ablation without it."""
    if not projection_dim:
        return nn.Identity()
    return nn.Sequential(nn.Linear(dim, dim), nn.ReLU(), nn.Linear(dim, projection_dim))
