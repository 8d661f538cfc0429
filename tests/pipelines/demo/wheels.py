"""Wheels with small translation catalogs, made up here, for pip to find in a folder."""

from __future__ import annotations

import zipfile
from itertools import combinations, product
from pathlib import Path

import polib

DIGITS = {
    "one": "eins", "two": "zwei", "three": "drei", "four": "vier", "five": "fünf", "six": "sechs", "seven": "sieben",
    "eight": "acht",
}  # fmt: skip
THINGS = {
    "house": "Haus", "river": "Fluss", "letter": "Brief", "garden": "Garten", "window": "Fenster", "king": "König",
    "bread": "Brot", "cloud": "Wolke", "bridge": "Brücke", "tree": "Baum", "table": "Tisch", "horse": "Pferd",
}  # fmt: skip


def messages(verb: str, translated: str) -> list[tuple[str, str]]:
    """Sentences of six words about a thing and two numbers, no two of which have the same words."""
    return [
        (f"{verb} {a} or {b} {thing} now", f"{translated} jetzt {DIGITS[a]} oder {DIGITS[b]} {THINGS[thing]}")
        for (a, b), thing in product(combinations(DIGITS, 2), THINGS)
    ]


def catalog(pairs: list[tuple[str, str]], language: str = "de") -> polib.POFile:
    entries = polib.POFile()
    entries.metadata = {"Language": language, "Content-Type": "text/plain; charset=utf-8"}
    entries.extend(polib.POEntry(msgid=source, msgstr=target) for source, target in pairs)
    return entries


def write_wheel(folder: Path, name: str, version: str, files: dict[str, bytes]) -> Path:
    folder.mkdir(exist_ok=True)
    path = folder / f"{name}-{version}-py3-none-any.whl"
    about = f"{name}-{version}.dist-info"
    with zipfile.ZipFile(path, "w") as archive:
        archive.writestr(f"{about}/METADATA", f"Metadata-Version: 2.1\nName: {name}\nVersion: {version}\n")
        archive.writestr(f"{about}/WHEEL", "Wheel-Version: 1.0\nRoot-Is-Purelib: true\nTag: py3-none-any\n")
        archive.writestr(f"{about}/RECORD", "")
        for inside, data in files.items():
            archive.writestr(inside, data)
    return path
