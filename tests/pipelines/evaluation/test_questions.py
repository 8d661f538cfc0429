"""Question retrieval: answers decide, not the question."""

from __future__ import annotations

import json
from pathlib import Path

import numpy as np
import pytest

from mining.errors import InputError
from pipelines.evaluation.benchmark_files import DataFolder
from pipelines.evaluation.questions import QuestionRetrieval, normalised_answer
from tests.pipelines.evaluation.toys import LiteralVectors, literal, scores_of, write


def record(question: str, *answers: str) -> str:
    return json.dumps({"question": question, "answer": list(answers)})


@pytest.mark.parametrize(
    ("answer", "normal"), [("The Beatles!", "beatles"), ("  an  Apple, a day", "apple day"), ("U.S.A.", "usa")]
)
def test_normal_form_of_answers(answer: str, normal: str) -> None:
    assert normalised_answer(answer) == normal


def test_nearest_question_with_an_accepted_answer(tmp_path: Path) -> None:
    write(tmp_path, "PAQ.jsonl", record("1 0", "Paris"), record("0 1", "the Beatles"), record("1 1", "paris"))
    write(
        tmp_path,
        "NQ-open.test.jsonl",
        record("1 0.1", "PARIS"),
        record("0.1 1", "Queen", "Beatles"),
        record("1 0.9", "Paris."),  # another question, the same answer
        record("0 1", "Rome"),
    )
    outcome = QuestionRetrieval(data=".").run(LiteralVectors(), DataFolder(tmp_path))
    assert scores_of(outcome)["en", "R@1"] == 75.0
    assert ("knowledge base", "3 questions") in outcome.choices


def test_a_knowledge_base_passes_by_in_parts(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    draw = np.random.default_rng(0)
    known, asked = draw.normal(size=(50, 3)), draw.normal(size=(40, 3))
    write(tmp_path, "PAQ.jsonl", *(record(text, str(n)) for n, text in enumerate(literal(known))))
    write(tmp_path, "NQ-open.test.jsonl", *(record(text, str(n)) for n, text in enumerate(literal(asked))))
    figures, digests = set(), set()
    for size in (7, 1 << 16):
        monkeypatch.setattr("pipelines.evaluation.questions._PIECE", size)
        data = DataFolder(tmp_path)
        outcome = QuestionRetrieval(data=".").run(LiteralVectors(), data)
        figures.add(scores_of(outcome)["en", "R@1"])
        digests.add(data.digest())
    unit = [x / np.linalg.norm(x, axis=1, keepdims=True) for x in (known, asked)]
    assert figures == {100 * float(((unit[1] @ unit[0].T).argmax(1) == np.arange(40)).mean())} and len(digests) == 1


def test_mkqa(tmp_path: Path) -> None:
    write(tmp_path, "PAQ.jsonl", record("1 0", "Paris"), record("0 1", "Rome"))
    rows = [
        ({"en": "1 0.1", "de": "0 1"}, [{"type": "entity", "text": "Paris", "aliases": ["City of Light"]}]),
        ({"en": "0.1 1", "de": "0.1 1"}, [{"type": "entity", "text": "Roma", "aliases": ["Rome"]}]),
        ({"en": "0.1 1", "de": "0.1 1"}, [{"type": "entity", "text": "Rome", "aliases": None}]),
        ({"en": "1 1", "de": "1 1"}, [{"type": "unanswerable", "text": None}]),
    ]
    write(tmp_path, "mkqa.jsonl", *(json.dumps({"queries": q, "answers": {"en": a}}) for q, a in rows))
    outcome = QuestionRetrieval(data=".", queries="mkqa.jsonl").run(LiteralVectors(), DataFolder(tmp_path))
    scores = scores_of(outcome)
    assert (scores["en", "R@1"], scores["de", "R@1"], scores["mean of 2", "R@1"]) == pytest.approx(
        (100, 200 / 3, 250 / 3)
    )
    assert ("en questions", "3 with an answer") in outcome.choices


def test_line_aligned_text(tmp_path: Path) -> None:
    write(tmp_path, "q.en.txt", "1 0", "0 1", "1 1")
    write(tmp_path, "q.de.txt", "1 0", "0 1", "0 1")
    settings = QuestionRetrieval(data=".", knowledge_base="q.en.txt", queries="q.{lang}.txt")
    scores = scores_of(settings.run(LiteralVectors(), DataFolder(tmp_path)))
    assert scores["de", "R@1"] == pytest.approx(200 / 3)
    assert ("en", "R@1") not in scores
    (tmp_path / "q.de.txt").unlink()
    with pytest.raises(InputError, match="only the knowledge base is called like"):
        settings.run(LiteralVectors(), DataFolder(tmp_path))
    with pytest.raises(InputError, match=r"PAQ\.jsonl: no such file; say which it is with --set knowledge_base=FILE"):
        QuestionRetrieval(data=".").run(LiteralVectors(), DataFolder(tmp_path))


@pytest.mark.parametrize(
    ("lines", "message"),
    [
        (["nothing"], "line 1: not a JSON object"),
        (['{"question": "1 0"}'], "line 1: no `question` or no `answer`"),
        (['{"queries": {"de": "1 0"}, "answers": {}}'], "line 1: no de query or no en answers"),
        ([], "the file is empty"),
    ],
)
def test_bad_queries(tmp_path: Path, lines: list[str], message: str) -> None:
    write(tmp_path, "PAQ.jsonl", record("1 0", "Paris"))
    write(tmp_path, "NQ-open.test.jsonl", *lines)
    with pytest.raises(InputError, match=message):
        QuestionRetrieval(data=".").run(LiteralVectors(), DataFolder(tmp_path))
