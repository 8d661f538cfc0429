"""Question retrieval (VMSST): the nearest question of a knowledge base must have the right answer."""

from __future__ import annotations

import json
import re
import string
from collections.abc import Callable, Iterator
from functools import partial
from itertools import islice
from typing import Any, Literal, NamedTuple

import numpy as np
from pydantic import Field

from mining.errors import InputError
from pipelines.evaluation.benchmark import Benchmark, Choice, Outcome, Score, averaged, graph_of
from pipelines.evaluation.benchmark_files import DataFolder, Texts, plain
from pipelines.evaluation.samples import TestItems, mean_percent
from pipelines.evaluation.sources import VectorSource

_PIECE = 1 << 16  # questions of the knowledge base that are compared at a time
_ARTICLES = re.compile(r"\b(a|an|the)\b")
_PUNCTUATION = str.maketrans("", "", string.punctuation)


class Questions(NamedTuple):
    """Questions and the accepted answers of each, normalized; of plain text the answer is its line number."""

    texts: Texts
    answers: list[frozenset[str]]


class QuestionRetrieval(Benchmark):
    """JSON lines of NQ-open and PAQ (`question`, `answer`) or MKQA, or line-aligned text (`.txt`).

    `queries` with `{lang}` are a file for each language; MKQA has all languages in one file. Answers are compared in
    the language of the knowledge base, ignoring case, punctuation and English articles, as for SQuAD.
    """

    benchmark: Literal["questions"] = "questions"
    knowledge_base: str = Field("PAQ.jsonl", description="Questions with known answers.")
    queries: str = Field("NQ-open.test.jsonl", description="Questions to answer; `{lang}` for a file a language.")
    language: str = Field("en", description="Language of the knowledge base.")

    def run(self, source: VectorSource, data: DataFolder) -> Outcome:
        for setting, name in (("knowledge_base", self.knowledge_base), ("queries", self.queries)):
            if "{lang}" not in name and data.find(plain(name)) is None:
                raise InputError(f"{data.root / name}: no such file; say which it is with --set {setting}=FILE")
        queries = self._queries(data)
        vectors = np.concatenate([source.vectors(questions.texts) for questions in queries.values()])
        nearest, size = self._nearest(source, data, vectors)
        answers = self._answers(data, set(nearest.tolist()))
        scores: list[Score] = []
        choices = [Choice("similarity", "cosine"), Choice("knowledge base", f"{size:,} questions")]
        for code, questions in queries.items():
            own, nearest = nearest[: len(questions.texts)], nearest[len(questions.texts) :]
            right = [
                row >= 0 and bool(accepted & answers[row])
                for row, accepted in zip(own.tolist(), questions.answers, strict=True)
            ]
            sample = TestItems(np.array(right)[:, None], mean_percent)
            scores.append(Score(code, "R@1", sample.value(), sample))
            choices.append(Choice(f"{code} questions", f"{len(questions.texts):,} with an answer"))
        scores.append(averaged(f"mean of {len(scores)}", scores, headline=True))
        return Outcome(scores, choices)

    def _nearest(self, source: VectorSource, data: DataFolder, queries: np.ndarray) -> tuple[np.ndarray, int]:
        """Of each query the nearest question of the knowledge base, and the size of that.

        PAQ has 65 million questions: they pass by, and neither they nor their vectors are kept.
        """
        name = plain(self.knowledge_base)
        best, nearest = np.full(len(queries), -np.inf, np.float32), np.full(len(queries), -1)
        start = 0
        texts = (question for question, _ in _records(data, name))
        parts = iter(lambda: list(islice(texts, _PIECE)), [])
        for vectors in source.passing(data.named(name), parts, self.language):
            found = graph_of(queries, vectors, 1).forward
            better = (found.ids[:, 0] >= 0) & (found.scores[:, 0] > best)
            best[better], nearest[better] = found.scores[better, 0], start + found.ids[better, 0]
            start += len(vectors)
        if not start:
            raise InputError(f"{data.root / name}: the file is empty; there is nothing to find")
        return nearest, start

    def _answers(self, data: DataFolder, rows: set[int]) -> dict[int, frozenset[str]]:
        """The accepted answers of some questions of the knowledge base."""
        records = enumerate(_records(data, plain(self.knowledge_base)))
        return {row: answers() for row, (_, answers) in records if row in rows}

    def _queries(self, data: DataFolder) -> dict[str, Questions]:
        if "{lang}" in self.queries:
            files = data.languages(self.queries)
            base = plain(self.knowledge_base)
            found = {c: _read(data, n, c) for c, n in files.items() if plain(n) != base}
            if not found:
                raise InputError(f"{data.root}: only the knowledge base is called like {self.queries!r}")
            return found
        lines = data.lines(plain(self.queries))
        first = _record(data, self.queries, 1, lines[0]) if lines else {}
        if "queries" not in first:
            return {self.language: _read(data, self.queries, self.language)}
        return {code: _mkqa(data, self.queries, lines, code, self.language) for code in sorted(first["queries"])}


def normalised_answer(answer: str) -> str:
    """SQuAD's normal form: lower case, no punctuation, no articles, single spaces."""
    return " ".join(_ARTICLES.sub(" ", answer.lower().translate(_PUNCTUATION)).split())


def _read(data: DataFolder, name: str, code: str) -> Questions:
    name = plain(name)
    found = [(question, answers()) for question, answers in _records(data, name)]
    if not found:
        raise InputError(f"{data.root / name}: the file is empty; there is nothing to evaluate for {code}")
    questions, answers = zip(*found, strict=True)
    return Questions(Texts(data.named(name), list(questions), code), list(answers))


def _records(data: DataFolder, name: str) -> Iterator[tuple[str, Callable[[], frozenset[str]]]]:
    """Each question of a file, and how to get its answers; of plain text the answer is the line's number."""
    for number, line in enumerate(data.stream(name), 1):
        if name.endswith(".txt"):
            yield line, partial(frozenset, [str(number)])
            continue
        record = _record(data, name, number, line)
        if "question" not in record or "answer" not in record:
            raise InputError(f"{data.root / name}, line {number}: no `question` or no `answer`")
        yield str(record["question"]), partial(_accepted, record["answer"])


def _accepted(given: Any) -> frozenset[str]:
    return frozenset(normalised_answer(str(answer)) for answer in (given if isinstance(given, list) else [given]))


def _mkqa(data: DataFolder, name: str, lines: list[str], code: str, answer_language: str) -> Questions:
    """One language of MKQA; questions that no text answers (unanswerable, long answers) are left out."""
    questions, answers = [], []
    for number, line in enumerate(lines, 1):
        record = _record(data, name, number, line)
        try:
            found = record["answers"][answer_language]
            texts = [text for a in found if a.get("text") for text in (a["text"], *(a.get("aliases") or ()))]
            question = record["queries"][code]
        except (KeyError, TypeError, AttributeError):
            raise InputError(
                f"{data.root / name}, line {number}: no {code} query or no {answer_language} answers"
            ) from None
        if texts:
            questions.append(str(question))
            answers.append(frozenset(normalised_answer(str(text)) for text in texts))
    if not questions:
        raise InputError(f"{data.root / name}: no question has an answer in {answer_language}")
    return Questions(Texts(f"{data.named(name)}.{code}", questions, code), answers)


def _record(data: DataFolder, name: str, number: int, line: str) -> dict[str, Any]:
    try:
        record = json.loads(line)
    except ValueError:
        record = None
    if not isinstance(record, dict):
        raise InputError(f"{data.root / name}, line {number}: not a JSON object")
    return record
