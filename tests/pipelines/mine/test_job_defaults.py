"""The shortest mine: languages from the text, the default encoder and its own probe pairs."""

from pathlib import Path

import numpy as np
import pytest
from typer.testing import CliRunner

from encoder import Encoder, default
from encoder.build_check import file_digest
from encoder.default import folder as installation
from encoder.default.language_card import CARD, Card, Figure
from encoder.default.probe_vectors import PROBES, ProbeVectors, write_probes
from mining.errors import InputError
from pipelines.cli import app
from pipelines.commands.mine_summary import examples
from pipelines.datasets.manifest import open_dataset
from pipelines.mine.job_defaults import fill_in_choices, fill_in_languages
from tests.encoder.fixtures import WORDS
from tests.pipelines.corpora import write_corpora, write_encoder

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


@pytest.fixture
def installed(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """An installation whose default encoder knows 160 probe pairs of English and German."""
    root = tmp_path / "installed"
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
    return root


def test_languages_that_are_missing_are_detected(tmp_path: Path) -> None:
    (tmp_path / "a.txt").write_text(ENGLISH * 5)
    (tmp_path / "b.tsv").write_text("".join(f"{n}\t{line}\n" for n, line in enumerate((GERMAN * 5).splitlines())))
    tree = {
        "source": {"inputs": [str(tmp_path / "a.txt")]},
        "target": {"inputs": [str(tmp_path / "b.tsv")], "read": {"column": "2"}},
    }
    assert fill_in_languages(tree) == {"source": "en", "target": "de"}
    assert fill_in_languages(tree) == {}


def test_mixed_and_empty_text_is_refused(tmp_path: Path) -> None:
    (tmp_path / "mixed.txt").write_text(ENGLISH + GERMAN)
    with pytest.raises(InputError, match=r"mixed\.txt: its language cannot be told"):
        fill_in_languages({"source": {"inputs": [str(tmp_path / "mixed.txt")]}})
    (tmp_path / "empty.txt").write_text("\n\n")
    with pytest.raises(InputError, match=r"empty\.txt: there is no text in it"):
        fill_in_languages({"source": {"inputs": [str(tmp_path / "empty.txt")]}})


def sides(source: str, target: str) -> dict:
    return {"source": {"read": {"lang": source}}, "target": {"read": {"lang": target}}}


@pytest.mark.usefixtures("installed")
def test_choices_of_the_default_encoder() -> None:
    tree = sides("en", "de")
    assert fill_in_choices(tree) == [default.status("de").warning]
    assert (tree["margin"], tree["probes"], tree["threshold"]) == (
        "distance",
        "encoder",
        {"precision": 0.9, "unreachable": "keep"},
    )
    fixed = sides("en", "de") | {"threshold": {"top": 3}, "margin": "ratio"}
    fill_in_choices(fixed)
    assert (fixed["margin"], fixed["probes"], fixed["threshold"]) == ("ratio", "encoder", {"top": 3})
    other = sides("en", "de") | {"encoder": "somewhere"}
    assert fill_in_choices(other) == [] and "probes" not in other
    unknown = sides("en", "fr")
    assert "no probe pairs for en-fr" in fill_in_choices(unknown)[-1] and "threshold" not in unknown


def test_two_files_and_an_output_are_enough(installed: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    write_corpora(tmp_path)
    short = ["mine", "src.txt", "tgt.txt", "-o", "pairs.tsv", "--src-lang", "en", "--tgt-lang", "de"]
    made_up = ["--lang-filter", "assume", "--filters", "none"]  # made-up words are in no language
    result = CliRunner().invoke(app, [*short, *made_up, "--precision", "0.5"], catch_exceptions=False)
    assert result.exit_code == 0, result.output
    assert "twinlode report pairs.work" in result.output
    pairs = open_dataset("pairs.work/pairs", "pairs")
    shown = list(examples(pairs, 3))
    lines = Path("pairs.tsv").read_text().splitlines()
    assert [f"{source}\t{target}" for _, source, target in shown] == [
        lines[row].split("\t", 1)[1] for row in (0, (len(lines) - 1) // 2, len(lines) - 1)
    ]
    assert 0 < pairs.rows == len(Path("pairs.tsv").read_text().splitlines())
    assert pairs.manifest.request.configuration["margin"] == "distance"
    assert pairs.manifest.counters.dropped["probe_pairs"] > 0
    probes = open_dataset("pairs.work/src-probes", "sentences")
    assert 80 < probes.rows < 160

    again = CliRunner().invoke(app, [*short, *made_up, "--top", "7"], catch_exceptions=False)
    assert again.exit_code == 0, again.output
    assert len(Path("pairs.tsv").read_text().splitlines()) == 7
    assert [path.name for path in Path("pairs.work").glob("graph*")] == ["graph"], "another choice, the same graph"


@pytest.mark.usefixtures("installed")
def test_small_files_give_all_pairs_and_a_warning(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    Path("en.txt").write_text(ENGLISH)
    Path("de.txt").write_text(GERMAN)
    short = ["mine", "en.txt", "de.txt", "-o", "pairs.tsv", "--src-lang", "en", "--tgt-lang", "de"]
    result = CliRunner().invoke(app, short, catch_exceptions=False)
    assert result.exit_code == 0, result.output
    assert "the precision of these pairs is not known: no threshold reaches the precision 0.9" in result.output
    refused = CliRunner().invoke(app, [*short, "--precision", "0.9"])
    assert "no threshold reaches the precision 0.9" in str(refused.exception)
