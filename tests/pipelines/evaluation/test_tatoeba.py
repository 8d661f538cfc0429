"""Tatoeba: groups of languages as in the papers, P@1 on cases made by hand."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest

from mining.errors import InputError
from pipelines.evaluation.benchmark_files import DataFolder
from pipelines.evaluation.tatoeba import GROUPS, Tatoeba
from tests.pipelines.evaluation.toys import LiteralVectors, literal, scores_of, write

# LASER in EMS Tables 4 and 5, in the order of the tables; and EMS itself.
LASER_58 = (
    "afr 89.5 ara 92.0 ben 89.6 bul 95.0 cat 95.9 ces 96.5 cmn 95.4 dan 96.0 deu 99.0 ell 95.0 epo 97.2 est 96.7 "
    "eus 94.6 fin 96.3 fra 95.6 glg 95.5 heb 92.2 hin 94.7 hrv 97.2 hun 96.0 hye 36.1 ind 94.5 ita 95.3 jav 22.9 "
    "jpn 90.7 kat 35.9 kaz 18.6 kor 88.9 kur 17.2 lit 96.2 lvs 95.4 mal 96.9 mar 91.5 max 50.9 mkd 94.7 mon 8.2 "
    "nld 96.3 nob 98.8 pes 93.4 pol 97.8 por 95.2 ron 97.4 rus 94.6 slk 96.6 slv 95.9 spa 98.0 sqi 98.0 srp 95.3 "
    "swe 96.6 swh 57.6 tam 69.4 tel 79.7 tgl 50.6 tha 95.4 tur 97.5 ukr 94.5 urd 81.9 vie 96.8"
)
LASER_54 = (
    "amh 42.0 ang 37.7 arq 39.5 arz 68.9 ast 86.2 awa 36.1 aze 66.0 bel 69.6 ber 68.2 bos 96.5 bre 15.8 cbk 77.0 "
    "ceb 15.7 cha 29.2 cor 7.5 csb 43.3 cym 8.6 dsb 48.0 dtp 7.2 fao 71.6 fry 51.7 gla 3.7 gle 5.2 gsw 44.4 "
    "hsb 54.5 ido 83.7 ile 86.2 ina 95.2 isl 95.6 kab 58.1 khm 20.6 kzj 7.2 lat 58.5 lfn 64.5 mhr 10.4 nds 82.9 "
    "nno 88.3 nov 66.0 oci 61.2 orv 28.1 pam 6.0 pms 49.6 swg 46.0 tat 31.1 tuk 20.7 tzl 44.7 uig 45.2 uzb 18.7 "
    "war 13.6 wuu 87.7 xho 8.5 yid 5.7 yue 90.0 zsm 96.4"
)

EMS_58 = (
    "afr 94.0 ara 93.9 ben 83.8 bul 95.8 cat 97.0 ces 97.4 cmn 95.9 dan 97.0 deu 99.3 ell 96.5 epo 98.9 est 97.8 "
    "eus 94.9 fin 98.0 fra 96.2 glg 97.1 heb 92.5 hin 93.4 hrv 97.5 hun 97.4 hye 87.8 ind 95.8 ita 96.7 jav 55.6 "
    "jpn 95.8 kat 73.5 kaz 63.8 kor 92.3 kur 31.3 lit 97.3 lvs 96.9 mal 77.8 mar 88.2 max 69.9 mkd 97.0 mon 73.9 "
    "nld 97.7 nob 97.5 pes 96.0 pol 98.2 por 95.9 ron 97.9 rus 95.2 slk 97.5 slv 97.1 spa 98.6 sqi 98.4 srp 96.4 "
    "swe 97.0 swh 53.2 tam 52.8 tel 69.7 tgl 84.8 tha 97.4 tur 98.6 ukr 96.0 urd 86.0 vie 97.7"
)


@pytest.mark.parametrize(
    ("group", "published"),
    [
        ("58 (EMS, trained)", 84.7),
        ("54 (EMS, unseen)", 47.5),
        ("14 (mUSE)", 95.1),
        ("37 (EMS: XTREME)", 84.2),
        ("43 (EMS: less data than LASER)", 89.6),
        ("42 (EMS, LASER, SBERT: over 300k)", 94.4),
        ("11 (EMS, LASER, SBERT: below 300k)", 58.3),
    ],
)
def test_groups_reproduce_the_averages_in_ems(group: str, published: float) -> None:
    words = f"{LASER_58} {LASER_54}".split()
    table = dict(zip(words[::2], map(float, words[1::2]), strict=True))
    assert np.mean([table[code] for code in GROUPS[group]]) == pytest.approx(published, abs=0.05)


@pytest.mark.parametrize(
    ("group", "published"),
    [("43 (EMS: over 300k)", 95.4), ("15 (EMS: below 300k)", 73.7), ("45 (EMS: SBERT-distill)", 95.0)],
)
def test_groups_reproduce_the_averages_of_ems_itself(group: str, published: float) -> None:
    words = EMS_58.split()
    table = dict(zip(words[::2], map(float, words[1::2]), strict=True))
    assert np.mean([table[code] for code in GROUPS[group]]) == pytest.approx(published, abs=0.05)


def test_sizes_of_the_groups() -> None:
    for name, codes in GROUPS.items():
        assert len(set(codes)) == len(codes) == int(name.split()[0])
    assert set(GROUPS["36 (XTREME)"]) < set(GROUPS["58 (EMS, trained)"])


def test_means_of_one_direction_and_of_seen_languages(tmp_path: Path) -> None:
    for code, english in (("deu", ("1 0", "0.9 0.1", "0 1")), ("gla", ("1 0", "1 0.1", "1 0.2"))):
        write(tmp_path, f"tatoeba.{code}-eng.{code}", "1 0", "0.9 0.2", "0 1")
        write(tmp_path, f"tatoeba.{code}-eng.eng", *english)
    scores = scores_of(Tatoeba(data=".", seen=("deu",)).run(LiteralVectors(), DataFolder(tmp_path)))
    for metric in ("P@1", "P@1 to English", "P@1 from English"):
        both = [scores[code, metric] for code in ("deu", "gla")]
        assert scores["mean of these 2", metric] == pytest.approx(np.mean(both))
        assert [scores["mean of 1 (seen)", metric], scores["mean of 1 (unseen)", metric]] == pytest.approx(both)


def test_both_directions_by_hand(tmp_path: Path) -> None:
    write(tmp_path, "tatoeba.deu-eng.deu", "1 0", "0 1", "1 0.1")
    write(tmp_path, "tatoeba.deu-eng.eng", "1 0", "0 1", "0.1 1")
    scores = scores_of(Tatoeba(data=".").run(LiteralVectors(), DataFolder(tmp_path)))
    # Line 3: its nearest English is line 1; English line 3 finds German line 2.
    assert scores["deu", "P@1 to English"] == scores["deu", "P@1 from English"] == pytest.approx(200 / 3)
    assert scores["mean of these 1", "P@1"] == pytest.approx(200 / 3)


def test_ties_go_to_the_first_line_and_zero_vectors_find_nothing(tmp_path: Path) -> None:
    write(tmp_path, "tatoeba.deu-eng.deu", "1 0", "1 0", "0 0")
    write(tmp_path, "tatoeba.deu-eng.eng", "1 0", "1 0", "0 1")
    scores = scores_of(Tatoeba(data=".").run(LiteralVectors(), DataFolder(tmp_path)))
    assert scores["deu", "P@1 to English"] == pytest.approx(100 / 3)


def test_averages_only_of_groups_that_are_complete(tmp_path: Path) -> None:
    vectors = np.random.default_rng(0).normal(size=(4, 3))
    for code in GROUPS["14 (mUSE)"]:
        for ending in (code, "eng"):
            write(tmp_path, f"tatoeba.{code}-eng.{ending}", *literal(vectors))
    outcome = Tatoeba(data=".").run(LiteralVectors(), DataFolder(tmp_path))
    assert [score.dataset for score in outcome.scores if score.headline] == ["mean of 14 (mUSE)"]
    some = Tatoeba(data=".", languages=("deu", "fra")).run(LiteralVectors(), DataFolder(tmp_path))
    assert [score.dataset for score in some.scores if score.headline] == ["mean of these 2"]


def test_bad_data(tmp_path: Path) -> None:
    write(tmp_path, "tatoeba.deu-eng.deu", "1 0", "0 1")
    write(tmp_path, "tatoeba.deu-eng.eng", "1 0")
    write(tmp_path, "tatoeba.fra-eng.fra")
    write(tmp_path, "tatoeba.fra-eng.eng", "1 0")
    data = DataFolder(tmp_path)
    with pytest.raises(InputError, match=r"tatoeba\.deu-eng\.deu has 2 lines, but tatoeba\.deu-eng\.eng has 1"):
        Tatoeba(data=".", languages=("deu",)).run(LiteralVectors(), data)
    with pytest.raises(InputError, match=r"tatoeba\.fra-eng\.fra: the file is empty"):
        Tatoeba(data=".", languages=("fra",)).run(LiteralVectors(), data)
    with pytest.raises(InputError, match=r"no tatoeba\.due-eng\.due; the nearest there is deu"):
        Tatoeba(data=".", languages=("due",)).run(LiteralVectors(), data)
