"""Tatoeba similarity search (Artetxe and Schwenk 2019b): the translation must be the nearest by cosine."""

from __future__ import annotations

from typing import Literal

import numpy as np
from rapidfuzz import process

from mining.errors import InputError
from pipelines.evaluation.benchmark import Benchmark, Choice, Outcome, Score, averaged, graph_of
from pipelines.evaluation.data import DataFolder, require_aligned
from pipelines.evaluation.samples import Sample, mean_percent
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


class Tatoeba(Benchmark):
    """LASER's files `tatoeba.xxx-eng.xxx` and `tatoeba.xxx-eng.eng`."""

    benchmark: Literal["tatoeba"] = "tatoeba"
    languages: tuple[str, ...] = ()  # none are all that are there

    def run(self, source: VectorSource, data: DataFolder) -> Outcome:
        found = [self._language(source, data, code) for code in self._languages(data)]
        by_code = {scores[-1].dataset: scores[-1] for scores in found}
        averages = [
            averaged(f"mean of {name}", [by_code[code] for code in codes], headline=True)
            for name, codes in GROUPS.items()
            if by_code.keys() >= set(codes)
        ]
        if set(by_code) not in map(set, GROUPS.values()):
            averages.append(averaged(f"mean of these {len(by_code)}", list(by_code.values()), headline=True))
        choices = [Choice("similarity", "cosine"), Choice("P@1", "mean of xxx-eng and eng-xxx")]
        choices.append(Choice("repeated sentences", "only the aligned line counts as right"))
        return Outcome([score for scores in found for score in scores] + averages, choices)

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
        samples = {metric: Sample(part, mean_percent) for metric, part in parts.items()}
        return [Score(code, metric, sample.value(), sample) for metric, sample in samples.items()]
