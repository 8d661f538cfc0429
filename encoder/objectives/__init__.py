"""Training objectives, one a file: what the sentence vectors should be good for."""

from encoder.objectives.mixture import ObjectiveSettings, Weighted, build_objectives
from encoder.objectives.objective import EncoderFacts, Objective

__all__ = ["EncoderFacts", "Objective", "ObjectiveSettings", "Weighted", "build_objectives"]
