"""Runs that learn vectors of another encoder."""

from pathlib import Path
from typing import Any

import numpy as np
import pytest

from encoder.inference import Encoder
from encoder.training.observation import Quiet, unobserved
from encoder.training.session import train
from encoder.training.teacher import TaughtText
from encoder.training.trainer import StepReport
from mining.errors import InputError
from tests.encoder.fixtures import write_tiny_xlm_roberta
from tests.encoder.training.conftest import OBJECTS, make_settings


class Watched(Quiet):
    def __init__(self) -> None:
        self.losses: list[float] = []

    def stepped(self, report: StepReport) -> None:
        self.losses.append(float(report.parts["teacher.similarities"]))


@pytest.fixture
def english(corpus: Path, tmp_path: Path) -> Path:
    """The English sentences of the corpus, an empty line among them."""
    path = tmp_path / "english.txt"
    lines = [line.split("\t")[0] for line in corpus.read_text().splitlines()]
    path.write_text("".join(f"{line}\n" for line in [*lines[:5], "", *lines[5:]]))
    return path


def teach(corpus: Path, out: Path, **teacher: Any) -> list[float]:
    watched = Watched()
    settings = {"batch": 32, "weight": 5.0, "features": 0.2, **teacher}
    train(make_settings(corpus, teacher=settings, limits={"steps": 40}), out, lambda folder: watched)
    return watched.losses


def cosines(encoder: Encoder, lines: list[str]) -> np.ndarray:
    vectors = encoder.encode(lines, "en", normalize=True)
    return vectors @ vectors.T


def test_a_student_comes_to_find_alike_what_its_teacher_does(corpus: Path, english: Path, tmp_path: Path) -> None:
    teacher = write_tiny_xlm_roberta(tmp_path / "teacher")
    texts = [{"path": str(english), "lang": "en"}]
    losses = teach(corpus, tmp_path / "taught", texts=texts, encoder=str(teacher))
    assert np.mean(losses[-5:]) < 0.5 * np.mean(losses[:5])
    train(make_settings(corpus, limits={"steps": 40}), tmp_path / "alone", unobserved)
    lines = [line for line in english.read_text().splitlines() if line]
    wanted = cosines(Encoder.load(str(teacher)), lines)
    taught, alone = (
        np.square(cosines(Encoder.load(tmp_path / name / "best"), lines) - wanted).mean()
        for name in ("taught", "alone")
    )
    assert taught < 0.5 * alone
    assert len(list((tmp_path / "taught" / "data").glob("teacher-*.npy"))) == 1


def test_vectors_from_elsewhere_are_those_of_the_lines(corpus: Path, english: Path, tmp_path: Path) -> None:
    # By the object of a sentence, which a bag can learn only if each line has the vector of its own row.
    vectors = np.array([[line.endswith(o) for o in OBJECTS] for line in english.read_text().splitlines()], np.float32)
    np.save(tmp_path / "vectors.npy", vectors)
    texts = [{"path": str(english), "lang": "en", "vectors": str(tmp_path / "vectors.npy")}]
    losses = teach(corpus, tmp_path / "taught", texts=texts, sentences=40)
    assert np.mean(losses[-5:]) < 0.3 * np.mean(losses[:5])
    np.save(tmp_path / "vectors.npy", vectors[:64])
    with pytest.raises(InputError, match=r"an array \(64, 4\), but .*english\.txt has 65 lines"):
        teach(corpus, tmp_path / "short", texts=texts)


@pytest.mark.parametrize(
    ("teacher", "message"),
    [
        ({}, "give either `encoder`, or `vectors` for every file"),
        ({"encoder": "x", "vectors": "y.npy"}, "give either `encoder`, or `vectors`"),
        ({"vectors": "no.npy"}, r"no\.npy: not a \.npy file of vectors"),
    ],
)
def test_bad_teachers(corpus: Path, english: Path, tmp_path: Path, teacher: dict[str, str], message: str) -> None:
    texts = [{"path": str(english), "lang": "en"}]
    if "vectors" in teacher:
        texts[0]["vectors"] = teacher.pop("vectors")
    with pytest.raises(InputError, match=message):
        teach(corpus, tmp_path / "run", texts=texts, **teacher)


def test_excluded_sentences_are_not_taught(corpus: Path, tmp_path: Path) -> None:
    (tmp_path / "two.txt").write_text("the cat sees bread\na dog eats bread\n")
    (tmp_path / "secret.txt").write_text("The cat sees bread!\n")
    teacher = {"texts": [{"path": str(tmp_path / "two.txt"), "lang": "en"}], "encoder": "nobody"}
    with pytest.raises(InputError, match="fewer than two sentences to learn from a teacher"):
        train(
            make_settings(corpus, teacher=teacher),
            tmp_path / "run",
            unobserved,
            exclude=(str(tmp_path / "secret.txt"),),
        )


@pytest.mark.parametrize("absolute", [True, False])
def test_files_by_the_language_in_their_names(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, absolute: bool) -> None:
    monkeypatch.chdir(tmp_path.parent)
    folder = tmp_path if absolute else Path(tmp_path.name)
    for lang in ("de", "en"):
        (tmp_path / f"text.{lang}.txt").write_text("x\n")
    text = TaughtText(path=str(folder / "text.{lang}.txt"), vectors="v/{lang}.npy")
    assert [(Path(file.path).name, file.lang, file.vectors) for file in text.files()] == [
        ("text.de.txt", "de", "v/de.npy"),
        ("text.en.txt", "en", "v/en.npy"),
    ]
    with pytest.raises(InputError, match=r"there is no file .*other\.\{lang\}\.txt"):
        TaughtText(path=str(tmp_path / "other.{lang}.txt")).files()
    with pytest.raises(ValueError, match="give either `lang`"):
        TaughtText(path="text.txt")
