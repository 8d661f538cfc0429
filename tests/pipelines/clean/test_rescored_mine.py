"""`mine` with the encoder's pair classifier: candidates are scored again before they are matched."""

from __future__ import annotations

import json
import shutil
from collections.abc import Callable
from pathlib import Path

import numpy as np
import pytest
from apache_beam.options.pipeline_options import PipelineOptions

from encoder.checkpoint import FINGERPRINT
from encoder.inference import Encoder
from mining.errors import InputError
from mining.filters import FilterSettings
from mining.scoring.classifier import ABOUT, FOLDER
from pipelines import cli
from pipelines.align.align_settings import AlignSettings
from pipelines.align.leftovers import has_classifier
from pipelines.commands.align import _aligned_pairs
from pipelines.commands.flex_template import build
from pipelines.embed import loaded_encoders
from pipelines.mine.mine_settings import JobSettings
from pipelines.mine.pair_stage import pair_batches
from pipelines.mine.rescored_graph import require_fit, rescoring
from pipelines.mine.score_curve import ScoreCurve
from pipelines.mine.text_job import mine_corpora
from tests.pipelines.clean.conftest import toy_pairs


def job_of(trained: Path, folder: Path, **changes: object) -> JobSettings:
    pairs = toy_pairs(90, 7)
    (folder / "x.de").write_text("".join(f"{source}\n" for source, _ in pairs[:60]))
    (folder / "x.en").write_text("".join(f"{target}\n" for _, target in pairs[30:]))
    tree = {
        name: {"inputs": [str(folder / f"x.{lang}")], "read": {"lang": lang, "format": "txt"}, "lang_filter": "assume"}
        for name, lang in (("source", "de"), ("target", "en"))
    }
    common = {"encoder": str(trained), "work": str(folder / "work"), "filters": FilterSettings.none()}
    return JobSettings.model_validate(tree | common | changes)


def test_candidates_are_scored_again_where_the_encoder_has_a_classifier(scoring_encoder: Path, tmp_path: Path) -> None:
    right = set(toy_pairs(90, 7)[30:60])
    result = mine_corpora(job_of(scoring_encoder, tmp_path))
    (table,) = pair_batches(result.pairs)
    found = list(zip(table["src_text"].to_pylist(), table["tgt_text"].to_pylist(), strict=True))
    scores = table["score"].to_numpy()
    assert (np.diff(scores) <= 0).all() and scores.min() < 0  # log likelihood ratios, best first
    good = [pair in right for pair in found]
    assert sum(good[:30]) >= 27
    assert len({source for source, _ in found}) == len({target for _, target in found}) == len(found)
    plain = mine_corpora(job_of(scoring_encoder, tmp_path, rescore="off"))
    (margins,) = pair_batches(plain.pairs)
    assert margins["score"].to_numpy().min() > 0 and plain.pairs.url != result.pairs.url


@pytest.mark.parametrize(("rescore", "held"), [("on", True), ("off", False)])
def test_the_encoder_is_loaded_once_and_kept_only_for_the_classifier(
    scoring_encoder: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, rescore: str, held: bool
) -> None:
    loads: list[object] = []
    load = Encoder.load
    monkeypatch.setattr(Encoder, "load", lambda *given, **more: (loads.append(given), load(*given, **more))[1])
    at_graph: list[bool] = []

    def report(stage: str) -> None:
        if stage == "graph":
            at_graph.append(str(scoring_encoder) in loaded_encoders._HELD)

    mine_corpora(job_of(scoring_encoder, tmp_path, rescore=rescore), report=report)
    assert len(loads) == 1
    assert at_graph == [held]


def test_a_precision_is_that_of_as_many_pairs_by_margin(scoring_encoder: Path, tmp_path: Path) -> None:
    seed = tmp_path / "seed.tsv"
    seed.write_text("".join(f"{source}\t{target}\n" for source, target in toy_pairs(200, 8)), encoding="utf-8")
    wanted = {"seed": str(seed), "threshold": {"precision": 0.5}}
    rescored = mine_corpora(job_of(scoring_encoder, tmp_path, **wanted))
    plain = mine_corpora(job_of(scoring_encoder, tmp_path, rescore="off", **wanted))
    assert rescored.pairs.rows == plain.pairs.rows > 20
    (table,) = pair_batches(rescored.pairs)
    corpus = set(toy_pairs(90, 7)[30:60])
    found = set(zip(table["src_text"].to_pylist(), table["tgt_text"].to_pylist(), strict=True))
    (margins,) = pair_batches(plain.pairs)
    by_margin = set(zip(margins["src_text"].to_pylist(), margins["tgt_text"].to_pylist(), strict=True))
    assert len(found & corpus) >= len(by_margin & corpus)
    assert not found & set(toy_pairs(200, 8))  # probes are no pairs of the corpora


@pytest.mark.parametrize("probes", ["none", "useless"])
def test_where_probes_cannot_tell_the_classifier_chooses_and_nothing_is_claimed(
    scoring_encoder: Path, tmp_path: Path, probes: str
) -> None:
    wanted: dict[str, object] = {"threshold": {"precision": 0.9, "in_doubt": "classifier"}}
    if probes == "none":
        wanted |= {"probes": "none"}
    else:  # no pair of them is a translation
        left, right = zip(*toy_pairs(200, 8), strict=True)
        lines = [f"{source}\t{target}\n" for source, target in zip(left, right[1:] + right[:1], strict=True)]
        (tmp_path / "seed.tsv").write_text("".join(lines), encoding="utf-8")
        wanted |= {"seed": str(tmp_path / "seed.tsv")}
    pairs = mine_corpora(job_of(scoring_encoder, tmp_path, **wanted)).pairs
    (table,) = pair_batches(pairs)
    found = zip(table["src_text"].to_pylist(), table["tgt_text"].to_pylist(), strict=True)
    good = [pair in set(toy_pairs(90, 7)[30:60]) for pair in found]
    assert 20 <= len(good) <= 36 and np.mean(good) > 0.8, "there are 60 to match, and 30 right ones"
    assert not {"precision", "recall", "true_pairs"} & pairs.manifest.measures.keys()
    curve = ScoreCurve.read(pairs.url)
    assert curve is not None and curve.warning.endswith("finds more likely right than wrong, scores of 0 or more")


def test_without_probes_or_classifier_every_pair_is_kept(scoring_encoder: Path, tmp_path: Path) -> None:
    wanted = {"threshold": {"precision": 0.9, "in_doubt": "classifier"}, "probes": "none", "rescore": "off"}
    pairs = mine_corpora(job_of(scoring_encoder, tmp_path, **wanted)).pairs
    curve = ScoreCurve.read(pairs.url)
    assert curve is not None and curve.warning.endswith("every matched pair is kept")
    assert pairs.rows == pairs.manifest.counters.rows_in > 40
    with pytest.raises(ValueError, match="a target precision needs probe pairs, or in_doubt: classifier"):
        job_of(scoring_encoder, tmp_path, probes="none", threshold={"precision": 0.9})


def test_auto_leaves_margins_to_a_threshold_that_was_meant_for_them(scoring_encoder: Path, tmp_path: Path) -> None:
    fixed = {"threshold": {"at_least": 1.06}}
    assert rescoring(job_of(scoring_encoder, tmp_path, **fixed)) is None
    assert rescoring(job_of(scoring_encoder, tmp_path, rescore="on", **fixed)) is not None


def test_a_classifier_of_another_encoder_is_not_used(scoring_encoder: Path, tmp_path: Path) -> None:
    copy = tmp_path / "encoder"
    shutil.copytree(scoring_encoder, copy)
    (copy / FINGERPRINT).write_text("0" * 32)
    assert rescoring(job_of(copy, tmp_path)) is None
    with pytest.raises(InputError, match="of another encoder"):
        rescoring(job_of(copy, tmp_path, rescore="on"))


def test_a_classifier_of_ones_own_is_used_or_refused(scoring_encoder: Path, tmp_path: Path) -> None:
    own = tmp_path / "own"
    shutil.copytree(scoring_encoder / "classifier", own)
    chosen = rescoring(job_of(scoring_encoder, tmp_path, classifier=f"{own}/"))
    assert chosen is not None and chosen.classifier == str(own)
    with pytest.raises(InputError, match="say --rescore on, and a --threshold is a score"):
        rescoring(job_of(scoring_encoder, tmp_path, classifier=str(own), threshold={"at_least": 1.06}))
    with pytest.raises(InputError, match=f"--classifier: {tmp_path}/nowhere has no pair classifier"):
        rescoring(job_of(scoring_encoder, tmp_path, classifier=str(tmp_path / "nowhere")))
    about = json.loads((own / "classifier.json").read_text())
    (own / "classifier.json").write_text(json.dumps(about | {"encoder": "0" * 32}))
    with pytest.raises(InputError, match="of another encoder"):
        rescoring(job_of(scoring_encoder, tmp_path, classifier=str(own)))


@pytest.mark.parametrize(
    ("changes", "message"), [({"encoder": "/none"}, "no pair classifier"), ({"retrieval": "forward"}, "one to one")]
)
def test_rescoring_that_cannot_be_is_refused_when_asked_for(
    scoring_encoder: Path, tmp_path: Path, changes: dict[str, object], message: str
) -> None:
    assert rescoring(job_of(scoring_encoder, tmp_path, **changes)) is None
    with pytest.raises(InputError, match=message):
        rescoring(job_of(scoring_encoder, tmp_path, rescore="on", **changes))


def edited(folder: Path, **changes: object) -> None:
    about = json.loads((folder / ABOUT).read_text())
    (folder / ABOUT).write_text(json.dumps(about | changes))


def cut_off(folder: Path) -> None:
    (folder / "trees-mining-1.txt.gz").write_bytes(b"half of it")


SPOILT = pytest.mark.parametrize(
    ("spoil", "message"),
    [
        (shutil.rmtree, "has no pair classifier; make one with train-classifier"),
        (lambda folder: edited(folder, encoder="0" * 32), "is of another encoder"),
        (lambda folder: edited(folder, version=0), "another version of twinlode; train it again"),
        (cut_off, "train the classifier again"),
    ],
)


@pytest.fixture
def own_classifier(scoring_encoder: Path, tmp_path: Path) -> Path:
    return Path(shutil.copytree(scoring_encoder / FOLDER, tmp_path / "own"))


@SPOILT
def test_a_spoilt_classifier_is_refused_before_anything_is_prepared(
    scoring_encoder: Path,
    own_classifier: Path,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
    spoil: Callable[[Path], object],
    message: str,
) -> None:
    spoil(own_classifier)
    stages: list[str] = []
    with pytest.raises(InputError, match=message):
        mine_corpora(job_of(scoring_encoder, tmp_path, classifier=str(own_classifier)), report=stages.append)
    given = ["--encoder", str(scoring_encoder), "--classifier", str(own_classifier), "--work", str(tmp_path / "work")]
    languages = ["--src-lang", "de", "--tgt-lang", "en"]
    texts = [str(tmp_path / "x.de"), str(tmp_path / "x.en")]
    monkeypatch.setattr("sys.argv", ["twinlode", "mine", *texts, *given, *languages, "-o", str(tmp_path / "out.tsv")])
    with pytest.raises(SystemExit) as ended:
        cli.main()
    said = capsys.readouterr().err.splitlines()
    assert ended.value.code == 2
    assert len(said) == 1 and message in said[0]
    assert not stages and not (tmp_path / "work").exists() and not (tmp_path / "out.tsv").exists()


@SPOILT
def test_a_flex_template_with_a_spoilt_classifier_is_not_built(
    scoring_encoder: Path, own_classifier: Path, tmp_path: Path, spoil: Callable[[Path], object], message: str
) -> None:
    job_of(scoring_encoder, tmp_path)
    spoil(own_classifier)
    given = {"src": str(tmp_path / "x.de"), "tgt": str(tmp_path / "x.en"), "src_lang": "de", "tgt_lang": "en"}
    given |= {"encoder": str(scoring_encoder), "classifier": str(own_classifier)}
    given |= {"work": str(tmp_path / "work"), "out": str(tmp_path / "pairs-*.tsv")}
    with pytest.raises(InputError, match=message):
        build(given, PipelineOptions([]))


def test_a_classifier_beside_an_encoder_of_others_is_compared_when_that_is_loaded(
    scoring_encoder: Path, tmp_path: Path
) -> None:
    """Hugging Face's folders have no file that tells the fingerprint."""
    asked = rescoring(job_of(scoring_encoder, tmp_path))
    require_fit(asked, (scoring_encoder / FINGERPRINT).read_text().strip())
    require_fit(None, "0" * 32)
    with pytest.raises(InputError, match="is of another encoder"):
        require_fit(asked, "0" * 32)


def test_leftovers_of_an_alignment_ask_before_it(scoring_encoder: Path, tmp_path: Path) -> None:
    copy = Path(shutil.copytree(scoring_encoder, tmp_path / "encoder"))
    sides = {name: {"inputs": ["x"], "read": {"lang": lang}} for name, lang in (("source", "de"), ("target", "en"))}
    settings = AlignSettings.model_validate(sides | {"encoder": str(copy), "leftovers": "mine"})
    assert has_classifier(settings)
    edited(copy / FOLDER, version=0)
    with pytest.raises(InputError, match="another version"):
        _aligned_pairs(settings, str(tmp_path / "work"), None, None)
    assert not (tmp_path / "work").exists()
    shutil.rmtree(copy / FOLDER)
    assert not has_classifier(settings)


def test_rescoring_without_a_classifier_is_refused_before_anything_is_prepared(
    scoring_encoder: Path, tmp_path: Path
) -> None:
    copy = Path(shutil.copytree(scoring_encoder, tmp_path / "encoder", ignore=shutil.ignore_patterns(FOLDER)))
    with pytest.raises(InputError, match=r"--rescore on: .* has no pair classifier"):
        mine_corpora(job_of(copy, tmp_path, rescore="on"))
    assert not (tmp_path / "work").exists()
