"""The recipes of the papers reach their first updates on made-up files in the layout of the original downloads."""

import gzip
import json
from itertools import product
from pathlib import Path

import numpy as np
import pytest

from encoder.inference import Encoder
from encoder.settings import load_settings
from encoder.training.session import train
from encoder.training.training_settings import TrainSettings
from pipelines.evaluation.dev_score import measure_of
from tests.encoder.fixtures import WORDS, write_tiny_mt5, write_tiny_xlm_roberta
from tests.encoder.training.test_objectives import Watch

CONFIGS = Path(__file__).parents[3] / "configs"
STEPS = 3
SHORT = [f"limits={{steps: {STEPS}}}", "batch.pairs=8"]


@pytest.fixture
def downloads(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A folder in which `data/` is as the papers' data comes."""
    monkeypatch.chdir(tmp_path)
    drawn = list(product(WORDS[:2], WORDS[2:6], WORDS[6:8], WORDS[8:12]))
    other = dict(zip(WORDS[:12], WORDS[12:], strict=True))
    pairs = [(" ".join(words), " ".join(other[word] for word in words)) for words in drawn]
    english = [left for left, _ in pairs]
    (tmp_path / "data").mkdir()
    with gzip.open("data/en-fr.tsv.gz", "wt", encoding="utf-8") as stream:
        stream.writelines(f"{left}\t{right}\n" for left, right in pairs)
    multinli = tmp_path / "data/XNLI-MT-1.0/multinli"
    multinli.mkdir(parents=True)
    labels = ("entailment", "neutral", "contradictory")
    for lang, word in zip(("en", "de", "fr", "es", "ru", "zh", "sw"), WORDS, strict=False):
        lines = [f"{left} {word}\t{right} {word}\t{labels[n % 3]}" for n, (left, right) in enumerate(pairs)]
        (multinli / f"multinli.train.{lang}.tsv").write_text("\n".join(["premise\thypo\tlabel", *lines]))
    triples = [f"{text},{text} 12,not {text}" for text in english]
    Path("data/nli_for_simcse.csv").write_text("\n".join(["sent0,sent1,hard_neg", *triples]))
    Path("data/stsbenchmark").mkdir()
    sts = [f"g\tf\t2012\t{n}\t{n % 5}\t{text}\t{pairs[0][0]}" for n, text in enumerate(english)]
    Path("data/stsbenchmark/sts-dev.csv").write_text("\n".join(sts))
    Path("data/sts22").mkdir()
    for name in ("de", "en", "fr-pl"):
        rows = [{"sentence1": one, "sentence2": two, "score": n % 5} for n, (one, two) in enumerate(pairs)]
        Path(f"data/sts22/{name}.jsonl").write_text("".join(json.dumps(row) + "\n" for row in rows))
    return tmp_path


def run(config: str, folder: Path, overrides: list[str]) -> Watch:
    settings = load_settings(TrainSettings, CONFIGS / config, [*SHORT, *overrides])
    watch = Watch()
    trained = train(settings, folder / "run", lambda folder: watch, measure=measure_of(settings.evaluation))
    assert trained.result.position.step == STEPS and trained.result.skipped == 0
    assert np.isfinite(Encoder.load(trained.folder).encode(["the cat sees bread"], "en")).all()
    return watch


def test_ems(downloads: Path) -> None:
    sizes = ["text.jumanpp=false", "subword.vocabulary=90", "subword.character_coverage=1.0", "model.ffn=64"]
    watch = run("ems-paper.yaml", downloads, [*sizes, "model.dim=32", "model.layers=1", "model.heads=2"])
    assert {"xtr", "contrastive"} <= watch.parts.keys()


@pytest.mark.parametrize("hard", [False, True], ids=["premises", "hard negatives"])
def test_mpcl(downloads: Path, hard: bool) -> None:
    changes = [f"model.source={write_tiny_xlm_roberta(downloads / 'hf')}", "model.max_tokens=20"]
    if hard:
        path = "data/XNLI-MT-1.0/multinli/multinli.train.*.tsv"
        changes += [f"data.corpora=[{{path: '{path}', format: nli-parallel}}]", "objective.hard_negatives=true"]
    watch = run("mpcl-paper.yaml", downloads, [*changes, "objective.warmup=2", "objective.warmup_rate=2"])
    linear = 1e-5 * np.array([1, 2 / 3, 1 / 3])
    np.testing.assert_allclose(watch.rates, linear * [2, 2, 1])  # as for a plain language model
    metrics = json.loads((downloads / "run/best/metrics.json").read_text())
    assert metrics.keys() == {"dev_task", "step"}


def test_msimcse_chooses_by_english_similarity(downloads: Path) -> None:
    changes = [f"model.source={write_tiny_xlm_roberta(downloads / 'hf')}", "model.max_tokens=20", "evaluation.every=2"]
    run("msimcse-paper.yaml", downloads, changes)
    metrics = json.loads((downloads / "run/best/metrics.json").read_text())
    assert metrics.keys() == {"sts_dev_spearman", "step"}


@pytest.mark.parametrize("weights", [False, True], ids=["scratch", "pretrained"])
def test_vmsst(downloads: Path, weights: bool) -> None:
    changes = [f"model.source={write_tiny_mt5(downloads / 'hf')}", f"model.weights={weights}", "model.layers=2"]
    watch = run("vmsst-paper.yaml", downloads, [*changes, "objective.decoder_layers=2", "objective.chunk=4"])
    assert {"translation", "reconstruction", "kl_language"} <= watch.parts.keys()
