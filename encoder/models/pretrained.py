"""Any Hugging Face encoder or sentence-transformers folder, with its own tokenizer and pooling."""

from __future__ import annotations

import json
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import Any, Literal

import torch
from pydantic import BaseModel, ConfigDict, Field
from torch import Tensor, nn

from encoder.models.heads import Head, backbone_folder, read_json
from encoder.tokens import TokenBatch, Tokens
from mining.errors import InputError

_NO_LIMIT = 10**9  # tokenizers without a length limit report an absurdly large one
_HUB_FILES = ["*.json", "*.txt", "*.model", "*.py", "*.safetensors", "*_Dense/*.bin"]
_DROPOUTS = ("dropout_rate", "hidden_dropout_prob", "attention_probs_dropout_prob", "dropout", "attention_dropout")
_SENTENCE_CONFIGS = [
    f"sentence_{kind}_config.json"
    for kind in ("bert", "roberta", "distilbert", "camembert", "albert", "xlm-roberta", "xlnet")
]


class PretrainedSettings(BaseModel):
    """`pooling: folder` is what sentence-transformers does: the folder's own modules, the mean where it has none.

    `first-last`, with which mSimCSE compares itself, is the mean of the tokens' embeddings and last states: in the code
    that it builds on, SimCSE's, the first layer is that of the embeddings.
    """

    model_config = ConfigDict(extra="forbid", frozen=True)

    kind: Literal["pretrained"] = "pretrained"
    source: str = Field(description="A local folder or a Hugging Face hub id.")
    pooling: Literal["folder", "mean", "cls", "first-last"] = Field(
        "folder", description="How token vectors become one; the model's own when not given."
    )
    max_tokens: int | None = Field(None, ge=1, description="Truncate here; by default where the folder says.")
    weights: bool = Field(True, description="False: its architecture and vocabulary, with random weights.")
    layers: int | None = Field(None, ge=1, description="Keep its first layers; all when not given.")
    dropout: float | None = Field(None, ge=0, lt=1, description="Share of values left out in training; as it comes.")
    projection: bool = Field(False, description="A linear layer of the same width after pooling.")
    trust_remote_code: bool = Field(False, description="Run Python code that comes with the model.")


class TokenizerText:
    """A Hugging Face tokenizer behind the interface of `encoder.text.TextEncoder`; languages do not matter to it."""

    def __init__(self, tokenizer: Any, max_tokens: int | None) -> None:
        self.tokenizer = tokenizer
        self.max_tokens = max_tokens

    def encode(self, sentences: Sequence[str], lang: str | None = None) -> Tokens:
        """Ids with the model's special tokens."""
        if not len(sentences):
            return Tokens.from_lists([])
        if not self.tokenizer.is_fast:
            limit = {"truncation": True, "max_length": self.max_tokens} if self.max_tokens else {}
            return Tokens.from_lists(self.tokenizer(list(sentences), **limit)["input_ids"])
        backend = self.tokenizer.backend_tokenizer
        backend.no_padding()
        if self.max_tokens:
            backend.enable_truncation(self.max_tokens)
        else:
            backend.no_truncation()
        return Tokens.from_lists([encoding.ids for encoding in backend.encode_batch_fast(list(sentences))])


class Pretrained(nn.Module):
    """A Hugging Face backbone and a head; equally long sentences run without an attention mask, which is faster."""

    def __init__(self, settings: PretrainedSettings, backbone: Any, head: Head, text: TokenizerText) -> None:
        super().__init__()
        self.settings = settings
        self.backbone = backbone
        self.head = head
        self.text = text
        self.dim = head.dim
        self.max_tokens = text.max_tokens
        self.pad_id: int = text.tokenizer.pad_token_id or 0

    def forward(self, batch: TokenBatch) -> Tensor:
        count = len(batch.offsets) - 1
        if not len(batch.ids):
            return torch.zeros(count, self.dim, device=batch.ids.device)
        lengths = batch.offsets.diff()
        mask: Tensor | None = None
        if len(batch.ids) == count * int(lengths.max()):
            ids = batch.ids.view(count, -1)
        else:
            ids, mask = batch.padded(self.pad_id)
        vectors = self.head(self._states(ids, mask), mask)  # (batch, dim)
        return vectors if mask is None else torch.where(lengths[:, None] > 0, vectors, 0.0)

    def _states(self, ids: Tensor, mask: Tensor | None) -> Tensor:
        """(batch, length, width) what is pooled."""
        both = self.settings.pooling == "first-last"
        whole = None if mask is None else mask.long()
        made = self.backbone(input_ids=ids, attention_mask=whole, output_hidden_states=both)
        last: Tensor = made.last_hidden_state
        return (made.hidden_states[0] + last) / 2 if both else last

    @classmethod
    def load(cls, settings: PretrainedSettings) -> Pretrained:
        """From a local folder or the hub, weights included."""
        from transformers import AutoModel

        folder = local_folder(settings.source)
        return cls._assemble(settings, folder, _backbone(settings, folder, AutoModel), weights=True)

    def whole(self) -> Any:
        """The model with its decoder and output layer, if this is the encoder of one.

        With `weights: false` its encoder has random weights of its own: what begins at random begins apart.
        """
        from transformers import AutoModelForSeq2SeqLM

        try:
            model = _backbone(self.settings, local_folder(self.settings.source), AutoModelForSeq2SeqLM)
        except InputError:
            return None
        if self.settings.weights:
            model.get_encoder().load_state_dict(self.backbone.state_dict())
        return model

    @classmethod
    def empty(cls, settings: PretrainedSettings, folder: Path) -> Pretrained:
        """Architecture and tokenizer of a folder written by `write`, with weights still to be loaded."""
        from transformers import AutoConfig, AutoModel

        try:
            config = AutoConfig.from_pretrained(folder, trust_remote_code=settings.trust_remote_code)
            backbone = AutoModel.from_config(config, trust_remote_code=settings.trust_remote_code)
        except (OSError, ValueError) as error:
            raise InputError(f"{folder}: not a model that transformers can load ({_reason(error)})") from None
        return cls._assemble(settings, folder, backbone.float(), weights=False)

    @classmethod
    def _assemble(cls, settings: PretrainedSettings, folder: Path, backbone: Any, *, weights: bool) -> Pretrained:
        from transformers import AutoTokenizer

        if backbone.config.is_encoder_decoder:
            backbone = backbone.get_encoder()
        inner = backbone_folder(folder)
        try:
            with quiet_transformers():
                tokenizer = AutoTokenizer.from_pretrained(inner, trust_remote_code=settings.trust_remote_code)
        except (OSError, ValueError) as error:
            raise InputError(f"{settings.source}: its tokenizer cannot be loaded ({_reason(error)})") from None
        if _sentence_config(inner).get("do_lower_case"):
            _lower_case(tokenizer)
        has_modules = (folder / "modules.json").exists()
        if settings.pooling == "folder" and has_modules:
            head = Head.read(folder, weights=weights)
            extend = settings.projection and weights  # else it is one of the modules that were written
        else:
            head = Head.plain(backbone.config.hidden_size, "cls" if settings.pooling == "cls" else "mean")
            extend = settings.projection
        if extend:
            head = head.projected()
        limit = settings.max_tokens or _token_limit(inner, backbone, tokenizer)
        return cls(settings, backbone, head, TokenizerText(tokenizer, limit))

    def write(self, folder: Path, *, weights: bool) -> None:
        """A sentence-transformers folder; without weights it is what a checkpoint needs to rebuild the network."""
        if weights and self.settings.pooling == "first-last":
            raise InputError("a sentence-transformers folder pools the last layer alone; pooling first-last has two")
        folder.mkdir(parents=True, exist_ok=True)
        if weights:
            self.backbone.save_pretrained(folder)
        else:
            self.backbone.config.save_pretrained(folder)
        self.text.tokenizer.save_pretrained(folder)
        self.head.write(folder, weights=weights)
        if self.max_tokens:
            config = {"max_seq_length": self.max_tokens, "do_lower_case": False}
            (folder / "sentence_bert_config.json").write_text(json.dumps(config, indent=2))


def _backbone(settings: PretrainedSettings, folder: Path, kind: Any) -> Any:
    """The model as `kind` of transformers makes it, pretrained or with random weights."""
    from transformers import AutoConfig

    inner, trusted = backbone_folder(folder), settings.trust_remote_code
    try:
        config = AutoConfig.from_pretrained(inner, trust_remote_code=trusted)
        _change(config, settings)
        if not settings.weights:
            return kind.from_config(config, trust_remote_code=trusted).float()
        with quiet_transformers():
            return kind.from_pretrained(inner, config=config, trust_remote_code=trusted, dtype=torch.float32)
    except (OSError, ValueError) as error:
        raise InputError(f"{settings.source}: not a model that transformers can load ({_reason(error)})") from None


def _change(config: Any, settings: PretrainedSettings) -> None:
    if settings.layers is not None:
        config.num_hidden_layers = settings.layers
        if getattr(config, "num_decoder_layers", None) is not None:
            config.num_decoder_layers = settings.layers
    if settings.dropout is not None:
        for name in _DROPOUTS:
            if hasattr(config, name):
                setattr(config, name, settings.dropout)


@contextmanager
def quiet_transformers() -> Iterator[None]:
    """Without a bar, a report of weights that are of no use here (a head for masked words), and a warning about regular
    expressions of Mistral's tokenizer that any local folder gets which does not say its version of transformers."""
    from transformers.utils import logging

    level, bar = logging.get_verbosity(), logging.is_progress_bar_enabled()
    logging.set_verbosity_error()
    logging.disable_progress_bar()
    try:
        yield
    finally:
        logging.set_verbosity(level)
        if bar:
            logging.enable_progress_bar()


def local_folder(source: str) -> Path:
    """`source` itself when it is a folder, else a snapshot of the hub repository; safetensors are preferred."""
    if Path(source).is_dir():
        return Path(source)
    from huggingface_hub import snapshot_download
    from huggingface_hub.errors import HFValidationError

    try:
        folder = Path(snapshot_download(source, allow_patterns=_HUB_FILES))
        if not list(backbone_folder(folder).glob("*.safetensors")):
            folder = Path(snapshot_download(source, allow_patterns=[*_HUB_FILES, "*.bin"]))
    except (OSError, HFValidationError, ValueError) as error:
        raise InputError(
            f"{source}: neither a local folder nor a model that can be had from the Hugging Face hub ({_reason(error)})"
        ) from None
    return folder


def _token_limit(folder: Path, backbone: Any, tokenizer: Any) -> int | None:
    """As sentence-transformers: the folder's own limit, else what tokenizer and positions allow."""
    limit = _sentence_config(folder).get("max_seq_length")
    if limit:
        return int(limit)
    limits = [tokenizer.model_max_length]
    positions = getattr(backbone.config, "max_position_embeddings", None)
    if positions and positions > 0:
        # RoBERTa and its kin count positions from padding_idx + 1.
        padding = getattr(getattr(backbone, "embeddings", None), "padding_idx", None)
        limits.append(positions - (padding + 1 if padding is not None else 0))
    smallest = min(limits)
    return int(smallest) if smallest < _NO_LIMIT else None


def _sentence_config(folder: Path) -> dict[str, Any]:
    found = [folder / name for name in _SENTENCE_CONFIGS if (folder / name).exists()]
    return read_json(found[0]) if found else {}


def _lower_case(tokenizer: Any) -> None:
    from tokenizers import normalizers

    present = tokenizer.backend_tokenizer.normalizer
    lower = normalizers.Lowercase()
    tokenizer.backend_tokenizer.normalizer = normalizers.Sequence([lower, present] if present else [lower])


def _reason(error: Exception) -> str:
    """The first line of what transformers says, or how to allow the code that it did not run."""
    text = str(error).strip()
    if "trust_remote_code" in text:
        return "it brings Python code; if you trust it, load it with trust_remote_code=True"
    return text.split("\n")[0].rstrip(".")
