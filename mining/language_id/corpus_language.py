"""The language of a whole corpus, from a sample of its sentences."""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from mining.errors import InputError
from mining.language_id.identifier import load_model, score
from mining.language_id.script_names import unknown_script
from mining.language_id.sentence_language import LIKELY, confusable, is_known, language_probabilities

_SURE = 0.8
_ROUNDS = 30
_UNSEEN = 1.7  # sentences imagined, spread over all languages: a handful of lines alone is no proof


class Detection(NamedTuple):
    """The most frequent language of a corpus.

    Confidence is the share of the sentences that are in it, or in one that cannot be told from it: low where the corpus
    is mixed, in a language that the model does not know, or very short.
    """

    language: str  # "und" where no sentence has a letter of a script that the model knows
    confidence: float
    shares: dict[str, float]  # of all languages with 1% or more, the largest first
    script: str | None = None  # of most sentences, where the model knows no language of it

    @property
    def sure(self) -> bool:
        return self.confidence >= _SURE


def detect(texts: Sequence[str]) -> Detection:
    """The language of a corpus of which `texts` is a sample; a few hundred sentences are plenty."""
    model = load_model()
    scores = score(model, texts)
    judged, written = scores.features > 0, scores.features != 0
    script = unknown_script(texts) if 2 * (scores.features < 0).sum() > written.sum() else None
    if not judged.any():
        return Detection("und", 0.0, {}, script)
    shares = _mixture(scores.logits[judged].astype(np.float64)) * judged.sum() / written.sum()
    alone = dict(sorted(zip(model.languages, shares.tolist(), strict=True), key=lambda share: -share[1]))
    together = {name: sum(alone.get(other, 0.0) for other in confusable(name)) for name in alone}
    language = max(alone, key=lambda name: (together[name], alone[name]))
    sentences = [text for text, has_letters in zip(texts, written, strict=True) if has_letters]
    right = float(np.mean(language_probabilities(sentences, language) >= LIKELY))
    confidence = min(together[language], right) if is_known(language) else 0.0
    return Detection(language, confidence, {name: share for name, share in alone.items() if share >= 0.01}, script)


def require_language(texts: Sequence[str], source: str) -> str:
    """The language of a corpus, or an error that says why it cannot be told; `source` names the corpus in it."""
    found = detect(texts)
    if found.sure:
        return found.language
    if found.script is not None:
        raise InputError(
            f"{source}: most of its {len(texts):,} sentences are in {found.script} letters, and the language detector "
            "knows no language of that script: give the language (--src-lang or --tgt-lang) and --lang-filter assume",
            code="T06",
        )
    shares = ", ".join(f"{language} {share:.0%}" for language, share in list(found.shares.items())[:3])
    found_there = shares or "no letters"
    raise InputError(
        f"{source}: its language cannot be told from {len(texts):,} sentences ({found_there}); "
        "it may be mixed, too short or in a language the detector does not know: give the language",
        code="T06",
    )


def _mixture(logits: NDArray[np.float64]) -> NDArray[np.float64]:
    """Shares of the languages, by expectation maximisation.

    Averages of the sentences' own probabilities would give close languages a share that no sentence of theirs has.
    """
    count, languages = logits.shape
    likelihoods = np.exp(logits - logits.max(axis=1, keepdims=True))
    shares = np.full(languages, 1 / languages)
    for _ in range(_ROUNDS):
        weighted = likelihoods * shares
        responsible = (weighted / weighted.sum(axis=1, keepdims=True)).sum(axis=0)
        shares = (responsible + _UNSEEN / languages) / (count + _UNSEEN)
    return shares
