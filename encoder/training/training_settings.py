"""Everything a training run depends on: the schema of the files in `configs/`."""

from __future__ import annotations

from typing import Any, Literal

from pydantic import Field, model_validator

from encoder.data.corpora import DataSettings
from encoder.data.examples import NO_PAIRS, NO_TRIPLES
from encoder.data.sampling import BatchSettings
from encoder.models import BagSettings, ModelSettings
from encoder.objectives import ObjectiveSettings
from encoder.objectives.ems import EmsSettings
from encoder.objectives.mixture import shapes
from encoder.settings import Settings
from encoder.subword import SubwordSettings
from encoder.text import TextSettings
from encoder.training.teacher import TeacherSettings

DEFAULT_ENCODER = "default"  # the encoder of the package, as `start.encoder`


class ParameterGroup(Settings):
    """Parameters with a learning rate of their own, such as new layers on a trained encoder; the schedule is shared."""

    parameters: str = Field(description="Pattern of their names, such as `model.gate.*` or `objectives.*`.")
    lr: float = Field(ge=0, description="Their highest learning rate; 0 leaves them as they are.")


class OptimizerSettings(Settings):
    """Defaults are those of EMS; its released code sets `amsgrad`. Adafactor has no `betas` and its own `eps`,
    lazy Adam neither `weight_decay` nor `amsgrad`."""

    kind: Literal["adam", "adamw", "lazy_adam", "adafactor"] = Field("adam", description="Which optimizer.")
    lr: float = Field(3e-4, gt=0, description="Highest learning rate.")
    groups: tuple[ParameterGroup, ...] = Field((), description="Parameters with another learning rate.")
    betas: tuple[float, float] = Field((0.9, 0.999), description="Decay of Adam's two means.")
    eps: float = Field(1e-8, gt=0, description="Added to Adam's denominator.")
    weight_decay: float = Field(1e-5, ge=0, description="Strength of the decay.")
    amsgrad: bool = Field(False, description="Keep the largest second moment.")
    clip: float | None = Field(1.0, gt=0, description="Largest norm of the gradient; null for any.")


class ScheduleSettings(Settings):
    """Linear warm-up, then down to `end` times the learning rate: at the end of the run, or never quite."""

    decay: Literal["cosine", "linear", "inverse-sqrt"] = Field(
        "cosine", description="How the learning rate falls after the warm-up."
    )
    warmup: float = Field(0.05, ge=0, description="Share of the run when below 1, else steps.")
    end: float = Field(0.0, ge=0, le=1, description="Share of the learning rate at the end.")


class DevTask(Settings):
    """Another task that chooses the checkpoint: MPCL has STS22 for STS17, Tatoeba for BUCC, and the other way round."""

    benchmark: dict[str, Any] = Field(
        description="A benchmark of `twinlode eval` and its settings, as in a suite; `data` from the current folder."
    )
    score: str = Field(description="Name of one of its scores: dataset and metric.")
    lower: bool = Field(False, description="The lower, the better, as errors are.")


class EvaluationSettings(Settings):
    """Held-out pairs by which training is watched and the best checkpoint chosen; or `sts` or `task` in their place."""

    pairs: int = Field(
        2000,
        ge=0,
        description="Held-out pairs for retrieval P@1, spread over all language pairs; at most 5% of each.",
    )
    share: float = Field(
        0.0,
        ge=0,
        le=0.5,
        description="Never train on this share of the English sentences nor their translations; `pairs` are of them.",
    )
    sts: str | None = Field(
        None,
        description="Choose by Spearman's correlation on this file (STS-B's sts-dev.csv) instead, without any parallel "
        "text; `pairs` are then 0.",
    )
    task: DevTask | None = Field(
        None, description="Choose by the score of a benchmark instead, that of another task; `pairs` are then 0."
    )
    every: int | None = Field(None, ge=1, description="Steps between evaluations; ten over the run when not given.")
    patience: int | None = Field(None, ge=1, description="Stop after this many evaluations without a better figure.")

    @model_validator(mode="before")
    @classmethod
    def _one_choice(cls, data: Any) -> Any:
        if not isinstance(data, dict) or (data.get("sts") is None and data.get("task") is None):
            return data
        if data.get("pairs") or data.get("share") or (data.get("sts") and data.get("task")):
            raise ValueError("the checkpoint is chosen by sts, by a task or by held-out pairs; leave out the others")
        return data | {"pairs": 0}


class LimitSettings(Settings):
    """The run ends at whichever of these comes first. Minutes are those of training, not of preparing data."""

    steps: int | None = Field(None, ge=1, description="Most updates.")
    epochs: float | None = Field(None, gt=0, description="Most times through the data.")
    examples: int | None = Field(None, ge=1, description="Most pairs (or triples, groups, sentences) that are seen.")
    minutes: float | None = Field(None, gt=0, description="Longest time of training.")
    clock: Literal["wall", "cpu"] = Field("wall", description="What minutes are: cpu adds up all threads' work.")

    @model_validator(mode="after")
    def _some_limit(self) -> LimitSettings:
        if self.steps is None and self.epochs is None and self.examples is None and self.minutes is None:
            raise ValueError("when should training end? Set steps, epochs, examples or minutes")
        return self


class StartSettings(Settings):
    """An encoder to begin with instead of a new one; heads that only training has begin anew.

    A transformer may begin with a bag of the same dim: with `norm: pre` and `zero_init: true` it starts as that bag.
    A bag may begin with a larger one: of more dimensions, or with tables of two, three or more times the buckets.
    """

    encoder: str = Field(
        description="Folder of an encoder, or `default` for that of the package; leave out `text` and `model`, which "
        "are its own, unless a transformer begins with a bag, or a bag with a larger one."
    )
    weights: bool = Field(True, description="Take its weights; else only its subwords, and train from scratch.")
    scale: float = Field(
        1.0, gt=0, description="Of a bag: times this, for objectives on dot products; its cosines stay the same."
    )


class TrainSettings(Settings):
    data: DataSettings
    limits: LimitSettings
    text: TextSettings = TextSettings()
    subword: SubwordSettings = SubwordSettings()
    model: ModelSettings = Field(default_factory=BagSettings)
    objective: ObjectiveSettings = Field(default_factory=EmsSettings)
    optimizer: OptimizerSettings = OptimizerSettings()
    schedule: ScheduleSettings = ScheduleSettings()
    batch: BatchSettings = BatchSettings()
    evaluation: EvaluationSettings = EvaluationSettings()
    start: StartSettings | None = None
    teacher: TeacherSettings | None = None
    random_seed: int = Field(0, ge=0, description="For everything that is drawn.")
    precision: Literal["fp32", "fp16", "bf16"] = Field("fp32", description="On CUDA; a CPU always computes in fp32.")
    compile: bool = Field(False, description="torch.compile the encoder.")
    save_every: int = Field(1000, ge=1, description="Steps between saves of the state that a resumed run needs.")

    @model_validator(mode="after")
    def _objective_fits_the_data(self) -> TrainSettings:
        formats = {corpus.format for corpus in self.data.corpora}
        for shape in shapes(self.objective):
            if shape == "triples" and not formats & {"nli", "nli-parallel"}:
                raise ValueError(NO_TRIPLES)
            if shape in ("pairs", "groups") and formats == {"text"}:
                raise ValueError(NO_PAIRS)
        return self

    @model_validator(mode="after")
    def _optimizer_takes_the_gradients(self) -> TrainSettings:
        if isinstance(self.model, BagSettings) and self.model.sparse and self.optimizer.kind != "lazy_adam":
            raise ValueError("model.sparse gives sparse gradients, which only optimizer.kind: lazy_adam takes")
        return self
