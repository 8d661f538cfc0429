"""Hard negatives of bitext, and a run that learns from them."""

from __future__ import annotations

from pathlib import Path

import numpy as np
from typer.testing import CliRunner

from encoder.data.corpora import CorpusSettings, DataSettings, find_files
from encoder.data.parallel_readers import read_groups
from encoder.data.parallel_rows import Triple
from mining.scoring.tasks import Bitext
from pipelines.cli import app
from pipelines.evaluation.benchmark import graph_of
from pipelines.loop.bitext_negatives import edit_triples, neighbour_triples
from pipelines.loop.graph_negatives import write_triple_texts

ENGLISH = ["She met 12 friends.", "She met 13 friends.", "The river is deep.", "You may go now.", "Hm."]
GERMAN = ["d0", "d1", "d2", "d3", "d4"]
BITEXT = Bitext("de", "en", GERMAN, ENGLISH)


def test_a_neighbour_is_near_but_not_too_near() -> None:
    german = np.eye(5, dtype=np.float32)
    english = np.eye(5, dtype=np.float32)
    english[1] = [0.97, 0.24, 0, 0, 0]  # nearer to d0 than a negative may be
    english[2] = [0.6, 0, 0.8, 0, 0]
    found = list(neighbour_triples(BITEXT, graph_of(german, english, 5), share=0.95))
    assert found[0] == ("d0", ENGLISH[0], ENGLISH[2])
    assert {anchor for anchor, _, _ in found} == set(GERMAN)
    assert all(positive == ENGLISH[GERMAN.index(anchor)] != negative for anchor, positive, negative in found)
    near = list(neighbour_triples(BITEXT, graph_of(german, english, 5), share=0.99))
    assert near[0] == ("d0", ENGLISH[0], ENGLISH[1])


def test_a_known_translation_is_no_negative() -> None:
    twice = Bitext("de", "en", ["d0", "d0", "d2"], ["one", "uno", "three"])
    vectors = np.array([[1, 0], [0.9, 0.3], [0, 1]], np.float32)
    triples = list(neighbour_triples(twice, graph_of(vectors[[0, 0, 2]], vectors, 3), share=1.0))
    assert ("d0", "one", "three") in triples
    assert not any(negative in ("one", "uno") for anchor, _, negative in triples if anchor == "d0")


def test_edits_are_of_the_target_and_never_another_target() -> None:
    found = list(edit_triples(BITEXT, seed=0))
    assert len(found) == 4  # of "Hm." there is none
    for anchor, positive, negative in found:
        assert positive == ENGLISH[GERMAN.index(anchor)]
        assert negative not in ENGLISH
    assert found == list(edit_triples(BITEXT, seed=0)) != list(edit_triples(BITEXT, seed=5))


def test_white_space_inside_of_a_text_makes_no_column(tmp_path: Path) -> None:
    path = tmp_path / "triples.tsv"
    assert write_triple_texts(path, [("d\t0", "one\ntwo", "one  three")], ("de", "en")) == 1
    _, *rows = path.read_text().splitlines()
    assert rows == ["entailment\td 0\tone two", "contradiction\td 0\tone three"]


def test_the_command_writes_what_the_trainer_reads(tmp_path: Path) -> None:
    path = tmp_path / "de-en.tsv"
    german = [
        "Sie traf 12 Freunde.",
        "Sie traf 13 Freunde.",
        "Der Fluss ist tief.",
        "Du darfst jetzt gehen.",
        "Nichts.",
    ]
    path.write_text("".join(f"{d}\t{e}\n" for d, e in zip(german, ENGLISH, strict=True)))
    result = CliRunner().invoke(app, ["negatives", str(path), "--out", str(tmp_path / "out")], catch_exceptions=False)
    assert result.exit_code == 0
    names = {"negatives-de-en.tsv", "negatives-en-de.tsv", "edits-de-en.tsv"}
    assert {file.name for file in (tmp_path / "out").iterdir()} == names
    assert "of 5 pairs" in result.output
    corpus = CorpusSettings(path=str(tmp_path / "out" / "*.tsv"), format="nli")
    triples = [row for file in find_files(DataSettings(corpora=(corpus,))) for row in read_groups(file)]
    assert len(triples) > 8
    assert all(isinstance(triple, Triple) for triple in triples)
