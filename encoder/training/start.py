"""The encoder that training begins with: where it is, the settings that come from it, and its weights."""

from __future__ import annotations

from pathlib import Path
from typing import Any

from pydantic import BaseModel
from torch import nn

from encoder import default
from encoder.checkpoint import Checkpoint, is_checkpoint, load_checkpoint, local_copy
from encoder.models import Bag, BagSettings, PretrainedSettings, Transformer, TransformerSettings
from encoder.models.smaller_bag import is_smaller, smaller_state
from encoder.settings import validate_settings
from encoder.training.row_use import row_use, training_sentences
from encoder.training.training_settings import DEFAULT_ENCODER, StartSettings, TrainSettings
from mining.errors import InputError

_HUGGING_FACE = ("config.json", "modules.json")
_SIZES = {"dim", "bigrams", "words", "ngrams"}  # of a bag, which may begin with a larger one


def start_folder(start: StartSettings) -> Path:
    """Where the encoder is; `default` is that of the package, unless there is a folder of this name."""
    if start.encoder == DEFAULT_ENCODER and not Path(DEFAULT_ENCODER).exists():
        return default.model_folder()
    return local_copy(start.encoder)


def read_start(settings: TrainSettings) -> Checkpoint | None:
    """The encoder that training begins with."""
    if settings.start is None:
        return None
    folder = start_folder(settings.start)
    if not is_checkpoint(folder) and any((folder / name).is_file() for name in _HUGGING_FACE):
        source = settings.start.encoder
        raise InputError(
            f"start.encoder: {source} is a Hugging Face folder; leave `start` out and train it with "
            f"`model: {{kind: pretrained, source: {source}}}`"
        )
    trusted = isinstance(settings.model, PretrainedSettings) and settings.model.trust_remote_code
    return load_checkpoint(folder, trust_remote_code=trusted)


def with_settings_of(start: Checkpoint, settings: TrainSettings) -> TrainSettings:
    """`settings` with the `text` and `model` keys of the encoder where they leave them out; others are refused.

    One whose subwords alone are taken, which cut any text, leaves them as they are.
    """
    assert settings.start is not None
    theirs = start.settings
    if not settings.start.weights and theirs.text is not None:
        return settings
    taken: dict[str, BaseModel] = {}
    if not ("model" in settings.model_fields_set and _grows(settings.model, theirs.model)):
        taken["model"] = _smaller(settings.model, theirs.model) or theirs.model
    if theirs.text is not None:
        taken["text"] = theirs.text
    different = [
        line
        for name, section in taken.items()
        if name in settings.model_fields_set
        for line in _differences(name, section, getattr(settings, name))
    ]
    if different:
        raise InputError(
            f"{settings.start.encoder} has other settings than this run: {'; '.join(different)}; leave them out here"
        )
    given = {name: getattr(settings, name) for name in settings.model_fields_set}
    return validate_settings(TrainSettings, given | taken, f"start.encoder {settings.start.encoder}")


def _differences(section: str, theirs: BaseModel, ours: BaseModel) -> list[str]:
    there, here = flatten(theirs.model_dump(mode="json")), flatten(ours.model_dump(mode="json", exclude_unset=True))
    if type(theirs) is not type(ours):
        there, here = ({"kind": getattr(model, "kind", None)} for model in (theirs, ours))
    return [
        f"{section}.{key}: {there.get(key)} there, {value} here"
        for key, value in here.items()
        if there.get(key) != value
    ]


def _grows(ours: object, theirs: object) -> bool:
    """A transformer takes over the embeddings of a bag."""
    return isinstance(ours, TransformerSettings) and isinstance(theirs, BagSettings)


def _smaller(ours: BaseModel, theirs: BaseModel) -> BagSettings | None:
    """The settings of a bag that is made smaller: its own where they are given, else those of the encoder."""
    if not isinstance(ours, BagSettings) or not isinstance(theirs, BagSettings):
        return None
    given = {name: getattr(ours, name) for name in _SIZES & ours.model_fields_set}
    made = theirs.model_copy(update=given)
    return made if is_smaller(made, theirs) else None


def begin_with(model: nn.Module, trained: nn.Module, start: StartSettings) -> None:
    """Put the weights of the encoder into the new model."""
    if isinstance(model, Transformer) and isinstance(trained, Bag):
        model.grow_from(trained, start.scale)
    elif start.scale != 1:
        raise InputError("start.scale is for a transformer that grows from a bag; leave it out")
    elif isinstance(model, Bag) and isinstance(trained, Bag) and model.settings != trained.settings:
        use = row_use(trained, training_sentences(start_folder(start)))
        model.load_state_dict(smaller_state(trained, model.settings, use))
    else:
        model.load_state_dict(trained.state_dict())


def flatten(tree: Any, prefix: str = "") -> dict[str, Any]:
    """Nested settings as `a.b` keys."""
    if not isinstance(tree, dict | list):
        return {prefix: tree}
    items = tree.items() if isinstance(tree, dict) else enumerate(tree)
    flat: dict[str, Any] = {}
    for key, value in items:
        flat |= flatten(value, f"{prefix}.{key}" if prefix else str(key))
    return flat
