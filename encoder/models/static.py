"""Static embeddings of sentence-transformers and model2vec: the mean of token embeddings, with a fast tokenizer."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import NamedTuple

from safetensors import SafetensorError
from safetensors.torch import load_file
from tokenizers import Tokenizer
from torch import Tensor
from torch.nn import functional

from encoder.models.bag import Bag, BagSettings, table_of
from encoder.models.heads import read_modules
from encoder.models.pretrained import TokenizerText
from encoder.tokens import TokenBatch, Tokens
from mining.errors import InputError

_WEIGHTS, _TOKENIZER = "model.safetensors", "tokenizer.json"


class StaticText(TokenizerText):
    """Token ids without special tokens, truncated where the tokenizer's own file says."""

    def __init__(self, tokenizer: Tokenizer) -> None:
        super().__init__(tokenizer, None)
        tokenizer.no_padding()

    def encode(self, sentences: Sequence[str], lang: str | None = None) -> Tokens:
        encodings = self.tokenizer.encode_batch_fast(list(sentences), add_special_tokens=False)
        return Tokens.from_lists([encoding.ids for encoding in encodings])


class StaticBag(Bag):
    """A bag whose vectors may have length one."""

    normalize = False

    def forward(self, batch: TokenBatch) -> Tensor:
        vectors = super().forward(batch)
        return functional.normalize(vectors) if self.normalize else vectors


class Static(NamedTuple):
    model: StaticBag
    text: StaticText


def is_static(folder: Path) -> bool:
    """Whether the first module of a sentence-transformers folder is a static embedding."""
    modules = read_modules(folder)
    return bool(modules) and modules[0].kind == "StaticEmbedding"


def load_static(folder: Path) -> Static:
    """Model and text side of a folder that `is_static`."""
    first, *more = read_modules(folder)
    after = [module.kind for module in more]
    if after not in ([], ["Normalize"]):
        raise InputError(f"{folder}: after static embeddings only Normalize is supported, not {', '.join(after)}")
    inside = folder / first.path
    try:
        state = load_file(inside / _WEIGHTS)
        tokenizer = Tokenizer.from_file(str(inside / _TOKENIZER))
    except (OSError, SafetensorError) as error:
        raise InputError(f"{inside}: {_WEIGHTS} cannot be read ({error})") from None
    except Exception as error:  # tokenizers raises nothing more special
        raise InputError(f"{inside / _TOKENIZER}: cannot be read ({error})") from None
    weight = _token_embeddings(state)
    if weight is None:
        raise InputError(f"{inside / _WEIGHTS} has no embedding.weight or embeddings; it has {', '.join(state)}")
    if len(weight) < tokenizer.get_vocab_size():
        raise InputError(
            f"{inside}: {tokenizer.get_vocab_size()} tokens, but only {len(weight)} embeddings; copy the folder again"
        )
    model = StaticBag(BagSettings(dim=weight.shape[1]), 1)
    model.tokens = table_of(weight)
    model.normalize = after == ["Normalize"]
    return Static(model, StaticText(tokenizer))


def _token_embeddings(state: dict[str, Tensor]) -> Tensor | None:
    """A row for each token id; model2vec may keep fewer rows with a `mapping`, and `weights` by token."""
    if "embedding.weight" in state:
        return state["embedding.weight"].float()
    if "embeddings" not in state:
        return None
    rows = state["embeddings"].float()
    rows = rows[state["mapping"].long()] if "mapping" in state else rows
    return rows * state["weights"].float()[:, None] if "weights" in state else rows
