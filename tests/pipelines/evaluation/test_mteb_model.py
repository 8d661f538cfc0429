"""The mteb package evaluates an encoder of ours, on a task whose data is here."""

import pytest

from encoder import default
from tests.pipelines.installed import ENGLISH, GERMAN

pytestmark = [
    pytest.mark.slow,  # mteb takes long to import
    pytest.mark.skipif(not default.has_default(), reason="no default encoder in this checkout"),
]


def test_bitext_mining_of_mteb() -> None:
    import mteb
    from datasets import Dataset
    from mteb.abstasks.task_metadata import TaskMetadata
    from mteb.abstasks.text.bitext_mining import AbsTaskBitextMining

    from pipelines.evaluation.mteb_model import MtebModel

    class Here(AbsTaskBitextMining):
        metadata = TaskMetadata(
            name="Here",
            description="Eight sentences in English and German.",
            dataset={"path": "here", "revision": "1"},
            type="BitextMining",
            eval_splits=["test"],
            eval_langs={"default": ["eng-Latn", "deu-Latn"]},
            main_score="f1",
        )

        def load_data(self, **_: object) -> None:
            pairs = {"sentence1": ENGLISH.splitlines(), "sentence2": GERMAN.splitlines()}
            self.dataset = {"test": Dataset.from_dict(pairs)}
            self.data_loaded = True

    model = MtebModel()
    result = mteb.evaluate(model, Here(), cache=None, show_progress_bar=False)
    (task,) = result.task_results
    assert task.get_score() > 0.8
    assert result.model_revision == default.card().fingerprint


def test_languages_are_detected() -> None:
    from pipelines.evaluation.mteb_model import _language

    assert _language(GERMAN.splitlines()) == "de"
    assert _language(["12", "..."]) is None
