"""Tatoeba similarity search (Artetxe and Schwenk 2019b): the translation must be the nearest by cosine."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from typing import Literal

import numpy as np
from pydantic import Field
from rapidfuzz import process

from mining.errors import InputError
from pipelines.evaluation.benchmark import Benchmark, Choice, Outcome, Score, averaged, graph_of
from pipelines.evaluation.benchmark_files import DataFolder, require_aligned
from pipelines.evaluation.samples import TestItems, mean_percent
from pipelines.evaluation.sources import VectorSource

# "Tatoeba-14" is two things. InfoXLM's, on which mSimCSE and MPCL build, are the languages of XNLI; LaBSE's, from which
# they quote LASER and LaBSE, are those of mUSE (LASER averages 95.1 on them in EMS Table 4, and 92.0 on XNLI's).
_GROUPS = {
    "14 (XNLI)": "ara bul cmn deu ell fra hin rus spa swh tha tur urd vie",
    "14 (mUSE)": "ara cmn deu fra ita jpn kor nld pol por rus spa tha tur",
    "36 (XTREME)": "afr ara ben bul cmn deu ell est eus fin fra heb hin hun ind ita jav jpn kat kaz kor mal mar "
    "nld pes por rus spa swh tam tel tgl tha tur urd vie",
    # EMS Table 4
    "58 (EMS, trained)": "afr ara ben bul cat ces cmn dan deu ell epo est eus fin fra glg heb hin hrv hun hye ind ita "
    "jav jpn kat kaz kor kur lit lvs mal mar max mkd mon nld nob pes pol por ron rus slk slv spa "
    "sqi srp swe swh tam tel tgl tha tur ukr urd vie",
    # EMS Table 5
    "54 (EMS, unseen)": "amh ang arq arz ast awa aze bel ber bos bre cbk ceb cha cor csb cym dsb dtp fao fry gla gle "
    "gsw hsb ido ile ina isl kab khm kzj lat lfn mhr nds nno nov oci orv pam pms swg tat tuk tzl "
    "uig uzb war wuu xho yid yue zsm",
}
GROUPS = {name: tuple(codes.split()) for name, codes in _GROUPS.items()}
GROUPS["112 (all)"] = tuple(sorted(GROUPS["58 (EMS, trained)"] + GROUPS["54 (EMS, unseen)"]))


def _without(group: str, codes: str) -> tuple[str, ...]:
    return tuple(code for code in GROUPS[group] if code not in codes.split())


# EMS Tables 6 and 13, by the sizes of its Table 1; means of its Table 4 over these are those that it prints. Its own
# numbers of languages count English, and for SBERT-distill languages that Tatoeba does not have. They are no headlines:
# intervals would take twice as long.
_HEADLINES = frozenset(GROUPS)
_FEW = "afr hin hye jav kat kaz kur mar mon nob swh tam tel tgl urd"
GROUPS |= {
    "37 (EMS: XTREME)": (*GROUPS["36 (XTREME)"], "max"),
    "45 (EMS: SBERT-distill)": _without("58 (EMS, trained)", "afr ben epo eus jav kaz kur mal max swh tam tel tgl"),
    "43 (EMS: less data than LASER)": _without(
        "58 (EMS, trained)", "cat epo glg hye jav kaz kor mal mar mon pes spa tam tgl ukr"
    ),
    "43 (EMS: over 300k)": _without("58 (EMS, trained)", _FEW),
    "15 (EMS: below 300k)": tuple(_FEW.split()),
    "42 (EMS, LASER, SBERT: over 300k)": _without("58 (EMS, trained)", f"{_FEW} pes"),
    "11 (EMS, LASER, SBERT: below 300k)": tuple(c for c in _FEW.split() if c not in ("jav", "mon", "nob", "urd")),
}


class Tatoeba(Benchmark):
    """LASER's files `tatoeba.xxx-eng.xxx` and `tatoeba.xxx-eng.eng`. With `seen`, also means of these and of others."""

    benchmark: Literal["tatoeba"] = "tatoeba"
    languages: tuple[str, ...] = Field((), description="ISO 639-3 codes; all that are there if empty.")
    seen: tuple[str, ...] = Field((), description="Languages that the encoder was trained on (VMSST Table 8).")

    def run(self, source: VectorSource, data: DataFolder) -> Outcome:
        by_code = {code: self._language(source, data, code) for code in self._languages(data)}
        groups = {name: codes for name, codes in GROUPS.items() if by_code.keys() >= set(codes)}
        if set(by_code) not in map(set, GROUPS.values()):
            groups[f"these {len(by_code)}"] = tuple(by_code)
        averages = [
            mean for name, codes in (groups | self._seen(by_code)).items() for mean in _means(name, codes, by_code)
        ]
        choices = [
            Choice("similarity", "cosine"),
            Choice("P@1", "mean of xxx-eng and eng-xxx; XTREME's is that to English alone"),
            Choice("repeated sentences", "only the aligned line counts as right"),
        ]
        return Outcome([score for scores in by_code.values() for score in scores] + averages, choices)

    def _seen(self, there: Iterable[str]) -> dict[str, tuple[str, ...]]:
        if not self.seen:
            return {}
        parts = {"seen": [c for c in there if c in self.seen], "unseen": [c for c in there if c not in self.seen]}
        return {f"{len(codes)} ({name})": tuple(codes) for name, codes in parts.items() if codes}

    def _languages(self, data: DataFolder) -> tuple[str, ...]:
        there = data.languages("tatoeba.{lang}-eng.{lang}")
        for code in self.languages:
            if code not in there:
                near = process.extractOne(code, sorted(there))
                hint = f"; the nearest there is {near[0]}" if near else ""
                raise InputError(f"{data.root}: there is no tatoeba.{code}-eng.{code}{hint}")
        return self.languages or tuple(sorted(there))

    def _language(self, source: VectorSource, data: DataFolder, code: str) -> list[Score]:
        """P@1 of each direction and, last, of both."""
        theirs = data.texts(f"tatoeba.{code}-eng.{code}", code)
        english = data.texts(f"tatoeba.{code}-eng.eng", "en")
        require_aligned(data.root, theirs, english)
        graph = graph_of(source.vectors(theirs), source.vectors(english), 1)
        rows = np.arange(len(theirs))
        hits = np.stack([graph.forward.ids[:, 0] == rows, graph.backward.ids[:, 0] == rows], axis=1)  # (lines, 2)
        parts = {"P@1 to English": hits[:, :1], "P@1 from English": hits[:, 1:], "P@1": hits}
        samples = {metric: TestItems(part, mean_percent) for metric, part in parts.items()}
        return [Score(code, metric, sample.value(), sample) for metric, sample in samples.items()]


def _means(name: str, codes: Sequence[str], by_code: Mapping[str, list[Score]]) -> list[Score]:
    """Over a group of languages, of both directions and of each; the first may be a headline."""
    by_metric = zip(*(reversed(by_code[code]) for code in codes), strict=True)
    headline = name in _HEADLINES or name not in GROUPS
    return [averaged(f"mean of {name}", scores, headline=headline and not n) for n, scores in enumerate(by_metric)]
