"""Sentences and a teacher's vectors of what they mean, for `teacher:` of configs/ems-small.yaml.

    pip install --target FOLDER onnxruntime onnxruntime-extensions onnx
    PYTHONPATH=FOLDER python -m tests.benchmarks.teacher_text MODEL runs/package-text runs/teacher

English sentences of the training text have vectors of multilingual USE v3 (../shared/tools/use_vectors.py, which
fetches it into MODEL, 45 MB); some of their translations, in any language, get the vector of the English one.
"""

from __future__ import annotations

import argparse
import json
import lzma
import random
import runpy
from collections import defaultdict
from collections.abc import Iterator
from pathlib import Path

import numpy as np

SHARED = Path("../shared")
_TRANSLATIONS = 3  # of one English sentence
_FEWEST = 50  # sentences of a language
_WORDS = range(4, 41)
_GROUPS = {
    "europarl7": 27000, "pydocs": 9000, "lohelp": 9000, "quran": 5000, "freeciv": 1600, "widelands": 2500,
    "freebsd": 4500, "wesnoth": 12000, "mediawiki": 9000, "catalogs": 18000,
}  # fmt: skip
_PAIRS = {"tatoeba": 5400, "mdn": 3600, "k8s": 3600}  # of each language
Groups = dict[str, dict[str, str]]  # translations by the English sentence


def groups_of(path: Path, most: int, rng: random.Random) -> Iterator[tuple[str, dict[str, str]]]:
    with lzma.open(path, "rt", encoding="utf-8") as lines:
        rows = [json.loads(line) for line in lines]
    rows = [row for row in rows if len(row.get("en", "").split()) in _WORDS and len(row) > 1]
    for row in rng.sample(rows, min(most, len(rows))):
        yield row.pop("en"), row


def pairs_of(path: Path, most: int, rng: random.Random) -> Iterator[tuple[str, dict[str, str]]]:
    langs = path.name.split(".")[0].split("-")
    if "en" not in langs:
        return
    with lzma.open(path, "rt", encoding="utf-8") as lines:
        rows = [line.rstrip("\n").split("\t") for line in lines]
    here, there = langs.index("en"), 1 - langs.index("en")
    lang = "sk" if path.name == "en-sl.tsv.xz" else langs[there]  # see configs/ems-small.yaml
    for row in rng.sample(rows, min(most, len(rows))):
        if len(row[here].split()) < _WORDS.stop:
            yield row[here], {lang: row[there]}


def sentences(package_text: Path, rng: random.Random) -> Groups:
    found: Groups = defaultdict(dict)
    train = SHARED / "data" / "train"
    for name, most in _GROUPS.items():
        own = package_text / f"{name}.jsonl.xz"
        for english, row in groups_of(own if own.exists() else train / "nway" / own.name, most, rng):
            found[english] |= row
    for name, most in _PAIRS.items():
        for path in sorted((train / name).glob("*.tsv.xz")):
            for english, row in pairs_of(path, most, rng):
                found[english] |= row
    return found


def write(found: Groups, vectors: np.ndarray, out: Path, rng: random.Random) -> None:
    """`{lang}.txt` and, line by line, `{lang}.npy`."""
    by_lang: dict[str, list[tuple[int, str]]] = defaultdict(list)
    for row, (english, others) in enumerate(found.items()):
        by_lang["en"].append((row, english))
        for lang in rng.sample(sorted(others), min(_TRANSLATIONS, len(others))):
            by_lang[lang].append((row, others[lang]))
    out.mkdir(parents=True, exist_ok=True)
    for lang, rows in by_lang.items():
        if len(rows) >= _FEWEST:
            (out / f"{lang}.txt").write_text("".join(f"{' '.join(text.split())}\n" for _, text in rows), "utf-8")
            np.save(out / f"{lang}.npy", vectors[[row for row, _ in rows]])


def main() -> None:
    parser = argparse.ArgumentParser()
    parser.add_argument("model", type=Path)
    parser.add_argument("package_text", type=Path)
    parser.add_argument("out", type=Path)
    options = parser.parse_args()
    rng = random.Random(0)
    found = sentences(options.package_text, rng)
    use = runpy.run_path(str(SHARED / "tools" / "use_vectors.py"))
    vectors = use["encode"](use["session"](options.model, 1), list(found)).astype(np.float16)
    write(found, vectors, options.out, rng)
    print(f"{len(found):,} English sentences")


if __name__ == "__main__":
    main()
