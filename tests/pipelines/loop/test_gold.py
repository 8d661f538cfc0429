from pathlib import Path

import pyarrow as pa
import pytest

from mining.errors import InputError
from pipelines.loop.gold import check_gold
from pipelines.loop.loop_settings import GoldSettings


def files(folder: Path, name: str, source: str, target: str, gold: str) -> GoldSettings:
    paths = {}
    for end, text in (("source", source), ("target", target), ("gold", gold)):
        path = folder / f"{name}.{end}"
        path.write_text(text)
        paths[end] = str(path)
    return GoldSettings(pair="de-en", **paths)


def test_pairs_of_known_sentences_are_judged(tmp_path: Path) -> None:
    first = files(tmp_path, "one", "d1\tHaus\nd2\tBaum\n", "e1\thouse\ne2\ttree\ne3\tsea\n", "d1\te1\nd2\te2\n")
    second = files(tmp_path, "two", "d1\tMeer\n", "e1\tsea\u00ad\ne2\thouse\n", "d1\te1\n")
    mined = [("Haus", "house"), ("Baum", "sea"), ("Meer", "tree"), ("Meer", "sea"), ("Haus", "elsewhere")]
    table = pa.table({"src_text": [one for one, _ in mined], "tgt_text": [other for _, other in mined]})
    both = check_gold([first, second], table)
    assert both is not None
    assert (both.mined, both.correct, both.gold) == (4, 2, 3)
    assert (both.precision, both.recall) == (0.5, pytest.approx(2 / 3))
    only = check_gold([second], table)
    assert only is not None
    assert (only.mined, only.correct) == (1, 1)
    assert check_gold([], table) is None


def test_gold_of_other_files(tmp_path: Path) -> None:
    wrong = files(tmp_path, "one", "d1\tHaus\n", "e1\thouse\n", "d1\te1\nd7\te1\n")
    with pytest.raises(InputError, match=r"one\.gold, line 2: not two ids of"):
        check_gold([wrong], pa.table({"src_text": [], "tgt_text": []}))
