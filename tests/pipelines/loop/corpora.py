"""A world of three made-up languages that translate word by word: seed bitext, monolingual text, held-out tests."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import yaml

LANGUAGES = ("en", "de", "fr")
WORDS = 90


def words() -> dict[str, list[str]]:
    """The word for each of the meanings in each language."""
    rng = np.random.default_rng(0)
    made = {}
    for lang, letters in zip(LANGUAGES, ("abcdefgh", "ijklmnop", "qrstuvwx"), strict=True):
        drawn: dict[str, None] = {}
        while len(drawn) < WORDS:
            drawn["".join(rng.choice(list(letters), 5))] = None
        made[lang] = list(drawn)
    return made


class World:
    """Draws sentences; each meaning is drawn once, so nothing repeats by chance."""

    def __init__(self, seed: int) -> None:
        self._rng, self._words, self._seen = np.random.default_rng(seed), words(), set[tuple[int, ...]]()

    def meaning(self) -> list[int]:
        while True:
            drawn = self._rng.integers(0, WORDS, self._rng.integers(5, 10)).tolist()
            if tuple(drawn) not in self._seen:
                self._seen.add(tuple(drawn))
                return drawn

    def say(self, meaning: list[int], lang: str) -> str:
        return " ".join(self._words[lang][word] for word in meaning)

    def shuffled(self, items: list[Any]) -> list[Any]:
        return [items[place] for place in self._rng.permutation(len(items))]


def write_bucc(folder: Path, world: World, common: int, own: int) -> None:
    """Two shuffled sides in BUCC's form, of which `common` sentences correspond."""
    pair = folder.name
    folder.mkdir(parents=True)
    shared = [world.meaning() for _ in range(common)]
    ids: list[dict[int, str]] = []
    for lang in pair.split("-"):
        lines = world.shuffled([*enumerate(shared), *((-1, world.meaning()) for _ in range(own))])
        named = [(f"{lang}-{place}", number, meaning) for place, (number, meaning) in enumerate(lines)]
        text = "".join(f"{name}\t{world.say(meaning, lang)}\n" for name, _, meaning in named)
        (folder / f"{pair}.{lang}").write_text(text)
        ids.append({number: name for name, number, _ in named})
    (folder / f"{pair}.gold").write_text("".join(f"{ids[0][n]}\t{ids[1][n]}\n" for n in range(common)))


def write_world(folder: Path, seed: int = 0) -> dict[str, Any]:
    """All files, and the configuration of a loop over them."""
    world = World(seed)
    for lang in ("de", "fr"):
        known = [world.meaning() for _ in range(230)]
        lines = (f"{world.say(meaning, lang)}\t{world.say(meaning, 'en')}\n" for meaning in known)
        (folder / f"{lang}-en.tsv").write_text("".join(lines))
        write_bucc(folder / "mined" / f"{lang}-en", world, common=60, own=60)
        write_bucc(folder / "test" / f"{lang}-en", world, common=25, own=25)
    shared = [world.meaning() for _ in range(40)]  # said in all three languages: groups
    for lang in LANGUAGES:
        lines = [f"{lang}-{n}\t{world.say(meaning, lang)}\n" for n, meaning in enumerate(world.shuffled(shared))]
        (folder / f"shared.{lang}").write_text("".join(lines))
    return configuration(folder)


def configuration(folder: Path) -> dict[str, Any]:
    read = {"format": "bucc"}
    text = {
        lang: {
            "inputs": [str(folder / "mined" / "*" / f"*.{lang}"), str(folder / f"shared.{lang}")],
            "read": read,
            "lang_filter": "assume",
        }
        for lang in LANGUAGES
    }
    return {
        "seed": {"corpora": [{"path": str(folder / "*-en.tsv")}], "pairs": 240, "probes": 80},
        "text": text,
        "pairs": ["de-en", "fr-en"],
        "train": {
            "subword": {"vocabulary": 150, "character_coverage": 1.0},
            "model": {"kind": "bag", "dim": 16},
            "objective": {"kind": "ems", "xtr": 0, "projection_dim": 0, "temperature": 0.1},
            "optimizer": {"kind": "adam", "lr": 0.02, "weight_decay": 0},
            "batch": {"pairs": 32},
            "evaluation": {"pairs": 0},
            "save_every": 30,
        },
        "updates": 120,
        "rounds": [{"precision": 0.7, "updates": 120}],
        "max_rounds": 2,
        "patience": 3,
        "mining": {"filters": dict.fromkeys(filter_names()), "rows_per_shard": 100},
        "data": str(folder),
        "benchmarks": [{"benchmark": "bucc", "data": "test", "retrievals": ["max"], "margins": ["ratio"]}],
        "columns": [
            {
                "title": "F1",
                "benchmark": "bucc",
                "score": "mean of 2: max ratio F1, threshold from the same gold (flatters)",
            }
        ],
        "gold": [
            {"pair": pair, **{name: str(folder / "mined" / pair / f"{pair}.{end}") for name, end in ends.items()}}
            for pair, ends in (
                ("de-en", {"source": "de", "target": "en", "gold": "gold"}),
                ("fr-en", {"source": "fr", "target": "en", "gold": "gold"}),
            )
        ],
    }


def one_pair(tree: dict[str, Any]) -> dict[str, Any]:
    """The configuration with German and English alone."""
    score = tree["columns"][0]["score"].replace("mean of 2:", "de-en")
    return tree | {"pairs": ["de-en"], "gold": tree["gold"][:1], "columns": [tree["columns"][0] | {"score": score}]}


def filter_names() -> list[str]:
    from mining.filters import FilterSettings

    return list(FilterSettings.model_fields)


def write_configuration(folder: Path, tree: dict[str, Any]) -> Path:
    path = folder / "loop.yaml"
    path.write_text(yaml.safe_dump(tree, sort_keys=False))
    return path
