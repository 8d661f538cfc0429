"""Small encoders that tests make for themselves."""

from __future__ import annotations

import random
from functools import cache
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import torch

from encoder.checkpoint import save_checkpoint
from encoder.models import build_model
from encoder.subword import Subword, SubwordSettings, train_subword
from encoder.text import TextSettings

WORDS = [
    "the",
    "a",
    "cat",
    "dog",
    "house",
    "river",
    "sees",
    "finds",
    "old",
    "new",
    "red",
    "blue",
    "Straße",
    "Οδός",
    "größer",
    "naïve",
    "東京",
    "Москва",
    "and",
    "or",
    "not",
    "12",
    "3.5",
    ".",
]


def sentences(count: int, seed: int = 0, longest: int = 30) -> list[str]:
    draw = random.Random(seed)
    return [" ".join(draw.choices(WORDS, k=draw.randint(1, longest))) for _ in range(count)]


@cache
def subword_bytes(kind: str = "bpe") -> bytes:
    import tempfile

    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "spm.model"
        settings = SubwordSettings(vocabulary=80, model=kind, character_coverage=1.0)
        lowered = [sentence.lower() for sentence in sentences(300, seed=9)]
        train_subword({"en": lowered, "de": lowered}, settings, path)
        return path.read_bytes()


def write_checkpoint(
    folder: Path, model_settings: Any, *, kind: str = "bpe", text: TextSettings | None = None, seed: int = 0
) -> Path:
    """A checkpoint with random weights."""
    subword_path = folder.with_suffix(".spm")
    subword_path.parent.mkdir(parents=True, exist_ok=True)
    subword_path.write_bytes(subword_bytes(kind))
    torch.manual_seed(seed)
    model = build_model(model_settings, Subword(subword_bytes(kind)).vocabulary)
    settings = SimpleNamespace(model=model_settings, text=text or TextSettings(segment=False))
    save_checkpoint(folder, model, settings, subword_path, {"p@1": 0.5})
    return folder


def write_tiny_xlm_roberta(folder: Path) -> Path:
    """XLM-RoBERTa with random weights and a tokenizer of whole words."""
    from tokenizers import Tokenizer, models, pre_tokenizers, processors
    from transformers import PreTrainedTokenizerFast, XLMRobertaConfig, XLMRobertaModel

    vocabulary = {token: i for i, token in enumerate(["<s>", "<pad>", "</s>", "<unk>", *WORDS])}
    tokenizer = Tokenizer(models.WordLevel(vocabulary, unk_token="<unk>"))
    tokenizer.pre_tokenizer = pre_tokenizers.WhitespaceSplit()
    tokenizer.post_processor = processors.TemplateProcessing(
        single="<s> $A </s>", special_tokens=[("<s>", 0), ("</s>", 2)]
    )
    fast = PreTrainedTokenizerFast(
        tokenizer_object=tokenizer, bos_token="<s>", eos_token="</s>", pad_token="<pad>", unk_token="<unk>"
    )
    torch.manual_seed(1)
    config = XLMRobertaConfig(
        vocab_size=len(vocabulary),
        hidden_size=32,
        num_hidden_layers=2,
        num_attention_heads=4,
        intermediate_size=64,
        max_position_embeddings=26,
        pad_token_id=1,
    )
    XLMRobertaModel(config).save_pretrained(folder)
    fast.save_pretrained(folder)
    return folder


def write_tiny_mt5(folder: Path) -> Path:
    """mT5 with random weights, an encoder and a decoder of two layers, and the same tokenizer."""
    from transformers import AutoTokenizer, MT5Config, MT5ForConditionalGeneration

    tokenizer = AutoTokenizer.from_pretrained(write_tiny_xlm_roberta(folder / "tokenizer"))
    torch.manual_seed(2)
    config = MT5Config(
        vocab_size=len(tokenizer), d_model=32, d_kv=8, d_ff=64, num_layers=2, num_heads=4, pad_token_id=1
    )
    MT5ForConditionalGeneration(config).save_pretrained(folder)
    tokenizer.save_pretrained(folder)
    return folder
