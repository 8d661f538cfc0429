"""From settings to a trained encoder in a folder: vocabulary, token store, model, objective, training."""

from __future__ import annotations

import os
from collections.abc import Callable, Sequence
from contextlib import AbstractContextManager, nullcontext
from functools import partial
from pathlib import Path
from typing import Any, NamedTuple, cast

import numpy as np
import torch
from torch import Tensor, nn

from encoder import distributed
from encoder.checkpoint import (
    SUBWORD,
    file_hash,
    save_checkpoint,
)
from encoder.data.examples import build_examples, pair_batch
from encoder.data.heldout import HeldOut, hold_out
from encoder.data.preparation import Report, Tokenizer, TokenizerRecipe, prepare
from encoder.data.sampling import BatchSettings, Sampler, mixture
from encoder.data.store import Store
from encoder.data.vocabulary import load_tokenizer, prepare_subword
from encoder.inference import Encoder
from encoder.matrix_products import fast_products
from encoder.models import BagSettings, Pretrained, PretrainedSettings, SentenceModel, build_model
from encoder.models.pretrained import TokenizerText
from encoder.objectives import EncoderFacts, Weighted, build_objectives
from encoder.objectives.distillation import Distillation
from encoder.romanise import spell
from encoder.settings import validate_settings
from encoder.subword import Subword
from encoder.text import TextEncoder, tokenizer_fingerprint
from encoder.training.start import begin_with, flatten, read_start, start_folder, with_settings_of
from encoder.training.state import BEST, STATE_FILE, read_facts
from encoder.training.teacher import Taught, TaughtExamples, TeacherSettings, prepare_teacher
from encoder.training.trainer import Job, Observer, Trained, Trainer, TrainingTask
from encoder.training.training_card import write_training_card
from encoder.training.training_settings import TrainSettings
from encoder.training.validation import Measure, Validation, by_retrieval, by_similarity, by_task
from mining.allocator import freed_memory_kept
from mining.errors import InputError
from mining.files import restore_folder
from mining.locks import held_folder

# A run may be resumed with other values of these. Not with other held-out pairs: it may have been trained on them, and
# its best figure is of those before; nor with another clock, of which it has counted minutes.
_FREE_TO_CHANGE = ("evaluation.every", "evaluation.patience", "save_every", "data.cache")
_LIMITS = ("limits.steps", "limits.epochs", "limits.examples", "limits.minutes")


class Prepared(NamedTuple):
    """Tokenized data with the text side of the encoder that made it."""

    store: Store
    subword: Path | None  # None for a pretrained encoder, which brings its tokenizer
    vocabulary: int
    tokenizer: Callable[[], Tokenizer]
    word_starts: Tensor | None = None  # (vocabulary,) bool
    spellings: Tensor | None = None  # (vocabulary, letters) uint8, for a bag that spells words


def prepare_data(
    settings: TrainSettings, out: Path, *, exclude: Sequence[str], strict: bool, report: Report, model: nn.Module | None
) -> Prepared:
    """The vocabulary and the token store, made now or found in the cache. `model` is a pretrained one, or None."""
    cache = Path(settings.data.cache) if settings.data.cache else out / "data"
    cache.mkdir(parents=True, exist_ok=True)
    if isinstance(model, Pretrained):
        identity = repr((settings.model, model.text.max_tokens))
        recipe = TokenizerRecipe(lambda: cast(Tokenizer, model.text), identity, workers=1)
        return Prepared(
            prepare(settings.data, recipe, cache, exclude=exclude, strict=strict, report=report),
            None,
            len(model.text.tokenizer),
            recipe.make,
        )
    if settings.start is None:
        path = prepare_subword(settings.data, settings.text, settings.subword, cache, exclude=exclude, strict=strict)
        name = path.name
    else:
        path = start_folder(settings.start) / SUBWORD
        name = file_hash(path)
    make = partial(load_tokenizer, settings.text, path)
    recipe = TokenizerRecipe(make, tokenizer_fingerprint(name, settings.text), workers=os.cpu_count() or 1)
    store = prepare(settings.data, recipe, cache, exclude=exclude, strict=strict, report=report)
    subword = Subword.load(path)
    spells = isinstance(settings.model, BagSettings) and settings.model.ngrams > 0
    spellings = torch.from_numpy(spell(subword.pieces())) if spells else None
    return Prepared(store, path, subword.vocabulary, make, torch.from_numpy(subword.word_starts()), spellings)


def train(
    settings: TrainSettings,
    out: Path,
    observer: Callable[[Path], Observer],
    *,
    exclude: Sequence[str] = (),
    strict: bool = False,
    report: Report = lambda groups: None,
    measure: Measure | None = None,
    fixed_limits: bool = False,
) -> Trained:
    """Train into `out`: `best/` is the checkpoint, `training.safetensors` what a resumed run needs, `data/` the tokens.

    `observer` is called with that folder when data is ready and training begins. `measure` is the score of
    `evaluation.task`, as `pipelines.evaluation.dev_score` makes it: encoders know of no benchmark. A run found in `out`
    is continued, also with other limits unless these are `fixed_limits`.
    """
    if settings.evaluation.task is not None and measure is None:
        raise InputError("evaluation.task: only twinlode train, compare and loop measure it, not encoder.train alone")
    with distributed.process_group() as device, _alone(out):
        return _run(
            settings,
            out,
            observer,
            device,
            exclude=exclude,
            strict=strict,
            report=report,
            measure=measure,
            free=_FREE_TO_CHANGE if fixed_limits else _FREE_TO_CHANGE + _LIMITS,
        )


def _run(
    settings: TrainSettings,
    out: Path,
    observer: Callable[[Path], Observer],
    device: torch.device,
    *,
    exclude: Sequence[str],
    strict: bool,
    report: Report,
    measure: Measure | None,
    free: tuple[str, ...],
) -> Trained:
    """One encoder, trained from where it stands to its end."""
    out.mkdir(parents=True, exist_ok=True)
    state_path = out / STATE_FILE
    saved = read_facts(state_path) if state_path.exists() else None
    start = read_start(settings)
    if start is not None:
        settings = with_settings_of(start, settings)
    changed = _free_changes(saved["settings"], settings, out, free) if saved is not None else []
    if distributed.rank() == 0:
        restore_folder(out / BEST)
    torch.manual_seed(settings.random_seed)
    pretrained = isinstance(settings.model, PretrainedSettings)
    model = build_model(settings.model, 0) if pretrained else None
    prepare_here = partial(prepare_data, settings, out, exclude=exclude, strict=strict, report=report, model=model)
    data = distributed.first_process_first(prepare_here)
    if saved is not None:
        _refuse_other_data(saved.get("data"), data.store, out)
    model = model or build_model(settings.model, data.vocabulary, data.word_starts, data.spellings)
    if start is not None and settings.start is not None and settings.start.weights:
        begin_with(model, start.model, settings.start)
    objectives = _objectives(settings, model, data)
    held_out = hold_out(data.store, settings.evaluation.pairs, settings.evaluation.share)
    taught = distributed.first_process_first(partial(_taught, settings, data, model, out, exclude))
    validation = _validation(settings, model, data, held_out, device, measure)
    job = _job(settings, out, model, objectives, data, held_out, taught, validation, device)
    watch = observer(out)
    if saved is not None and changed:
        watch.noted(_goes_on(saved["position"][0], changed))
    with freed_memory_kept(), fast_products():
        result = Trainer(job, watch).run()
    if distributed.rank() == 0:
        write_training_card(out / BEST, settings, data.store)
    examples = sum(task.sampler.total for task in job.tasks)
    kept = sum(task.sampler.kept() for task in job.tasks) if distributed.rank() == 0 else 0
    return Trained(result, out / BEST, data.store, len(held_out.pairs), examples, kept, job.validation)


def _alone(out: Path) -> AbstractContextManager[None]:
    """The folder of the run for this run alone; of several processes the first holds it."""
    return held_folder(str(out)) if distributed.rank() == 0 else nullcontext()


def _job(
    settings: TrainSettings,
    out: Path,
    model: nn.Module,
    objectives: list[Weighted],
    data: Prepared,
    held_out: HeldOut,
    taught: Taught | None,
    validation: Validation | None,
    device: torch.device,
) -> Job:
    store = data.store
    tasks = [_task(settings, store, held_out, weighted) for weighted in objectives]
    if taught is not None and settings.teacher is not None:
        tasks.append(_teaching(settings, settings.teacher, taught, store, held_out, model))

    def save_best(metrics: dict[str, float]) -> None:
        save_checkpoint(out / BEST, model, settings, data.subword, metrics)

    return Job(settings, model, tasks, validation, device, out / STATE_FILE, save_best, store.folder.name)


def _validation(
    settings: TrainSettings,
    model: nn.Module,
    data: Prepared,
    held_out: HeldOut,
    device: torch.device,
    measure: Measure | None,
) -> Validation | None:
    evaluation, max_tokens = settings.evaluation, settings.batch.max_tokens
    if evaluation.sts is not None:
        return by_similarity(evaluation.sts, data.tokenizer(), max_tokens, device)
    if evaluation.task is not None and measure is not None:
        text = cast(TextEncoder | TokenizerText, data.tokenizer())
        encoder = Encoder(cast(SentenceModel, model), text, fingerprint="in training", device=str(device))
        return by_task(evaluation.task.score, measure, encoder)
    return by_retrieval(pair_batch(data.store, held_out.pairs, max_tokens).to(device)) if len(held_out.pairs) else None


def _task(settings: TrainSettings, store: Store, held_out: HeldOut, weighted: Weighted) -> TrainingTask:
    objective, data = weighted.objective, settings.data
    examples = build_examples(
        objective.shape,
        store,
        positives=objective.positives,
        least=objective.least,
        languages=objective.languages,
        assembly=data.assemble,
    )
    probabilities = mixture(examples.sources, [corpus.weight for corpus in data.corpora], data.temperature)
    batch = settings.batch if weighted.pairs is None else settings.batch.model_copy(update={"pairs": weighted.pairs})
    processes = distributed.world_size()
    sampler = Sampler(store, examples, held_out, probabilities, batch, settings.random_seed, processes)
    return TrainingTask(weighted.name, objective, weighted.weight, sampler)


def _taught(
    settings: TrainSettings, data: Prepared, model: nn.Module, out: Path, exclude: Sequence[str]
) -> Taught | None:
    if settings.teacher is None:
        return None
    tokenizer = cast(Tokenizer, model.text) if data.subword is None else load_tokenizer(settings.text, data.subword)
    cache = Path(settings.data.cache) if settings.data.cache else out / "data"
    return prepare_teacher(settings.teacher, tokenizer, cache, settings.random_seed, exclude)


def _teaching(
    settings: TrainSettings, teacher: TeacherSettings, taught: Taught, store: Store, held_out: HeldOut, model: nn.Module
) -> TrainingTask:
    """Sentences with vectors of the teacher, beside the objectives of the run."""
    objective = Distillation(taught.vectors, cast(int, model.dim), teacher.features, teacher.similarities)
    batch = BatchSettings(pairs=teacher.batch, max_tokens=settings.batch.max_tokens)
    examples = TaughtExamples(taught.tokens)
    processes = distributed.world_size()
    sampler = Sampler(store, examples, held_out, np.ones(1), batch, settings.random_seed, processes)
    return TrainingTask("teacher", objective, teacher.weight, sampler)


def _objectives(settings: TrainSettings, model: nn.Module, data: Prepared) -> list[Weighted]:
    pretrained = model if isinstance(model, Pretrained) else None
    tokens = pretrained.backbone.get_input_embeddings() if pretrained else getattr(model, "tokens", None)
    embedding = getattr(tokens, "weight", None)
    dropout = any(isinstance(module, nn.Dropout) and module.p > 0 for module in model.modules())
    facts = EncoderFacts(cast(int, model.dim), data.vocabulary, data.store.languages, embedding, dropout, pretrained)
    return build_objectives(settings.objective, facts)


class ChangedSetting(NamedTuple):
    """What a resumed run has otherwise than before."""

    key: str
    before: Any
    now: Any

    def __str__(self) -> str:
        return f"{self.key} ({_given(self.before)}, now {_given(self.now)})"


def _given(value: Any) -> str:
    return "none" if value is None else str(value)


def _goes_on(step: int, changed: Sequence[ChangedSetting]) -> str:
    said = f"goes on from step {step:,} with another {', '.join(map(str, changed))}"
    if any(change.key in _LIMITS for change in changed):
        return f"{said}; from here the learning rate falls by the plan of a run of this length"
    return said


def _free_changes(
    saved: dict[str, Any], settings: TrainSettings, out: Path, free: tuple[str, ...]
) -> list[ChangedSetting]:
    """What has changed and may; anything else is refused."""
    known = validate_settings(TrainSettings, saved, str(out / STATE_FILE))  # with defaults for what is new since then
    before, now = flatten(known.model_dump(mode="json")), flatten(settings.model_dump(mode="json"))
    keys = sorted(key for key in before.keys() | now.keys() if before.get(key) != now.get(key))
    changed = [ChangedSetting(key, before.get(key), now.get(key)) for key in keys]
    refused = next((change for change in changed if change.key not in free), None)
    if refused is not None:
        raise InputError(
            f"{out} holds a run with another {refused}; train into another folder, or delete this one", code="T04"
        )
    return changed


def _refuse_other_data(name: str | None, store: Store, out: Path) -> None:
    """The name of a store stands for the corpora, --exclude, --strict and the tokens made of them."""
    if name != store.folder.name:
        raise InputError(
            f"{out} holds a run on other data: a corpus, --exclude or --strict has changed since; train into another "
            "folder, or delete this one"
        )
