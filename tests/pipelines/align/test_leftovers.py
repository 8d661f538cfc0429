"""Sentences that alignment leaves over, mined: clear pairs only, by the classifier of the encoder."""

from __future__ import annotations

from collections import Counter
from pathlib import Path

from pipelines.align.align_job import AlignResult
from pipelines.align.align_settings import AlignSettings, DocumentReadSettings, DocumentSideSettings
from pipelines.align.documents import Corpus, DocumentText
from pipelines.align.leftovers import mine_leftovers

ENGLISH = [
    "The harbour was closed for two days because of the storm.",
    "My sister has been teaching chemistry in Vienna since last autumn.",
    "Please keep your ticket until the end of the journey.",
    "The old mill burned down in the night from Friday to Saturday.",
]
GERMAN = [
    "Im Keller stehen noch drei Kisten mit Büchern, die niemand haben will.",
    "Der Hafen war wegen des Sturms zwei Tage lang geschlossen.",
    "Kinder unter sechs Jahren zahlen im Schwimmbad keinen Eintritt.",
    "Meine Schwester unterrichtet seit dem letzten Herbst Chemie in Wien.",
]


def _side(lang: str, lines: list[str]) -> tuple[DocumentSideSettings, Corpus]:
    document = DocumentText(f"{lang}.txt", lines, [10 * (place + 1) for place in range(len(lines))])
    settings = DocumentSideSettings(inputs=[f"{lang}.txt"], read=DocumentReadSettings(lang=lang))
    return settings, Corpus(lang, [document], [], Counter())


def test_of_few_leftovers_only_translations_are_mined(tmp_path: Path) -> None:
    """Among four sentences every margin is large: that tells no translation."""
    (source, english), (target, german) = _side("en", ENGLISH), _side("de", GERMAN)
    result = AlignResult(english, german, [], [])
    batches = mine_leftovers(AlignSettings(source=source, target=target), result, str(tmp_path))
    rows = [row for batch in batches for row in batch.to_pylist()]
    assert {(row["src_line"], row["tgt_line"]) for row in rows} == {(10, 20), (20, 40)}
    assert {(row["src_source"], row["tgt_source"]) for row in rows} == {("en.txt", "de.txt")}
    assert all(0.9 <= row["score"] <= 1 for row in rows)
