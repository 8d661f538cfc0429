"""The examples in CONTRIBUTING.md work as they stand."""

import re
from collections import Counter
from collections.abc import Iterator
from pathlib import Path
from typing import Any, Literal

import numpy as np
import pyarrow as pa
import torch
from pydantic import Field
from torch import Tensor
from torch.nn import functional

from encoder import Encoder
from encoder.batch import Batch, DataShape
from encoder.models import BagSettings
from encoder.objectives.objective import Loss, Objective
from mining.filters import TextPairs
from pipelines.evaluation.benchmark import Benchmark, Choice, Outcome, Score, evaluate
from pipelines.evaluation.benchmark_files import DataFolder
from pipelines.evaluation.sources import EncodedTexts, VectorSource
from pipelines.prepare.readers import blocks
from pipelines.prepare.readers.blocks import Block, ReadSettings, keep_rows
from pipelines.prepare.readers.lines import read_lines
from tests.encoder.fixtures import write_checkpoint

TEXT = (Path(__file__).resolve().parents[1] / "CONTRIBUTING.md").read_text()


def example(title: str, **names: Any) -> dict[str, Any]:
    """What the example under a heading defines."""
    section = TEXT.partition(f"## A new {title}, in ten lines")[2].partition("\n## ")[0]
    [code] = re.findall(r"```python\n(.*?)```", section, re.DOTALL)
    exec(code, names)
    return names


def test_the_filter_filters() -> None:
    rule = example("filter")
    pairs = TextPairs(
        pa.array(["Why?", "Why?", "So.", "So."]), pa.array(["为什么？", "Darum.", "Warum?", "Darum."]), "en", None
    )
    question = rule["QuestionFilter"]()
    assert question.accept(question.score(pairs)).tolist() == [True, False, False, True]


def test_the_reader_reads(tmp_path: Path) -> None:
    names = {"Batch": blocks.RowBatch, "Block": Block, "ReadSettings": ReadSettings, "Iterator": Iterator}
    read = example("reader", Counter=Counter, keep_rows=keep_rows, read_lines=read_lines, **names)["read"]
    path = tmp_path / "film.srt"
    path.write_text("1\n00:00:01,000 --> 00:00:02,000\nGood morning.\n\n2\n00:00:03,000 --> 00:00:04,000\nBye.\n")
    found = list(read(Block(0, str(path), "txt", 0, None), ReadSettings(lang="en")))
    assert [text for batch in found for text in batch.texts] == ["Good morning.", "Bye."]
    assert sum((batch.dropped for batch in found), Counter()) == {"no_text": 4, "empty": 1}


def test_the_objective_learns() -> None:
    names = {"Objective": Objective, "DataShape": DataShape, "Tensor": Tensor, "Batch": Batch, "Loss": Loss}
    objective = example("objective", functional=functional, **names)["SquaredDistance"]()
    torch.manual_seed(0)
    vectors = torch.nn.Parameter(torch.randn(8, 4))
    optimizer = torch.optim.SGD([vectors], lr=0.5)
    losses = []
    for _ in range(20):
        loss = objective.loss(vectors, None, 0.0)
        optimizer.zero_grad()
        loss.total.backward()
        optimizer.step()
        losses.append(loss.total.item())
    assert losses[-1] < 0.5 * losses[0]


def test_the_benchmark_measures(tmp_path: Path) -> None:
    names = {"Benchmark": Benchmark, "VectorSource": VectorSource, "DataFolder": DataFolder, "Literal": Literal}
    names |= {"Outcome": Outcome, "Score": Score, "Choice": Choice, "Field": Field, "np": np}
    lengths = example("benchmark", **names)["LengthOfVectors"]
    (tmp_path / "sentences.en.txt").write_text("A cat.\nA cat and a dog.\nTwo cats and three dogs went home.\n")
    encoder = Encoder.load(write_checkpoint(tmp_path / "bag", BagSettings(dim=8)))
    result = evaluate(lengths(data=str(tmp_path)), EncodedTexts(encoder, "bag"))
    assert -100 <= result.outcome.scores[0].value <= 100
