"""VMSST's networks one for each language, or for a share of them (its Tables 4 and 6), where one would be for all."""

from __future__ import annotations

from collections.abc import Callable, Iterator

import torch
from torch import Tensor, nn

from encoder.batch import take_tokens
from encoder.objectives.vmsst_networks import Embeddings, Gaussian
from encoder.tokens import TokenBatch
from mining.errors import InputError


class Divided(nn.Module):
    """Several networks of a kind; each language belongs to one of them, at random and evenly."""

    owner: Tensor  # (languages,) int64

    def __init__(self, make: Callable[[], nn.Module], count: int, languages: int) -> None:
        super().__init__()
        self.networks = nn.ModuleList(make() for _ in range(count))
        self.register_buffer("owner", torch.randperm(languages) % count)

    def shares(self, language: Tensor) -> Iterator[tuple[nn.Module, Tensor]]:
        """Each network that has sentences in the batch, and the rows of these."""
        owner = self.owner[language]
        for number, network in enumerate(self.networks):
            rows = (owner == number).nonzero()[:, 0]
            if len(rows):
                yield network, rows


class DividedLanguage(Divided):
    """q(z_l | x) by the network of the sentence's language."""

    def forward(self, tokens: TokenBatch, language: Tensor, embeddings: Embeddings) -> Gaussian:
        shares = list(self.shares(language))
        made = [network(take_tokens(tokens, rows), language[rows], embeddings) for network, rows in shares]
        back = torch.cat([rows for _, rows in shares]).argsort()
        return Gaussian(*(torch.cat(parts)[back] for parts in zip(*made, strict=True)))


class DividedDecoder(Divided):
    """-log p(x | z) by the decoder of the sentence's language, summed."""

    def forward(
        self, latent: Tensor, tokens: TokenBatch, language: Tensor, embeddings: Embeddings, negatives: int
    ) -> Tensor:
        parts = [
            network(latent[rows], take_tokens(tokens, rows), language[rows], embeddings, negatives)
            for network, rows in self.shares(language)
        ]
        return torch.stack(parts).sum()


def networks_wanted(setting: str, wanted: int, languages: int) -> int:
    """How many networks `objective.{setting}` asks for; 0 is one for each language."""
    if wanted > languages:
        raise InputError(
            f"objective.{setting}: {wanted} networks for {languages} languages; a language has one at most"
        )
    return wanted or languages
