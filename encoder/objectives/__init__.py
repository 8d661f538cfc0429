"""Training objectives, one a file: what the sentence vectors should be good for."""

from encoder.objectives.base import EncoderFacts, Objective
from encoder.objectives.ems import Ems, EmsSettings

ObjectiveSettings = EmsSettings


def build_objective(settings: ObjectiveSettings, encoder: EncoderFacts) -> Objective:
    return Ems(settings, encoder)
