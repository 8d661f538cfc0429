"""What a command leaves in its folder, so that two runs of it can be compared bit for bit.

The names of shards are those of an attempt, drawn at random; they are made equal. What says how long something took,
or when it was done, is left out.
"""

from __future__ import annotations

import hashlib
import json
import re
from pathlib import Path
from typing import Any

# Names of shards, and of token stores, which know their corpora by date.
_DRAWN = re.compile(rb"(?<=\d{5}-)[0-9a-f]{8}(?=\.\w)|(?:(?<=data-)|(?<=piece-))[0-9a-f]{16}\b")
_MINUTES = re.compile(rb"\| \d+\.\d \|\n")  # the last column of a loop's table
_VOLATILE = {"at", "seconds", "minutes", "began", "time", "pairs_per_second", "tokens_per_second"}
_TEMPORARY = (".tmp", ".old", ".arriving", "lock")


def outcome(folder: Path) -> dict[str, str]:
    """A hash for each file, and a mark for each folder, by name."""
    found: dict[str, str] = {}
    for path in sorted(folder.rglob("*")):
        name = _DRAWN.sub(b"DRAWN", str(path.relative_to(folder)).encode()).decode()
        found[name] = "folder" if path.is_dir() else hashlib.sha256(_stable(path)).hexdigest()[:16]
    return found


def leftovers(folder: Path) -> list[str]:
    """Temporary files and locks."""
    return [str(path.relative_to(folder)) for path in folder.rglob("*") if path.name.endswith(_TEMPORARY)]


def difference(expected: dict[str, str], found: dict[str, str]) -> str:
    """What differs, in a few words; nothing where nothing does."""
    missing, more = expected.keys() - found.keys(), found.keys() - expected.keys()
    other = [name for name in expected.keys() & found.keys() if expected[name] != found[name]]
    parts = {"missing": missing, "left behind": more, "different": other}
    return "; ".join(f"{what}: {', '.join(sorted(names)[:4])}" for what, names in parts.items() if names)


def _stable(path: Path) -> bytes:
    data = path.read_bytes()
    if path.suffix == ".json":
        data = json.dumps(_without_times(json.loads(data)), sort_keys=True).encode()
    elif path.suffix == ".jsonl":
        rows = [_without_times(json.loads(line)) for line in data.splitlines()]
        if path.name == "marks.jsonl":  # a mark that was not confirmed is set again
            rows = [{row["pair"]: row["mark"] for row in rows}]
        if path.name == "metrics.jsonl":  # a training tells of itself once a second, and of each evaluation
            rows = [row for row in rows if "held_out_p_at_1" in row]
        data = json.dumps(rows, sort_keys=True).encode()
    elif path.suffix == ".md":
        data = _MINUTES.sub(b"|\n", data)
    elif path.suffix == ".safetensors":
        data = _without_header_times(data)
    return _DRAWN.sub(b"DRAWN", data)


def _without_header_times(data: bytes) -> bytes:
    """A state of training says in its header how long it took."""
    size = 8 + int.from_bytes(data[:8], "little")
    header = json.loads(data[8:size])
    about = header.get("__metadata__", {})
    if "facts" in about:
        facts = _without_times(json.loads(about["facts"]))
        about["facts"] = facts | {"position": facts["position"][:2]}  # steps, pairs, seconds
    return json.dumps(header, sort_keys=True).encode() + data[size:]


def _without_times(value: Any) -> Any:
    if isinstance(value, dict):
        return {key: _without_times(part) for key, part in value.items() if key not in _VOLATILE}
    return [_without_times(part) for part in value] if isinstance(value, list) else value
