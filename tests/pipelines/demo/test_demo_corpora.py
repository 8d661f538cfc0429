"""How sentences are split: nothing leaks from what is mined into what is trained on."""

from pathlib import Path

import pytest

from mining.errors import InputError
from pipelines.demo.archived_catalogs import Pair
from pipelines.demo.demo_corpora import DemoCorpora, split, without_known, write_corpora
from pipelines.demo.messages import identity


def made(name: str, count: int) -> list[Pair]:
    return [Pair(f"{name} english {i}", f"{name} anders {i}") for i in range(count)]


def test_half_of_each_side_has_no_counterpart() -> None:
    pairs = made("m", 30)
    side = split(pairs)
    assert len(side.english) == len(side.other) == 20
    assert len(side.gold) == 10
    counterpart = dict(pairs)
    assert {pair.english for pair in side.gold} == {e for e in side.english if counterpart[e] in side.other}
    aligned = sum(counterpart[e] == o for e, o in zip(side.english, side.other, strict=True))
    assert aligned < 5


def test_known_and_repeated_sentences_are_dropped_on_either_side() -> None:
    pairs = [
        Pair("A b", "x"),
        Pair("a B!", "y"),
        Pair("c", "X."),
        Pair("known", "z"),
        Pair("d", "known"),
        Pair("e", "w"),
    ]
    assert without_known(pairs, {"known"}, {"known"}) == [Pair("A b", "x"), Pair("e", "w")]


def lines(path: Path) -> list[str]:
    return path.read_text(encoding="utf-8").splitlines()


def test_files_share_no_sentence_and_are_not_rewritten(tmp_path: Path) -> None:
    seed = {"de": made("de", 20), "fr": made("fr", 20)}
    unmined = {"de": made("m", 35) + made("fr", 20), "fr": made("m", 35)}

    def write() -> list[DemoCorpora]:
        return write_corpora(tmp_path, seed, unmined, probes=5)

    german, french = write()
    assert (german.pairs, german.true, french.sentences) == (20, 10, (20, 20))
    known = {identity(line.split("\t")[0]) for c in (german, french) for line in lines(c.train)}
    assert len(known) == 40
    for corpora in (german, french):
        probes = {identity(line.split("\t")[0]) for line in lines(corpora.probes)}
        assert len(probes) == 5
        assert not (known | probes) & {identity(line) for line in lines(corpora.english)}
        assert not known & probes
    dates = {path: path.stat().st_mtime_ns for path in tmp_path.rglob("*.t*")}
    write()
    assert {path: path.stat().st_mtime_ns for path in tmp_path.rglob("*.t*")} == dates


def test_too_little_text_is_said(tmp_path: Path) -> None:
    with pytest.raises(InputError, match="too few sentences in de"):
        write_corpora(tmp_path, {"de": made("de", 20)}, {"de": []}, probes=5)
