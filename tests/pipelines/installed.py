"""An installation with a tiny default encoder that knows probe pairs of English and German, and text of both."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest

from encoder import Encoder
from encoder.build_check import file_digest
from encoder.default import folder as installation
from encoder.default.language_card import CARD, Card, Figure
from encoder.default.probe_vectors import PROBES, ProbeVectors, write_probes
from tests.encoder.fixtures import WORDS
from tests.pipelines.corpora import write_encoder

ENGLISH = """The train to the coast leaves at nine in the morning.
We could not find the key that you left under the mat.
She has been reading the same book for more than three weeks.
Please write your name and address at the top of this page.
Nobody knew why the lights in the old house were still on.
The children were playing in the garden when it began to rain.
He said that he would call us as soon as the work was finished.
There is a small shop behind the church where they sell bread.
"""
GERMAN = """Der Zug an die Küste fährt um neun Uhr morgens ab.
Wir konnten den Schlüssel nicht finden, den du unter der Matte gelassen hast.
Sie liest seit mehr als drei Wochen immer noch dasselbe Buch.
Bitte schreiben Sie Ihren Namen und Ihre Anschrift oben auf diese Seite.
Niemand wusste, warum in dem alten Haus noch Licht brannte.
Die Kinder spielten im Garten, als es anfing zu regnen.
Er sagte, dass er uns anrufen werde, sobald die Arbeit fertig sei.
Hinter der Kirche gibt es einen kleinen Laden, in dem man Brot kaufen kann.
"""


def install(root: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Make `root` the folder of the default encoder; its 160 probe pairs are like `write_corpora`'s true pairs."""
    encoder = Encoder.load(write_encoder(root / "model"))
    rng = np.random.default_rng(7)
    texts = [" ".join(rng.choice(WORDS[:-1], 7)) for _ in range(160)]
    vectors = np.concatenate([encoder.encode([f"{text} {mark}" for text in texts], "en") for mark in ("old", "new")])
    vectors /= np.linalg.norm(vectors, axis=1, keepdims=True)
    language, group = np.repeat([0, 1], 160).astype(np.uint8), np.tile(np.arange(160, dtype=np.int32), 2)
    write_probes(root / PROBES, ProbeVectors(vectors, language, group, ("en", "de")))
    card = Card(
        name="twinlode-2/1",
        fingerprint=encoder.fingerprint,
        files={PROBES: file_digest(root / PROBES)},
        trained={"en": 0, "de": 10},
        figures={"de": Figure(benchmark="Tatoeba", precision=41.0, sentences=100)},
    )
    (root / CARD).write_text(card.model_dump_json())
    monkeypatch.setattr(installation, "ROOT", root)
