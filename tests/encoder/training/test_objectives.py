"""Every objective trains: by heart, the same again by seed, resumed, mixed."""

from itertools import pairwise, product
from pathlib import Path
from typing import Any

import pytest

from encoder.data.examples import pair_batch
from encoder.inference import Encoder
from encoder.training.heldout_retrieval import precision_at_1
from encoder.training.observation import Quiet
from encoder.training.session import Trained, train
from encoder.training.trainer import StepReport
from mining.errors import InputError
from tests.encoder.fixtures import WORDS, write_tiny_xlm_roberta
from tests.encoder.training.conftest import OBJECTS, SUBJECTS, VERBS, make_settings

GERMAN = {
    "the cat": "die katze", "a dog": "ein hund", "my sister": "meine schwester", "our king": "unser könig",
    "sees": "sieht", "eats": "isst", "finds": "findet", "draws": "malt",
    "bread": "brot", "a house": "ein haus", "the sea": "das meer", "two apples": "zwei äpfel",
}  # fmt: skip
SMALL_VMSST = {"kind": "vmsst", "heads": 2, "ffn": 32, "positions": 80}
TRANSFORMER = {"kind": "transformer", "dim": 32, "layers": 1, "heads": 2, "ffn": 64, "dropout": 0.1}
# Translations from every language into every other are what makes vectors agree when nothing compares them.
GENERATIVE = {"model": TRANSFORMER | {"dropout": 0.0}, "batch": {"pairs": 64}}


@pytest.fixture
def groups(tmp_path: Path) -> Path:
    """64 groups of English, French and German."""
    french = SUBJECTS | VERBS | OBJECTS
    lines = ["en\tfr\tde"]
    for words in product(SUBJECTS, VERBS, OBJECTS):
        lines.append("\t".join(" ".join(table(word) for word in words) for table in (str, french.get, GERMAN.get)))
    path = tmp_path / "groups.tsv"
    path.write_text("\n".join(lines), encoding="utf-8")
    return path


@pytest.fixture
def nli(tmp_path: Path) -> Path:
    """64 sentences whose entailment is the French, and whose contradiction has another subject."""
    french = SUBJECTS | VERBS | OBJECTS
    lines = ["sent0,sent1,hard_neg"]
    for subject, verb, thing in product(SUBJECTS, VERBS, OBJECTS):
        other = next(s for s in SUBJECTS if s != subject)
        translated = [" ".join(french[w] for w in words) for words in ((subject, verb, thing), (other, verb, thing))]
        lines.append(",".join([f"{subject} {verb} {thing}", *translated]))
    path = tmp_path / "nli.csv"
    path.write_text("\n".join(lines), encoding="utf-8")
    return path


class Watch(Quiet):
    def __init__(self) -> None:
        self.losses: list[float] = []
        self.rates: list[float] = []
        self.parts: dict[str, float] = {}
        self.warnings: list[str] = []

    def stepped(self, report: StepReport) -> None:
        self.losses.append(float(report.loss))
        self.rates.append(report.learning_rate)
        self.parts = {name: float(value) for name, value in report.parts.items()}

    def warned(self, message: str) -> None:
        self.warnings.append(message)


def run(out: Path, corpora: list[dict[str, Any]], **changes: Any) -> tuple[Trained, Watch]:
    watch = Watch()
    data = {"corpora": corpora} | changes.pop("data", {})
    settings = make_settings(out, **({"limits": {"steps": 120}} | changes | {"data": data}))
    return train(settings, out, lambda folder: watch), watch


def precision(trained: Trained) -> float:
    batch = pair_batch(trained.store, trained.store.sources[0].pairs, 50)
    return precision_at_1(Encoder.load(trained.folder).model(batch.tokens).detach(), batch.text)


@pytest.mark.parametrize(
    "changes",
    [
        {"objective": {"kind": "msimcse"}},
        {"objective": {"kind": "mpcl", "positives": 2}},
        {"objective": {"kind": "mpcl", "positives": 2, "single": True, "minmax": False}},
        {"objective": SMALL_VMSST, **GENERATIVE},
        {"objective": SMALL_VMSST | {"elbo": 0}, **GENERATIVE},
        {"objective": SMALL_VMSST | {"translation": 0, "elbo": 0, "contrastive": 1}, "limits": {"steps": 250}},
        {"objective": SMALL_VMSST | {"contrastive": 1, "translation": 0.05, "elbo": 0.005}, **GENERATIVE},
    ],
    ids=["msimcse", "mpcl", "single", "vmsst", "bitranslation", "contrastive", "vmsst contrastive"],
)
def test_64_pairs_are_learned_by_heart(groups: Path, tmp_path: Path, changes: dict[str, Any]) -> None:
    corpora = [{"path": str(groups), "format": "nway"}]
    trained, watch = run(tmp_path / "run", corpora, data={"pairs": "all"}, **changes)
    assert watch.losses[-1] < watch.losses[0]
    assert precision(trained) == 1.0


def test_triples_are_learned_by_heart(nli: Path, corpus: Path, tmp_path: Path) -> None:
    corpora: list[dict[str, Any]] = [{"path": str(nli), "format": "nli"}, {"path": str(corpus)}]
    trained, watch = run(tmp_path / "run", corpora, objective={"kind": "msimcse", "strategy": "nli"})
    assert watch.losses[-1] < watch.losses[0]
    assert precision(trained) == 1.0


def test_unsupervised_sees_single_sentences(corpus: Path, tmp_path: Path) -> None:
    objective = {"kind": "msimcse", "strategy": "unsupervised", "languages": ["en"]}
    model = TRANSFORMER | {"dropout": 0.3}
    trained, watch = run(
        tmp_path / "run", [{"path": str(corpus)}], objective=objective, model=model, limits={"steps": 60}
    )
    assert trained.examples == 64
    assert sum(watch.losses[-10:]) < sum(watch.losses[:10])


def test_plain_text_alone_is_enough(tmp_path: Path) -> None:
    (tmp_path / "en.txt").write_text("\n".join(" ".join(words) for words in product(SUBJECTS, VERBS, OBJECTS)))
    corpora: list[dict[str, Any]] = [{"path": str(tmp_path / "en.txt"), "format": "text", "langs": ["en"]}]
    objective = {"kind": "msimcse", "strategy": "unsupervised"}
    model = TRANSFORMER | {"pooling": "cls"}
    changes: dict[str, Any] = {"model": model, "evaluation": {"pairs": 50}, "limits": {"steps": 3}}
    trained, _ = run(tmp_path / "run", corpora, objective=objective | {"head": "tanh"}, **changes)
    assert (trained.store.pairs, trained.examples) == (0, 64)
    assert Encoder.load(trained.folder).encode(["a dog eats"], lang="en").shape == (1, 32)
    for wrong, message in (
        ({"kind": "ems"}, "learns from translations"),
        ({"kind": "msimcse", "strategy": "nli"}, "nli"),
    ):
        with pytest.raises(InputError, match=message):
            run(tmp_path / "other", corpora, objective=wrong, **changes)


def test_a_mixture_draws_for_each_part(groups: Path, nli: Path, tmp_path: Path) -> None:
    parts = [
        {"objective": {"kind": "msimcse", "strategy": "nli"}, "weight": 0.5},
        {"objective": {"kind": "mpcl", "positives": 2}},
        {"objective": {"kind": "ems", "projection_dim": 0, "language_dim": 4}},
    ]
    corpora: list[dict[str, Any]] = [{"path": str(groups), "format": "nway"}, {"path": str(nli), "format": "nli"}]
    mixture = {"kind": "mixture", "parts": parts}
    trained, watch = run(tmp_path / "run", corpora, objective=mixture, limits={"steps": 60})
    assert precision(trained) == 1.0
    assert {"msimcse0.contrastive", "mpcl1.contrastive", "ems2.xtr"} <= watch.parts.keys()
    again = run(tmp_path / "run", corpora, objective=mixture, limits={"steps": 63})[1]
    assert len(again.losses) == 3


def test_a_part_of_a_mixture_may_have_smaller_batches(groups: Path, nli: Path, tmp_path: Path) -> None:
    parts = [{"objective": {"kind": "msimcse"}}, {"objective": {"kind": "split"}, "pairs": 4}]
    corpora: list[dict[str, Any]] = [{"path": str(groups), "format": "nway"}, {"path": str(nli), "format": "nli"}]
    mixture = {"kind": "mixture", "parts": parts}
    changes = {"objective": mixture, "batch": {"pairs": 16}, "limits": {"steps": 3}}
    trained, _ = run(tmp_path / "run", corpora, **changes)
    assert trained.result.position.pairs == 3 * (16 + 4)


def test_pairs_become_groups(tmp_path: Path) -> None:
    french = SUBJECTS | VERBS | OBJECTS
    for lang, table in (("fr", french), ("de", GERMAN)):
        lines = [
            " ".join(words) + "\t" + " ".join(table[word] for word in words) + "\n"
            for words in product(SUBJECTS, VERBS, OBJECTS)
        ]
        (tmp_path / f"en-{lang}.tsv").write_text("".join(lines), encoding="utf-8")
    corpora = [{"path": str(tmp_path / "en-*.tsv")}]
    objective = {"kind": "mpcl", "positives": 2}
    with pytest.raises(InputError, match=r"only pairs; .*data\.assemble"):
        run(tmp_path / "run", corpora, objective=objective)
    trained, _ = run(tmp_path / "run", corpora, objective=objective, data={"assemble": {"pivots": ["en"]}})
    assert trained.examples == 64
    assert precision(trained) == 1.0


@pytest.mark.parametrize(
    "objective",
    [{"kind": "msimcse", "strategy": "nli", "head": "tanh"}, {"kind": "mpcl", "head": "tanh"}, SMALL_VMSST],
    ids=["msimcse", "mpcl", "vmsst"],
)
def test_a_pretrained_encoder_can_be_continued(tmp_path: Path, objective: dict[str, Any]) -> None:
    folder = write_tiny_xlm_roberta(tmp_path / "xlmr")
    model = {"kind": "pretrained", "source": str(folder), "pooling": "cls"}
    some = list(pairwise(WORDS))
    (tmp_path / "nli.csv").write_text("sent0,sent1,hard_neg\n" + "".join(f"{a},{a} {b},{b}\n" for a, b in some))
    (tmp_path / "nway.tsv").write_text("en\tde\tfr\n" + "".join(f"{a} {b}\t{b}\t{a}\n" for a, b in some))
    corpora = [
        {"path": str(tmp_path / "nli.csv"), "format": "nli"},
        {"path": str(tmp_path / "nway.tsv"), "format": "nway"},
    ]
    changes: dict[str, Any] = {"model": model, "optimizer": {"lr": 0.001}, "limits": {"steps": 10}}
    trained, watch = run(tmp_path / "run", corpora, objective=objective, **changes)
    assert watch.losses[-1] < watch.losses[0]
    before, after = (Encoder.load(path).encode([WORDS[0]]) for path in (folder, trained.folder))
    assert before.shape == after.shape


def test_the_seed_decides_everything(groups: Path, nli: Path, tmp_path: Path) -> None:
    mixture = {
        "kind": "mixture",
        "parts": [
            {"objective": {"kind": "mpcl", "positives": 1}},
            {"objective": SMALL_VMSST},
            {"objective": {"kind": "msimcse", "strategy": "nli"}},
        ],
    }
    corpora: list[dict[str, Any]] = [{"path": str(groups), "format": "nway"}, {"path": str(nli), "format": "nli"}]
    first, again, other = (
        run(tmp_path / name, corpora, objective=mixture, model=TRANSFORMER, random_seed=seed, limits={"steps": 6})[
            1
        ].losses
        for name, seed in (("a", 3), ("b", 3), ("c", 4))
    )
    assert first == again
    assert first != other


def test_adafactor_and_inverse_square_root_resume(groups: Path, tmp_path: Path) -> None:
    """Which network is whose language, too."""
    changes: dict[str, Any] = {
        "objective": SMALL_VMSST | {"language_encoders": 2, "decoders": 0},
        "optimizer": {"kind": "adafactor", "lr": 0.02, "weight_decay": 0},
        "schedule": {"warmup": 4, "decay": "inverse-sqrt"},
        "save_every": 5,
    }
    corpora = [{"path": str(groups), "format": "nway"}]
    whole = run(tmp_path / "whole", corpora, limits={"steps": 12}, **changes)[1].losses
    settings = {"limits": {"steps": 12}, **changes}

    class Interrupted(Watch):
        def stepped(self, report: StepReport) -> None:
            super().stepped(report)
            if report.position.step == 7:
                raise KeyboardInterrupt

    interrupted = Interrupted()
    with pytest.raises(KeyboardInterrupt):
        train(
            make_settings(groups, data={"corpora": corpora}, **settings), tmp_path / "parts", lambda folder: interrupted
        )
    rest = run(tmp_path / "parts", corpora, **settings)[1].losses
    assert interrupted.losses[:5] + rest == whole
    assert whole[-1] < whole[0]


def test_collapse_is_reported(groups: Path, tmp_path: Path) -> None:
    corpora = [{"path": str(groups), "format": "nway"}]
    objective = SMALL_VMSST | {"translation": 0, "elbo": 1, "kl": 1000}
    watch = run(tmp_path / "run", corpora, objective=objective, limits={"steps": 60})[1]
    assert any("posterior collapse" in message for message in watch.warnings)
