"""Ways to spoil a file: by its bytes, by its lines, and by the tree of values in it."""

from __future__ import annotations

import codecs
import copy
import gzip
import json
import lzma
import random
from collections.abc import Callable
from typing import Any

import yaml
import zstandard

Mutation = Callable[[bytes, random.Random], bytes]

_DEPTH = 20_000
VALUES: list[Any] = [
    None, True, -1, 0, 10**30, -(10**30), 1e308, float("nan"), float("inf"), "", " ", "\0", "\ud800", "\U0001f4a5",
    "a" * 5_000, "../../etc/passwd", "/etc/passwd", "%s%n", "'; --", [], {}, [[]], {"a": {}}, [None], "nan", "null",
    "1e999", "memory://x", "http://[", "file:///", "\n\r", "*", "[a", "~", "é" * 300, "true", "0x10", "1_000", "\xff",
]  # fmt: skip
ENTITIES = (
    b'<?xml version="1.0"?><!DOCTYPE b [<!ENTITY a "ha"><!ENTITY b "&a;&a;&a;&a;&a;&a;&a;&a;&a;&a;">'
    b'<!ENTITY c "&b;&b;&b;&b;&b;&b;&b;&b;&b;&b;"><!ENTITY d "&c;&c;&c;&c;&c;&c;&c;&c;&c;&c;">'
    b'<!ENTITY e "&d;&d;&d;&d;&d;&d;&d;&d;&d;&d;"><!ENTITY f "&e;&e;&e;&e;&e;&e;&e;&e;&e;&e;">'
    b'<!ENTITY x SYSTEM "file:///etc/passwd">]>'
)


def flip_bits(data: bytes, draw: random.Random) -> bytes:
    changed = bytearray(data or b"\0")
    for _ in range(draw.choice([1, 1, 2, 8, 64])):
        changed[draw.randrange(len(changed))] ^= 1 << draw.randrange(8)
    return bytes(changed)


def cut_off(data: bytes, draw: random.Random) -> bytes:
    return data[: draw.randrange(len(data) + 1)]


def cut_out(data: bytes, draw: random.Random) -> bytes:
    first, last = sorted(draw.randrange(len(data) + 1) for _ in range(2))
    return data[:first] + data[last:]


def repeat(data: bytes, draw: random.Random) -> bytes:
    first, last = sorted(draw.randrange(len(data) + 1) for _ in range(2))
    return data[:last] + data[first:last] * draw.choice([1, 1, 3, 50]) + data[last:]


def insert(data: bytes, draw: random.Random) -> bytes:
    pieces = [
        b"\0" * 7, codecs.BOM_UTF8, codecs.BOM_UTF16_LE, b"\xed\xa0\x80", b"\xff\xfe\xfa", b"\r\n", b"\r", b"\t\t\t",
        b"\n\n", "\u2028".encode(), "\u0085".encode(), b"\x1a", b"\\ud800", b"&x;", b"<!--", b"<![CDATA[", b'"', b"{",
        b"\x0c",
        draw.randbytes(draw.choice([1, 16, 300])),
    ]  # fmt: skip
    place = draw.choice([0, len(data), draw.randrange(len(data) + 1)])
    return data[:place] + draw.choice(pieces) + data[place:]


def replace_all(data: bytes, draw: random.Random) -> bytes:
    return draw.choice(
        [
            b"",
            b"\0" * 4096,
            b"\n",
            b"\xff" * 100,
            draw.randbytes(2000),
            data.decode("latin-1").encode("utf-16"),
            b"[" * _DEPTH,
        ]
    )


def mix_line_ends(data: bytes, draw: random.Random) -> bytes:
    lines = data.split(b"\n")
    return b"".join(line + draw.choice([b"\n", b"\r\n", b"\r", b"\n\n"]) for line in lines)


def shuffle_lines(data: bytes, draw: random.Random) -> bytes:
    """Some twice, some lost: identifiers repeat, columns and rows go missing."""
    lines = data.split(b"\n")
    return b"\n".join(draw.choices(lines, k=len(lines)))


def spoil_numbers(data: bytes, draw: random.Random) -> bytes:
    """Lengths and counts that lie."""
    found = [place for place in range(len(data)) if data[place : place + 1].isdigit()]
    if not found:
        return flip_bits(data, draw)
    place = draw.choice(found)
    return data[:place] + draw.choice([b"-", b"9" * 12, b"", b"0", b"1e9", b"x"]) + data[place + draw.randrange(2) :]


def gigantic_line(data: bytes, draw: random.Random) -> bytes:
    place = draw.randrange(len(data) + 1)
    return data[:place] + draw.choice([b"a", b"a ", b"\t", b"<", b'"', "字".encode()]) * 400_000 + data[place:]


def bomb(data: bytes, draw: random.Random) -> bytes:
    """Entities, nesting and attributes without end, for whatever reads markup."""
    tag = draw.choice([b"div", b"tu", b"seg", b"p", b"table"])
    nested = b"<" + tag + b">"
    return draw.choice(
        [
            ENTITIES + data.replace(b"<?xml", b"<?was").replace(b"seg>", b"seg>&f;&x;"),
            data.replace(b"<body>", b"<body>" + nested * _DEPTH, 1) if b"<body>" in data else nested * _DEPTH + data,
            b"<p " + b"a=1 " * 60_000 + b">" + data,
            data + b"<" * 200_000,
        ]
    )


def replace_node(data: bytes, draw: random.Random) -> bytes:
    """A value of another type somewhere in a JSON or YAML tree; of JSON lines, in one of them."""
    try:
        tree, dump = json.loads(data), lambda found: json.dumps(found).encode()
    except ValueError:
        lines = data.split(b"\n")
        number = draw.randrange(len(lines))
        try:
            if len(lines) > 1 and lines[number].startswith(b"{"):
                lines[number] = replace_node(lines[number], draw)
                return b"\n".join(lines)
            tree, dump = yaml.safe_load(data), lambda found: yaml.safe_dump(found, allow_unicode=True).encode()
        except (yaml.YAMLError, ValueError, RecursionError):
            return flip_bits(data, draw)
    if not isinstance(tree, dict | list):
        return insert(data, draw)
    tree = copy.deepcopy(tree)
    _spoil(tree, draw)
    try:
        return dump(tree)
    except (yaml.YAMLError, UnicodeEncodeError):
        return json.dumps(tree, default=str).encode("utf-8", "surrogatepass")


def _spoil(tree: Any, draw: random.Random) -> None:
    keys = list(tree) if isinstance(tree, dict) else list(range(len(tree)))
    if not keys:
        return
    key = draw.choice(keys)
    if isinstance(tree[key], dict | list) and tree[key] and draw.random() < 0.7:
        _spoil(tree[key], draw)
    elif draw.random() < 0.15:
        del tree[key]
    elif isinstance(tree, dict) and draw.random() < 0.15:
        tree[draw.choice(["", "x", str(key).upper(), f"{key}s"])] = tree[key]
    else:
        tree[key] = draw.choice(VALUES)


COMPRESSIONS: dict[str, Callable[[bytes], bytes]] = {
    "": bytes,
    ".gz": lambda data: gzip.compress(data, mtime=0),
    ".xz": lzma.compress,
    ".zst": zstandard.compress,
}
BYTES: list[Mutation] = [flip_bits, cut_off, cut_out, repeat, insert, replace_all]
LINES: list[Mutation] = [*BYTES, mix_line_ends, shuffle_lines, spoil_numbers, gigantic_line]
MARKUP: list[Mutation] = [*LINES, bomb, bomb]
TREE: list[Mutation] = [*BYTES, replace_node, replace_node, replace_node, replace_node, spoil_numbers]
