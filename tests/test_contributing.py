"""The example in CONTRIBUTING.md is a filter that works."""

import re
from pathlib import Path
from typing import ClassVar

import pyarrow as pa
import pyarrow.compute as pc
from numpy.typing import NDArray

from mining.filters import PairFilter, TextPairs

TEXT = (Path(__file__).resolve().parents[1] / "CONTRIBUTING.md").read_text()


def test_the_filter_of_the_example_filters() -> None:
    [code] = re.findall(r"```python\n(.*?)```", TEXT, re.DOTALL)
    names = {"PairFilter": PairFilter, "TextPairs": TextPairs, "NDArray": NDArray, "ClassVar": ClassVar, "pc": pc}
    exec(code, names)
    rule = names["QuestionFilter"]()  # type: ignore[operator]
    pairs = TextPairs(
        pa.array(["Why?", "Why?", "So.", "So."]), pa.array(["为什么？", "Darum.", "Warum?", "Darum."]), "en", None
    )
    assert rule.accept(rule.score(pairs)).tolist() == [True, False, False, True]
