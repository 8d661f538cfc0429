"""Tatoeba: groups of languages as in the papers, P@1 on cases made by hand."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest

from mining.errors import InputError
from pipelines.evaluation.data import DataFolder
from pipelines.evaluation.tatoeba import GROUPS, Tatoeba
from tests.pipelines.evaluation.toys import LiteralVectors, literal, scores_of, write

# LASER in EMS Tables 4 and 5, in the order of the tables.
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


@pytest.mark.parametrize(
    ("group", "published"), [("58 (EMS, trained)", 84.7), ("54 (EMS, unseen)", 47.5), ("14 (mUSE)", 95.1)]
)
def test_groups_reproduce_the_averages_in_ems(group: str, published: float) -> None:
    words = f"{LASER_58} {LASER_54}".split()
    table = dict(zip(words[::2], map(float, words[1::2]), strict=True))
    assert np.mean([table[code] for code in GROUPS[group]]) == pytest.approx(published, abs=0.05)


def test_sizes_of_the_groups() -> None:
    for name, codes in GROUPS.items():
        assert len(set(codes)) == len(codes) == int(name.split()[0])
    assert set(GROUPS["36 (XTREME)"]) < set(GROUPS["58 (EMS, trained)"])


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
