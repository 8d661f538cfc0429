"""Cross-lingual token reconstruction (EMS equations 2-7): the translation's bag of tokens from a sentence vector."""

from __future__ import annotations

import math
from typing import Any, NamedTuple

import torch
from torch import Tensor, nn

from encoder.tokens import TokenBatch

_CHUNK_CELLS = 8 << 20  # rows x vocabulary scored at a time: 32 MiB of float32


class XtrHead(nn.Module):
    """Sentence vector and target language in, token scores out: equations 2-5 before the softmax.

    With `shared` (the ablation "share L_emb params") the input embedding is the output matrix, so the fully connected
    layer maps to its width instead of keeping its own.
    """

    def __init__(
        self, dim: int, vocabulary: int, languages: int, language_dim: int, shared: nn.Parameter | None = None
    ) -> None:
        super().__init__()
        self.language = nn.Embedding(languages, language_dim) if language_dim else None
        width = dim + language_dim
        self.connected = nn.Linear(width, width if shared is None else shared.shape[1])
        self.norm = nn.LayerNorm(self.connected.out_features)
        self.output = shared if shared is not None else nn.Parameter(torch.empty(vocabulary, width))
        if shared is None:
            nn.init.normal_(self.output, std=width**-0.5)

    def forward(self, vectors: Tensor, target_language: Tensor) -> Tensor:
        """(rows, dim) -> (rows, width of the output matrix)."""
        if self.language is not None:
            vectors = torch.cat([self.language(target_language), vectors], dim=1)
        return self.norm(nn.functional.silu(self.connected(vectors)))


class ScoredVocabulary(NamedTuple):
    """The part of the vocabulary that is scored: row numbers and what to add to their logits."""

    ids: Tensor  # (candidates,) int64, sorted
    bias: Tensor  # (candidates,) float


def sample_candidates(targets: Tensor, vocabulary: int, negatives: int) -> ScoredVocabulary | None:
    """All tokens in `targets` and `negatives` others drawn uniformly; None when that is the whole vocabulary.

    The drawn ones stand for all tokens not in the batch, so log(others / drawn) is added to their logits: the sum in
    the softmax's denominator is then an unbiased estimate of the full one.
    """
    present = torch.zeros(vocabulary, dtype=torch.bool, device=targets.device)
    present[targets] = True
    others = (~present).nonzero()[:, 0]
    if negatives >= len(others):
        return None
    drawn = others[torch.randperm(len(others), device=targets.device)[:negatives]]
    bias = torch.zeros(vocabulary, device=targets.device)
    bias[drawn] = math.log(len(others) / negatives)
    present[drawn] = True
    ids = present.nonzero()[:, 0]
    return ScoredVocabulary(ids, bias[ids])


def reconstruction_loss(
    hidden: Tensor, output: Tensor, targets: TokenBatch, candidates: ScoredVocabulary | None
) -> Tensor:
    """Cross-entropy between each sentence's token distribution (equation 7) and the prediction, summed over rows.

    The distribution N_w / length is never written out: a token that occurs twice is simply gathered twice. A sentence
    without tokens counts as zero.
    """
    ids, bias = targets.ids, None
    if candidates is not None:
        ids, bias = torch.searchsorted(candidates.ids, ids), candidates.bias
        output = output[candidates.ids]
    return _SparseCrossEntropy.apply(hidden, output, bias, ids, targets.offsets)


def target_entropy(targets: TokenBatch) -> Tensor:
    """Sum over sentences of the entropy of the token distribution: what turns cross-entropy into KL divergence."""
    lengths = targets.offsets.diff()
    rows = torch.arange(len(lengths), device=lengths.device).repeat_interleave(lengths)
    cells = rows * (int(targets.ids.max()) + 1 if len(targets.ids) else 1) + targets.ids
    cells, order = cells.sort()
    _, count = cells.unique_consecutive(return_counts=True)
    first = order[count.cumsum(0) - count]
    probability = count / lengths[rows[first]]
    return -(probability * probability.log()).sum()


class _SparseCrossEntropy(torch.autograd.Function):
    """Linear layer, log-softmax and sparse soft targets in one, a few rows at a time.

    Gradients are made together with the loss, while the scores of the rows are at hand, so that neither a rows x
    vocabulary matrix nor a second pass is needed; backward only scales them.
    """

    @staticmethod
    def forward(ctx: Any, hidden: Tensor, output: Tensor, bias: Tensor | None, ids: Tensor, offsets: Tensor) -> Tensor:
        with torch.autocast(hidden.device.type, enabled=False):
            hidden, output = hidden.float(), output.float()
            grad_hidden, grad_output = torch.empty_like(hidden), torch.zeros_like(output)
            loss = hidden.new_zeros(())
            step = max(1, _CHUNK_CELLS // len(output))
            for start in range(0, len(hidden), step):
                rows = slice(start, start + step)
                scores = hidden[rows] @ output.T  # (rows, vocabulary)
                if bias is not None:
                    scores += bias
                loss += _softmax_residual(scores, ids, offsets[start : start + step + 1])
                torch.mm(scores, output, out=grad_hidden[rows])
                grad_output.addmm_(scores.T, hidden[rows])
        ctx.save_for_backward(grad_hidden, grad_output)  # not as attributes, which a checkpoint would keep
        return loss

    @staticmethod
    def backward(ctx: Any, *gradients: Tensor) -> tuple[Tensor, Tensor, None, None, None]:
        # Scaled in place, as a copy of the output matrix is what this class avoids; hence backward works only once.
        grad_hidden, grad_output = ctx.saved_tensors
        return grad_hidden.mul_(gradients[0]), grad_output.mul_(gradients[0]), None, None, None


def _softmax_residual(scores: Tensor, ids: Tensor, offsets: Tensor) -> Tensor:
    """Cross-entropy of some rows; `scores` becomes its gradient, softmax minus target, in place."""
    lengths = offsets.diff()
    ids = ids[int(offsets[0]) : int(offsets[-1])]
    rows = torch.arange(len(lengths), device=ids.device).repeat_interleave(lengths)
    weight = lengths.clamp(min=1).reciprocal()[rows]  # 1 / length of the sentence, for each of its tokens
    filled = (lengths > 0).to(scores.dtype)
    partition = scores.logsumexp(1)
    loss = (partition * filled).sum() - (weight * scores[rows, ids]).sum()
    scores.sub_(partition[:, None]).exp_().mul_(filled[:, None])
    scores.index_put_((rows, ids), -weight, accumulate=True)
    return loss
