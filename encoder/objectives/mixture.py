"""Several objectives for one encoder: each draws its own batch, and their losses are added with weights."""

from __future__ import annotations

from typing import Annotated, Literal, NamedTuple

from pydantic import Field

from encoder.batch import DataShape
from encoder.objectives.ems import Ems, EmsSettings
from encoder.objectives.mpcl import Mpcl, MpclSettings
from encoder.objectives.msimcse import Msimcse, MsimcseSettings
from encoder.objectives.objective import EncoderFacts, Objective
from encoder.objectives.split import Split, SplitSettings
from encoder.objectives.vmsst import Vmsst, VmsstSettings
from encoder.settings import Settings

OneObjective = EmsSettings | MsimcseSettings | MpclSettings | VmsstSettings | SplitSettings
SingleSettings = Annotated[OneObjective, Field(discriminator="kind")]


class Share(Settings):
    """One objective of a mixture, and its weight."""

    objective: SingleSettings
    weight: float = Field(1.0, gt=0, description="Its weight in the sum.")
    pairs: int | None = Field(None, ge=2, description="Pairs (triples, groups) of its batch; default: `batch.pairs`.")


class MixtureSettings(Settings):
    """Several objectives, summed by their weights."""

    kind: Literal["mixture"] = "mixture"
    parts: tuple[Share, ...] = Field(min_length=2)


ObjectiveSettings = Annotated[OneObjective | MixtureSettings, Field(discriminator="kind")]


def shapes(settings: OneObjective | MixtureSettings) -> list[DataShape]:
    """What the examples must be, of each objective."""
    if isinstance(settings, MixtureSettings):
        return [share.objective.shape for share in settings.parts]
    return [settings.shape]


class Weighted(NamedTuple):
    """An objective, the share of its loss in the sum, and the size of its batches where it has one of its own."""

    name: str
    objective: Objective
    weight: float
    pairs: int | None = None


def build_objectives(settings: OneObjective | MixtureSettings, encoder: EncoderFacts) -> list[Weighted]:
    """One objective, or all of a mixture; names tell the parts of a mixture apart."""
    if isinstance(settings, MixtureSettings):
        return [
            Weighted(f"{share.objective.kind}{number}", _build(share.objective, encoder), share.weight, share.pairs)
            for number, share in enumerate(settings.parts)
        ]
    return [Weighted("", _build(settings, encoder), 1.0)]


def _build(settings: OneObjective, encoder: EncoderFacts) -> Objective:
    match settings:
        case EmsSettings():
            return Ems(settings, encoder)
        case MsimcseSettings():
            return Msimcse(settings, encoder)
        case MpclSettings():
            return Mpcl(settings, encoder)
        case VmsstSettings():
            return Vmsst(settings, encoder)
        case SplitSettings():
            return Split(settings, encoder)
