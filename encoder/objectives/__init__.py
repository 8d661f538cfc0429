"""Training objectives, one a file: what the sentence vectors should be good for."""

from encoder.objectives.base import EncoderFacts, Objective
from encoder.objectives.mixture import ObjectiveSettings, Weighted, build_objectives

__all__ = ["EncoderFacts", "Objective", "ObjectiveSettings", "Weighted", "build_objectives"]
