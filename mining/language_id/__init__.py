"""Which language a sentence is in, by a small model in the package: nothing is downloaded."""

from mining.language_id.corpus_language import Detection, detect, require_language
from mining.language_id.sentence_language import LIKELY, is_known, language_probabilities, model_version

__all__ = [
    "LIKELY",
    "Detection",
    "detect",
    "is_known",
    "language_probabilities",
    "model_version",
    "require_language",
]
