"""Whole runs on a made-up corpus: learning, determinism, resume, exclusion, bad input."""

import json
from contextlib import closing
from io import StringIO
from itertools import count, pairwise
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import numpy as np
import pytest
import torch
from rich.console import Console
from safetensors.numpy import load_file
from torch import Tensor, nn

from encoder.data.examples import pair_batch
from encoder.data.heldout import hold_out
from encoder.exchange import import_encoder
from encoder.inference import Encoder
from encoder.models import PretrainedSettings
from encoder.training.cache import backward
from encoder.training.heldout_retrieval import precision_at_1
from encoder.training.observation import Quiet, RunLog
from encoder.training.session import Trained, train
from encoder.training.state import STATE_FILE
from encoder.training.trainer import StepReport
from mining.errors import InputError
from tests.encoder.fixtures import WORDS, write_tiny_xlm_roberta
from tests.encoder.training.conftest import make_settings

TRANSFORMER = {"kind": "transformer", "dim": 32, "layers": 1, "heads": 2, "ffn": 64, "dropout": 0.1}
SHIPPED: dict[str, Any] = {  # configs/ems-small.yaml in small
    "model": {"kind": "bag", "dim": 32, "bigrams": 64, "words": 64, "sparse": True},
    "objective": {
        "kind": "ems",
        "temperature": 0.05,
        "margin": 0.2,
        "projection_dim": 0,
        "language_std": 0.03,
        "xtr": 0.1,
        "xtr_pairs": 8,
        "xtr_negatives": 20,
    },
    "optimizer": {"kind": "lazy_adam", "lr": 0.005, "betas": [0.9, 0.98], "eps": 1e-9, "weight_decay": 0, "clip": 1000},
    "batch": {"pairs": 16, "homogeneous": True, "hard_negatives": "lexical"},
}


class Losses(Quiet):
    def __init__(self) -> None:
        self.values: list[float] = []

    def stepped(self, report: StepReport) -> None:
        self.values.append(float(report.loss))


def run(corpus: Path, out: Path, *, strict: bool = False, exclude: tuple[str, ...] = (), **changes: Any) -> Any:
    losses = Losses()
    trained = train(make_settings(corpus, **changes), out, lambda folder: losses, exclude=exclude, strict=strict)
    return trained, losses.values


def pairs_precision(trained: Trained, pairs: np.ndarray) -> float:
    """P@1 of the saved encoder on some pairs of the corpus."""
    batch = pair_batch(trained.store, pairs, 50)
    return precision_at_1(Encoder.load(trained.folder).model(batch.tokens).detach(), batch.text)


@pytest.mark.parametrize(
    "changes",
    [
        {},
        {"model": TRANSFORMER, "optimizer": {"lr": 0.005, "weight_decay": 0}},
        {"batch": {"pairs": 64, "chunk": 16}},
        {"objective": {"kind": "ems", "temperature": 0.05, "projection_dim": 0, "xtr_pairs": 8, "xtr_negatives": 20}},
    ],
    ids=["bag", "transformer", "gradient cache", "sampled xtr"],
)
def test_a_tiny_run_learns_64_pairs_by_heart(corpus: Path, tmp_path: Path, changes: dict[str, Any]) -> None:
    objective = {"kind": "ems", "temperature": 0.05, "language_dim": 4, "projection_dim": 0}
    trained, losses = run(corpus, tmp_path / "run", **({"objective": objective, "limits": {"steps": 120}} | changes))
    assert losses[-1] < losses[0]
    assert pairs_precision(trained, trained.store.sources[0].pairs) == 1.0


def test_a_pretrained_encoder_is_trained_with_its_own_tokenizer(tmp_path: Path) -> None:
    lines = [f"{one} {other}\t{other} {one} {one}\n" for one, other in pairwise(WORDS)]
    (tmp_path / "en-fr.tsv").write_text("".join(lines), encoding="utf-8")
    folder = write_tiny_xlm_roberta(tmp_path / "xlmr")
    changes: dict[str, Any] = {"model": {"kind": "pretrained", "source": str(folder)}, "limits": {"steps": 10}}
    trained, losses = run(tmp_path / "en-fr.tsv", tmp_path / "run", optimizer={"lr": 0.002}, **changes)
    assert losses[-1] < losses[0]
    before, after = (Encoder.load(path).encode([WORDS[0]]) for path in (folder, trained.folder))
    assert not np.allclose(before, after)


def test_the_seed_decides_everything(corpus: Path, tmp_path: Path) -> None:
    (_, first), (_, again), (_, other) = (
        run(corpus, tmp_path / name, model=TRANSFORMER, random_seed=seed)
        for name, seed in (("a", 3), ("b", 3), ("c", 4))
    )
    assert first == again
    assert first != other


@pytest.mark.parametrize(
    "changes",
    [
        {"model": TRANSFORMER, "batch": {"pairs": 16}},
        {"model": TRANSFORMER, "batch": {"pairs": 16, "tokens": 300, "accumulate": 2}},
        SHIPPED,
    ],
    ids=["pairs", "tokens", "as shipped"],
)
def test_a_resumed_run_is_the_uninterrupted_one(corpus: Path, tmp_path: Path, changes: dict[str, Any]) -> None:
    changes = changes | {"schedule": {"warmup": 3}, "evaluation": {"pairs": 3}}
    whole, losses = run(corpus, tmp_path / "whole", limits={"steps": 20}, **changes)

    class Interrupted(Losses):
        def stepped(self, report: StepReport) -> None:
            super().stepped(report)
            if report.position.step == 13:
                raise KeyboardInterrupt

    first = Interrupted()
    settings = make_settings(corpus, limits={"steps": 20}, save_every=5, **changes)
    with pytest.raises(KeyboardInterrupt):
        train(settings, tmp_path / "parts", lambda folder: first)
    second = Losses()
    resumed = train(settings, tmp_path / "parts", lambda folder: second)
    assert first.values[:10] + second.values == losses
    assert (resumed.result.best, resumed.result.best_step) == (whole.result.best, whole.result.best_step)
    one, other = (load_file(tmp_path / name / STATE_FILE) for name in ("whole", "parts"))
    for name in one:
        np.testing.assert_array_equal(one[name], other[name], err_msg=name)


def test_a_finished_run_is_not_trained_again_but_can_go_on(corpus: Path, tmp_path: Path) -> None:
    run(corpus, tmp_path / "run", limits={"steps": 5})
    assert run(corpus, tmp_path / "run", limits={"steps": 5})[1] == []
    assert len(run(corpus, tmp_path / "run", limits={"steps": 8})[1]) == 3


def test_other_settings_in_the_same_folder_are_refused(corpus: Path, tmp_path: Path) -> None:
    run(corpus, tmp_path / "run", limits={"steps": 2})
    with pytest.raises(InputError, match=r"another batch\.pairs \(32, now 16\)"):
        run(corpus, tmp_path / "run", limits={"steps": 2}, batch={"pairs": 16})


def test_malformed_lines_are_counted_or_refused(corpus: Path, tmp_path: Path) -> None:
    with corpus.open("a") as file:
        file.write("no tab here\n")
    trained, _ = run(corpus, tmp_path / "run", limits={"steps": 1})
    assert trained.store.counters == {"1 columns instead of 2": 1}
    assert trained.store.pairs == 64
    with pytest.raises(InputError, match=r"en-fr\.tsv, line 65: 1 columns instead of 2"):
        run(corpus, tmp_path / "strict", limits={"steps": 1}, strict=True)


def test_excluded_sentences_are_dropped_whatever_their_case(corpus: Path, tmp_path: Path) -> None:
    secret = tmp_path / "test.txt"
    secret.write_text("The cat  sees bread!\nid-7\tun chien mange la mer.\n")
    trained, _ = run(corpus, tmp_path / "run", limits={"steps": 1}, exclude=(str(secret),))
    assert trained.store.counters == {"excluded": 2}
    assert trained.store.pairs == 62


@pytest.mark.parametrize(
    ("changes", "message"),
    [
        ({"subword": {"vocabulary": 50_000}}, "50000 is too large .* set it to .* or less"),
        (
            {"data": {"corpora": [{"path": "CORPUS", "langs": ["en", "qq"]}]}},
            "corpora.0.langs: 'qq' is not a language code",
        ),
        ({"data": {"corpora": [{"path": "CORPUS"}], "languages": ["en", "de"]}}, "no sentence to train on"),
        ({"data": {"corpora": []}}, "no corpus is listed"),
        ({"limits": {}}, "Set steps, epochs, examples or minutes"),
    ],
    ids=["vocabulary", "language", "no pairs", "no corpus", "no limit"],
)
def test_bad_input_is_one_sentence(corpus: Path, tmp_path: Path, changes: dict[str, Any], message: str) -> None:
    changes = json.loads(json.dumps(changes).replace("CORPUS", str(corpus)))
    with pytest.raises(InputError, match=message):
        run(corpus, tmp_path / "run", **changes)


def test_an_empty_corpus_is_refused(tmp_path: Path) -> None:
    (tmp_path / "en-fr.tsv").write_text("")
    with pytest.raises(InputError, match="no sentence to train on"):
        run(tmp_path / "en-fr.tsv", tmp_path / "run")


def test_a_diverging_run_stops_with_advice(corpus: Path, tmp_path: Path) -> None:
    with pytest.raises(InputError, match=r"lower optimizer\.lr"):
        run(corpus, tmp_path / "run", optimizer={"lr": 1e30, "weight_decay": 0}, limits={"steps": 200})


@pytest.mark.parametrize("changes", [{}, SHIPPED], ids=["dense", "sparse"])
def test_one_bad_gradient_is_left_out(
    corpus: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, changes: dict[str, Any]
) -> None:
    weights: list[Tensor] = []  # before each update

    def backward_but_once(model: nn.Module, *inputs: Any, **options: Any) -> Any:
        weights.append(nn.utils.parameters_to_vector(model.parameters()).detach())
        loss = backward(model, *inputs, **options)
        if len(weights) == 3:
            next(model.parameters()).grad.mul_(torch.nan)
        return loss

    monkeypatch.setattr("encoder.training.trainer.backward", backward_but_once)
    trained, losses = run(corpus, tmp_path / "run", limits={"steps": 6}, **changes)
    assert trained.result.skipped == 1
    assert [torch.equal(before, after) for before, after in pairwise(weights)] == [False, False, True, False, False]
    assert len(losses) == 6 and np.isfinite(losses).all()


@pytest.mark.parametrize("changes", [{"precision": "bf16"}, {"precision": "fp16"}, {"compile": True}])
def test_what_is_for_speed_alone_changes_no_loss_on_a_cpu(
    corpus: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, changes: dict[str, Any]
) -> None:
    compiled: list[nn.Module] = []

    def compile_nothing(model: nn.Module, **_: object) -> nn.Module:
        compiled.append(model)
        return model

    monkeypatch.setattr("torch.compile", compile_nothing)
    monkeypatch.setattr("torch.cuda.is_available", lambda: False)
    few = {"model": TRANSFORMER, "limits": {"steps": 3}}
    assert run(corpus, tmp_path / "fast", **few, **changes)[1] == run(corpus, tmp_path / "plain", **few)[1]
    assert len(compiled) == changes.get("compile", 0)


def test_an_early_stop_leaves_the_encoder_of_the_best_step(corpus: Path, tmp_path: Path) -> None:
    changes: dict[str, Any] = {
        "evaluation": {"pairs": 3, "every": 1, "patience": 2},
        "schedule": {"warmup": 1, "decay": "inverse-sqrt"},  # the same rates however long the run
    }
    trained, losses = run(corpus, tmp_path / "run", limits={"steps": 100}, **changes)
    result = trained.result
    assert result.stopped_early
    assert len(losses) == result.best_step + 2
    assert pairs_precision(trained, hold_out(trained.store, 3).pairs) == result.best
    metrics = json.loads((trained.folder / "metrics.json").read_text())
    assert metrics == {"held_out_p_at_1": result.best, "step": result.best_step}
    run(corpus, tmp_path / "until", limits={"steps": result.best_step}, **changes)
    states = (load_file(tmp_path / name / STATE_FILE)["module.model.tokens.weight"] for name in ("until", "run"))
    best = load_file(trained.folder / "model.safetensors")["tokens.weight"]
    assert [np.array_equal(best, state) for state in states] == [True, False]


@pytest.mark.parametrize(("clock", "function"), [("wall", "monotonic"), ("cpu", "process_time")])
def test_a_time_budget_plans_the_schedule(
    corpus: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, clock: str, function: str
) -> None:
    now = count(step=0.01).__next__  # seconds, and a look at the clock after each step
    monkeypatch.setattr("encoder.training.trainer.time", SimpleNamespace(**{function: now}))
    monkeypatch.setattr("encoder.training.observation._LOG_SECONDS", 0)
    settings = make_settings(corpus, limits={"minutes": 0.01, "clock": clock})
    with closing(RunLog(tmp_path, Console(file=StringIO()))) as log:
        trained = train(settings, tmp_path / "run", lambda folder: log)
    assert trained.result.position.seconds == pytest.approx(0.6, abs=0.011)
    lines = (tmp_path / "metrics.jsonl").read_text().splitlines()
    rates = [json.loads(line)["learning_rate"] for line in lines]
    assert len(rates) == trained.result.position.step
    assert max(rates) == pytest.approx(settings.optimizer.lr, rel=0.01)
    assert rates[-1] < 0.01 * settings.optimizer.lr


def test_a_run_can_start_from_an_encoder(corpus: Path, tmp_path: Path) -> None:
    first, _ = run(corpus, tmp_path / "first")
    other = tmp_path / "more" / "en-fr.tsv"  # whose own vocabulary would be another one
    other.parent.mkdir()
    other.write_text("a ship\tun navire\nthe cat sees bread\tle chat voit du pain\n" * 40, encoding="utf-8")
    still = {"optimizer": {"lr": 1e-12, "weight_decay": 0}, "limits": {"steps": 1}}
    warm, _ = run(other, tmp_path / "warm", start={"encoder": str(first.folder)}, **still)
    subwords_only = {"encoder": str(first.folder), "weights": False}
    scratch, _ = run(other, tmp_path / "scratch", start=subwords_only, text={"max_tokens": 9}, **still)
    weights = [load_file(trained.folder / "model.safetensors") for trained in (first, warm, scratch)]
    assert all(np.allclose(weights[0][name], weights[1][name], atol=1e-6) for name in weights[0])
    assert not np.allclose(weights[0]["tokens.weight"], weights[2]["tokens.weight"], atol=1e-3)
    subwords = [(trained.folder / "sentencepiece.model").read_bytes() for trained in (first, warm, scratch)]
    assert subwords[0] == subwords[1] == subwords[2]


def test_a_run_that_trusts_the_code_of_its_model_trusts_that_of_its_start(corpus: Path, tmp_path: Path) -> None:
    source = str(write_tiny_xlm_roberta(tmp_path / "xlmr"))
    settings = PretrainedSettings(source=source, trust_remote_code=True)
    import_encoder(source, tmp_path / "start", settings=settings)
    start = {"encoder": str(tmp_path / "start")}
    run(corpus, tmp_path / "run", model=settings.model_dump(), start=start, limits={"steps": 1})
    with pytest.raises(InputError, match="trust_remote_code=True"):
        run(corpus, tmp_path / "other", start=start)


def test_a_transformer_grows_from_a_bag(corpus: Path, tmp_path: Path) -> None:
    bag, _ = run(corpus, tmp_path / "bag", model={"kind": "bag", "dim": 16})
    grown = {"kind": "transformer", "dim": 16, "layers": 1, "heads": 2, "ffn": 16, "norm": "pre", "zero_init": True}
    still = {"optimizer": {"lr": 1e-12, "weight_decay": 0}, "limits": {"steps": 1}}
    transformer, _ = run(corpus, tmp_path / "grown", start={"encoder": str(bag.folder)}, model=grown, **still)
    vectors = [Encoder.load(trained.folder).encode(["the cat sees bread"], "en") for trained in (bag, transformer)]
    assert np.allclose(*vectors, atol=1e-5)
