"""STS: every published form of file, and the averages of both conventions against scipy."""

from __future__ import annotations

import json
from pathlib import Path

import numpy as np
import pytest
import scipy.stats

from mining.errors import InputError
from pipelines.evaluation.benchmark_files import DataFolder
from pipelines.evaluation.sources import TextWriter
from pipelines.evaluation.sts import Sts, missing
from pipelines.evaluation.sts_files import StsSet, read_sets
from tests.pipelines.evaluation.toys import LiteralVectors, literal, scores_of, write

DRAW = np.random.default_rng(11)


def pairs(count: int) -> tuple[list[str], list[str], np.ndarray]:
    """Sentences that are vectors, and a similarity that goes with their cosine only roughly, with ties."""
    first, second = DRAW.normal(size=(2, count, 3))
    second += first
    gold = np.round(np.clip(5 * cosine(first, second) + DRAW.normal(size=count), 0, 5))
    return literal(first), literal(second), gold


def cosine(first: np.ndarray, second: np.ndarray) -> np.ndarray:
    return (first * second).sum(1) / np.linalg.norm(first, axis=1) / np.linalg.norm(second, axis=1)


def read(folder: Path, **settings: bool) -> dict[str, StsSet]:
    return {found.name: found for found in read_sets(DataFolder(folder), settings.get("short_gold", False))}


def expected(found: list[StsSet], kind: str) -> float:
    vectors = [[LiteralVectors().vectors(side).astype(float) for side in (s.first, s.second)] for s in found]
    cosines = np.concatenate([cosine(*sides) for sides in vectors])
    gold = np.concatenate([s.gold for s in found])
    correlate = scipy.stats.pearsonr if kind == "Pearson" else scipy.stats.spearmanr
    return 100 * correlate(cosines, gold).statistic


def test_years_and_both_conventions(tmp_path: Path) -> None:
    for year in range(2012, 2017):
        for name, count in (("headlines", 30), ("OnWN", 50), ("SMT", 20)):
            if name == "SMT" and year != 2013:
                continue
            first, second, gold = pairs(count)
            rows = [f"{g}\t{a}\t{b}" for g, a, b in zip(gold, first, second, strict=True)]
            write(tmp_path, f"{year}/{name}.test.tsv", *rows, "\t1 0 0\tnot judged")
    scores = scores_of(Sts(data=".").run(LiteralVectors(), DataFolder(tmp_path)))
    sets = read(tmp_path)
    by_year = [[s for name, s in sets.items() if name.startswith(str(year))] for year in range(2012, 2017)]
    pearsons = [np.mean([expected([s], "Pearson") for s in year]) for year in by_year]
    assert scores["STS12-16", "Pearson"] == pytest.approx(np.mean(pearsons), abs=1e-4)
    assert scores["STS13", "Pearson"] == pytest.approx(pearsons[1], abs=1e-4)
    joined = [expected([s for s in year if not s.name.endswith("SMT")], "Spearman") for year in by_year]
    assert scores["STS12-16", "Spearman"] == pytest.approx(np.mean(joined), abs=1e-4)
    assert len(sets["2013 SMT"].gold) == 20  # the pair that was not judged is left out
    assert missing(list(sets.values()))[:3] == ["2012 MSRpar", "2012 MSRvid", "2012 SMTeuroparl"]


ARCHIVES = {  # the folders in SemEval's archives, and their datasets
    "test-gold": "MSRpar MSRvid SMTeuroparl surprise.OnWN surprise.SMTnews",
    "test-gs": "FNWN headlines OnWN",
    "sts-en-test-gs-2014": "deft-forum deft-news headlines OnWN images tweet-news",
    "test_evaluation_task2a": "answers-forums answers-students belief headlines images",
    "sts2016-english-with-gs-v1.0": "answer-answer headlines plagiarism postediting question-question",
}


@pytest.mark.parametrize("renamed", [False, True])  # as SentEval renames the folders
def test_the_archives_of_semeval_as_they_are(tmp_path: Path, renamed: bool) -> None:
    for year, (folder, datasets) in enumerate(ARCHIVES.items(), 12):
        place = tmp_path / (f"STS{year}-en-test" if renamed else folder)
        for name in datasets.split():
            first, second, gold = pairs(20)
            write(place, f"STS.input.{name}.txt", *(f"{a}\t{b}\tx\ty" for a, b in zip(first, second, strict=True)))
            write(place, f"STS.gs.{name}.txt", *map(str, gold[:-1]), "")
        write(place, "STS.gs.ALL.txt", "1")
    write(tmp_path, "train/STS.input.MSRpar.txt", "a\tb")
    sets = read(tmp_path)
    assert len(sets) == 24 and all(len(found.gold) == 19 for found in sets.values())
    assert missing(list(sets.values())) == ["2013 SMT"]
    outcome = Sts(data=".").run(LiteralVectors(), DataFolder(tmp_path))
    headlines = [sets[f"20{year} headlines"] for year in (13, 14, 15, 16)]
    assert len({expected([found], "Pearson") for found in headlines}) == 4
    years = [[found for found in sets.values() if found.group == f"STS{year}"] for year in range(12, 17)]
    pearson = np.mean([np.mean([expected([found], "Pearson") for found in year]) for year in years])
    assert scores_of(outcome)["STS12-16", "Pearson"] == pytest.approx(pearson, abs=1e-4)
    assert scores_of(outcome)["2014 headlines", "Pearson"] == pytest.approx(
        expected([headlines[1]], "Pearson"), abs=1e-4
    )
    alone = read(tmp_path / ("STS15-en-test" if renamed else "test_evaluation_task2a"))
    assert {found.group for found in alone.values()} == {"STS15"}


def test_datasets_of_one_name_are_not_mixed_up(tmp_path: Path) -> None:
    for folder in ("one", "two"):
        write(tmp_path, f"{folder}/STS.input.headlines.txt", *["1 0\t0 1"] * 3)
        write(tmp_path, f"{folder}/STS.gs.headlines.txt", "1", "2", "3")
    with pytest.raises(
        InputError, match=r"one/STS.input.headlines.txt and two/.* are both 'headlines'; keep one of them"
    ):
        read(tmp_path)
    (tmp_path / "one").rename(tmp_path / "2013")
    (tmp_path / "two").rename(tmp_path / "2014")
    (tmp_path / "2013/STS.gs.headlines.txt").unlink()
    with pytest.raises(InputError, match=r"its gold STS\.gs\.headlines\.txt is not in"):  # that of 2014 is not it
        read(tmp_path)
    for folder in ("gold", "again"):
        write(tmp_path, f"{folder}/STS.gs.headlines.txt", "1", "2", "3")
    with pytest.raises(InputError, match=r"its gold may be again/STS\.gs\.headlines\.txt or gold/"):
        read(tmp_path)


def test_smt_alone_has_no_joined_year(tmp_path: Path) -> None:
    first, second, gold = pairs(10)
    write(tmp_path, "2013/SMT.test.tsv", *(f"{g}\t{a}\t{b}" for g, a, b in zip(gold, first, second, strict=True)))
    scores = scores_of(Sts(data=".").run(LiteralVectors(), DataFolder(tmp_path)))
    assert ("STS13", "Pearson") in scores and ("STS13 joined", "Spearman") not in scores


@pytest.mark.parametrize("swapped", [False, True])
def test_the_columns_say_which_language_is_where(tmp_path: Path, swapped: bool) -> None:
    spanish, english = "El perro corre por la calle con los niños.", "The dog runs along the street with the children."
    line = f"{english}\t{spanish}" if swapped else f"{spanish}\t{english}"
    write(tmp_path, "STS.input.track4b.es-en.txt", *[line] * 3)
    write(tmp_path, "STS.gs.track4b.es-en.txt", "1", "2", "3")
    found = read(tmp_path)["track4b.es-en"]
    assert (found.first.lang, found.second.lang) == (("en", "es") if swapped else ("es", "en"))


def test_tracks_of_2017(tmp_path: Path) -> None:
    for track in ("1.ar-ar", "2.ar-en", "3.es-es", "4a.es-en", "4b.es-en", "5.en-en", "6.tr-en"):
        first, second, gold = pairs(25)
        write(tmp_path, f"eval/STS.input.track{track}.txt", *(f"{a}\t{b}" for a, b in zip(first, second, strict=True)))
        write(tmp_path, f"gs/STS.gs.track{track}.txt", *map(str, gold))
    scores = scores_of(Sts(data=".").run(LiteralVectors(), DataFolder(tmp_path)))
    sets = read(tmp_path)
    names = ["track1.ar-ar", "track3.es-es", "track2.ar-en", "track4a.es-en", "track6.tr-en"]
    values = [expected([sets[name]], "Pearson") for name in names]
    assert scores["STS17 cross-lingual", "Pearson"] == pytest.approx(np.mean(values), abs=1e-4)
    assert scores["STS17 same language", "Pearson"] == pytest.approx(np.mean(values[:2]), abs=1e-4)
    assert scores["STS17 two languages", "Pearson"] == pytest.approx(np.mean(values[2:]), abs=1e-4)
    assert (sets["track1.ar-ar"].first.lang, sets["track1.ar-ar"].second.lang) == ("ar", "ar")


@pytest.mark.parametrize("form", ["STS2017-extended/STS.{}.txt", "sts17/{}.jsonl"])
def test_eleven_pairs_of_2017(tmp_path: Path, form: str) -> None:
    """The tracks and what sentence-transformers added, or all as JSON lines."""
    names = ["ar-ar", "en-ar", "en-de", "en-en", "en-tr", "es-en", "es-es", "fr-en", "it-en", "ko-ko", "nl-en"]
    for pair in names:
        first, second, gold = pairs(20)
        rows = list(zip(first, second, gold.tolist(), strict=True))
        lines = [f"{a}\t{b}\t{g}" for a, b, g in rows]
        if form.endswith("jsonl"):
            lines = [json.dumps({"sentence1": a, "sentence2": b, "score": g}) for a, b, g in rows]
        write(tmp_path, form.format(pair), *lines)
    of_mpcl = Sts(data=".", seen=("en", "de", "fr", "es", "ru", "zh"))
    scores = scores_of(of_mpcl.run(LiteralVectors(), DataFolder(tmp_path)))
    sets = read(tmp_path)
    assert {found.group for found in sets.values()} == {"STS17"}
    values = [expected([sets[name]], "Spearman") for name in names]
    assert scores["STS17 11 pairs (MTEB)", "Spearman"] == pytest.approx(np.mean(values), abs=1e-4)
    seen = [value for name, value in zip(names, values, strict=True) if name in "en-de en-en es-en es-es fr-en"]
    unseen = [value for value in values if value not in seen]
    assert scores["STS17 11 pairs (MTEB), 5 seen", "Spearman"] == pytest.approx(np.mean(seen), abs=1e-4)
    assert scores["STS17 11 pairs (MTEB), 6 unseen", "Spearman"] == pytest.approx(np.mean(unseen), abs=1e-4)


def test_gold_of_another_length(tmp_path: Path) -> None:
    write(tmp_path, "STS.input.track6.tr-en.txt", *["1 0\t0 1"] * 5)
    write(tmp_path, "STS.gs.track6.tr-en.txt", "1", "2", "3")
    with pytest.raises(InputError, match=r"input\.track6\.tr-en\.txt has 5 lines, but STS\.gs\.track6.* has 3; if the"):
        read(tmp_path)
    assert len(read(tmp_path, short_gold=True)["track6.tr-en"].gold) == 3
    write(tmp_path, "STS.gs.track6.tr-en.txt", *"123456")
    with pytest.raises(InputError, match=r"has 5 lines, but .* has 6$"):
        read(tmp_path, short_gold=True)
    (tmp_path / "STS.gs.track6.tr-en.txt").unlink()
    with pytest.raises(InputError, match=r"its gold STS\.gs\.track6\.tr-en\.txt is not in"):
        read(tmp_path)


def test_other_forms(tmp_path: Path) -> None:
    write(tmp_path, "sts-test.csv", *(f"g\tf\ty\ti\t{n}\ta{n}\tb{n}\textra" for n in range(3)))
    write(tmp_path, "sts-dev.csv", "not read")
    write(tmp_path, "data/stsb-de-test.csv", '"a, 0",b0,0', "a1,b1,1.5", '"a ""2""",b2,2')
    write(tmp_path, "SICK_test_annotated.txt", "pair_ID\tA\tB\tr\te", *(f"{n}\ta\tb\t{n}\tNEUTRAL" for n in range(4)))
    write(
        tmp_path, "test/de-fr.jsonl", *(json.dumps({"sentence1": "a", "sentence2": "b", "score": n}) for n in range(3))
    )
    sets = read(tmp_path)
    assert {name: found.group for name, found in sets.items()} == {
        "sts-test": "STS-B",
        "stsb-de-test": "STS-B multilingual",
        "SICK_test_annotated": "SICK",
        "de-fr": "STS22",
    }
    assert sets["sts-test"].first.lines == ["a0", "a1", "a2"]
    assert sets["stsb-de-test"].first.lines == ["a, 0", "a1", 'a "2"']
    assert sets["stsb-de-test"].first.lang == "de"
    assert sets["SICK_test_annotated"].gold.tolist() == [0, 1, 2, 3]


def test_sts22_as_published(tmp_path: Path) -> None:
    header = "url1_lang,url2_lang,pair_id,link1,link2,Overall"
    rows = [f"pl,fr,10{n}_20{n},x,y,{n}" for n in range(1, 5)] + ["de,de,301_302,x,y,1", "de,de,301_303,x,y,2.5"]
    write(tmp_path, "final_evaluation_data.csv", header, *rows, "de,de,302_303,x,y,4", "de,de,301_404,x,y,4")
    for number in (101, 102, 103, 104, 201, 202, 203, 204, 301, 302, 303):
        article = {"title": f"title {number}", "text": "some\ntext"}
        write(tmp_path, f"articles/{number % 100:02}/{number}.json", json.dumps(article))
    sets = read(tmp_path)
    assert set(sets) == {"pl-fr", "de-de"}
    assert sets["pl-fr"].gold.tolist() == [-1, -2, -3, -4]  # 1 is the same story
    assert sets["de-de"].first.lines == ["title 301 some text", "title 301 some text", "title 302 some text"]
    assert sets["de-de"].first.lang == "de"
    choices = dict(Sts(data=".").run(TextWriter(tmp_path / "texts"), DataFolder(tmp_path)).choices)
    assert choices["pairs"] == "STS22 7"  # an article of the eighth is gone
    assert (sets["pl-fr"].first.lang, sets["pl-fr"].second.lang) == ("pl", "fr")


@pytest.mark.parametrize(
    ("name", "lines", "message"),
    [
        ("2012/a.test.tsv", ["one\ta\tb"], "line 1: 'one' is not a number"),
        ("2012/a.test.tsv", ["1\ta\tb", "2\ta\tb"], "2 pairs have a gold similarity"),
        ("2012/a.test.tsv", ["1\ta"], "line 1: 2 tab-separated fields, but a line is similarity and two sentences"),
        ("stsb-de-test.csv", ["a,b"], "record 1: 2 fields"),
        ("de.jsonl", ["{}"], "line 1: not a JSON object with sentence1"),
        ("something.csv", ["a"], "no STS files; known are"),
        ("final_evaluation_data.csv", ["url1_lang,url2_lang,pair_id,Overall", "de,de,1_2,1"], "the articles, ID.json"),
    ],
)
def test_bad_files(tmp_path: Path, name: str, lines: list[str], message: str) -> None:
    write(tmp_path, name, *lines)
    with pytest.raises(InputError, match=message):
        read(tmp_path)
