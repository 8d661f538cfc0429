"""Encoders to and from the folders of sentence-transformers and Hugging Face, with the same vectors."""

from __future__ import annotations

import json
import shutil
from collections.abc import Callable
from pathlib import Path
from typing import Any, Literal, NamedTuple

import torch
from safetensors.torch import save_file

from encoder.checkpoint import (
    Checkpoint,
    CheckpointSettings,
    is_checkpoint,
    load_checkpoint,
    local_copy,
    save_checkpoint,
)
from encoder.encoder_card import add_section
from encoder.models import Bag, Pretrained, PretrainedSettings, Transformer
from encoder.models.heads import Head
from encoder.models.pretrained import local_folder
from encoder.models.static import is_static
from encoder.models.transformer import NORM_EPS
from encoder.standard_tokenizer import standard_tokenizer
from encoder.text import TextEncoder
from mining.errors import InputError
from mining.files import atomic_path

Format = Literal["sentence-transformers", "huggingface"]
_INNER = "0_Twinlode"  # the checkpoint inside a folder that needs twinlode to be loaded


class Exported(NamedTuple):
    """`standard` folders need nothing but their own library; the others need twinlode and `trust_remote_code=True`.

    One that `segments` words takes `encode(sentences, lang="zh")`, and cuts as English what has no `lang`.
    """

    folder: Path
    architecture: str
    standard: bool
    segments: bool

    def load_with(self, form: Format) -> str:
        """For the card: the call that loads it, and what that needs."""
        call = "AutoModel.from_pretrained" if form == "huggingface" else "SentenceTransformer"
        trust = "" if self.standard else ", trust_remote_code=True"
        needs = f"It is a {self.architecture} model." if self.standard else "It needs twinlode installed."
        words = ' It segments words: `encode(sentences, lang="zh")`.' if self.segments else ""
        return f'    {call}("path/of/this/folder"{trust})\n\n{needs}{words}'


class Imported(NamedTuple):
    folder: Path
    dim: int
    fingerprint: str


def export_encoder(source: str, form: Format, out: str | Path, *, trust_remote_code: bool = False) -> Exported:
    """Write a checkpoint as a folder that `SentenceTransformer(out)` or `AutoModel.from_pretrained(out)` loads."""
    path = local_copy(source)
    found = load_checkpoint(path, trust_remote_code=trust_remote_code)
    architecture, write = _writer(found, form, path)
    segments = isinstance(found.text, TextEncoder) and found.text.settings.segment
    exported = Exported(Path(out), architecture, standard=architecture != "twinlode", segments=segments)

    def write_with_card(folder: Path) -> None:
        write(folder)
        library = "transformers" if form == "huggingface" else form
        add_section(path, folder, "Export", exported.load_with(form), library=library)

    _write_folder(Path(out), write_with_card)
    return exported


def _writer(found: Checkpoint, form: Format, path: Path) -> tuple[str, Callable[[Path], None]]:
    model, text = found.model, found.text
    if isinstance(model, Pretrained):
        return model.backbone.config.model_type, lambda folder: model.write(folder, weights=True)
    assert isinstance(text, TextEncoder)
    segments = text.settings.segment
    if isinstance(model, Transformer) and model.settings.norm == "post" and not segments:
        return "bert", lambda folder: _write_bert(folder, model, text)
    if form == "huggingface":
        why = "segments words" if segments else f"is a {model.settings.kind} with no Hugging Face architecture"
        raise InputError(f"{path}: this encoder {why}; export it with --format sentence-transformers")
    # hashed features beside the tokens, whatever they are, have no place in a static embedding
    if isinstance(model, Bag) and [name for name, _ in model.named_parameters()] == ["tokens.weight"] and not segments:
        return "static embedding", lambda folder: _write_static(folder, model, text)
    return "twinlode", lambda folder: _write_twinlode(folder, path)


def _write_bert(folder: Path, model: Transformer, text: TextEncoder) -> None:
    """A post-norm layer with learned positions is BERT's, with swish for GELU and one token type."""
    from transformers import BertConfig, BertModel

    settings = model.settings
    config = BertConfig(
        vocab_size=model.tokens.num_embeddings,
        hidden_size=settings.dim,
        num_hidden_layers=settings.layers,
        num_attention_heads=settings.heads,
        intermediate_size=settings.ffn,
        hidden_act="silu",
        hidden_dropout_prob=settings.dropout,
        attention_probs_dropout_prob=settings.dropout,
        max_position_embeddings=settings.positions,
        type_vocab_size=1,
        layer_norm_eps=NORM_EPS,
        pad_token_id=text.subword.pad_id,
    )
    bert = BertModel(config)
    missing, unexpected = bert.load_state_dict(bert_weights(model), strict=False)
    assert not unexpected and all(name.startswith("pooler.") for name in missing)
    bert.save_pretrained(folder)
    limit = min(text.settings.max_tokens, settings.positions)
    standard_tokenizer(text.subword, text.settings.normalize, limit).save_pretrained(folder)
    Head.plain(settings.dim, settings.pooling).write(folder, weights=True)
    (folder / "sentence_bert_config.json").write_text(json.dumps({"max_seq_length": limit, "do_lower_case": False}))


def bert_weights(model: Transformer) -> dict[str, torch.Tensor]:
    """Our weights under BERT's names."""
    state = model.state_dict()
    names = {
        "embeddings.word_embeddings.weight": state["tokens.weight"],
        "embeddings.position_embeddings.weight": state["positions.weight"],
        "embeddings.token_type_embeddings.weight": torch.zeros(1, model.dim),
        "embeddings.LayerNorm.weight": state["norm.weight"],
        "embeddings.LayerNorm.bias": state["norm.bias"],
    }
    parts = {
        "attention.output": "attention.output.dense",
        "attention_norm": "attention.output.LayerNorm",
        "feed_forward.inputs": "intermediate.dense",
        "feed_forward.output": "output.dense",
        "feed_forward_norm": "output.LayerNorm",
    }
    for number in range(model.settings.layers):
        ours, theirs = f"layers.{number}", f"encoder.layer.{number}"
        for kind in ("weight", "bias"):
            projections = state[f"{ours}.attention.inputs.{kind}"].chunk(3)
            for name, projection in zip(("query", "key", "value"), projections, strict=True):
                names[f"{theirs}.attention.self.{name}.{kind}"] = projection
            for mine, other in parts.items():
                names[f"{theirs}.{other}.{kind}"] = state[f"{ours}.{mine}.{kind}"]
    return names


def _write_static(folder: Path, model: Bag, text: TextEncoder) -> None:
    backend = standard_tokenizer(text.subword, text.settings.normalize, text.settings.max_tokens).backend_tokenizer
    backend.enable_truncation(text.settings.max_tokens)
    backend.save(str(folder / "tokenizer.json"))
    save_file({"embedding.weight": model.tokens.weight.detach().float().contiguous()}, folder / "model.safetensors")
    _write_modules(folder, "", "sentence_transformers.models.StaticEmbedding")


def _write_twinlode(folder: Path, checkpoint: Path) -> None:
    shutil.copytree(checkpoint, folder / _INNER)
    _write_modules(folder, _INNER, "encoder.exchange_module.TwinlodeModule")


def _write_modules(folder: Path, path: str, kind: str) -> None:
    (folder / "modules.json").write_text(json.dumps([{"idx": 0, "name": "0", "path": path, "type": kind}], indent=2))


def import_encoder(source: str, out: str | Path, *, settings: PretrainedSettings | None = None) -> Imported:
    """Make a checkpoint of a sentence-transformers or Hugging Face folder or hub id, or of our own export."""
    _refuse_existing(Path(out))
    inner = Path(source) / _INNER
    if is_checkpoint(source):
        raise InputError(f"{source} is a twinlode checkpoint already; use it as it is")
    if is_checkpoint(inner):
        _write_folder(Path(out), lambda folder: shutil.copytree(inner, folder, dirs_exist_ok=True))
        found = load_checkpoint(out)
        return Imported(Path(out), found.model.dim, found.fingerprint)
    settings = settings or PretrainedSettings(source=source)
    if is_static(local_folder(settings.source)):
        raise InputError(f"{source}: static embeddings need no import; give the folder itself as the encoder")
    model = Pretrained.load(settings)
    fingerprint = save_checkpoint(out, model, CheckpointSettings(model=settings), None, {})
    return Imported(Path(out), model.dim, fingerprint)


def _write_folder(out: Path, write: Callable[[Path], Any]) -> None:
    """Fill a temporary sibling, then give it its name; what stands there already is never overwritten."""
    _refuse_existing(out)
    with atomic_path(out) as temporary:
        temporary.mkdir()
        write(temporary)


def _refuse_existing(out: Path) -> None:
    if out.exists() and (not out.is_dir() or any(out.iterdir())):
        raise InputError(f"{out} exists already; choose a new folder")
