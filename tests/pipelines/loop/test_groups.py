"""Mined pairs that share a sentence become groups of translations, which MPCL learns from."""

from pathlib import Path

import pyarrow as pa
import pyarrow.parquet as pq

from encoder.settings import validate_settings
from encoder.training.observation import unobserved
from encoder.training.session import train
from mining.pairs import conform
from pipelines.loop.loop_settings import LoopSettings, training_settings
from tests.pipelines.loop.corpora import World, write_world


def test_pairs_of_two_language_pairs_make_groups(tmp_path: Path) -> None:
    settings = validate_settings(LoopSettings, write_world(tmp_path), "loop")
    world = World(7)
    meanings = [world.meaning() for _ in range(60)]
    for lang in ("de", "fr"):
        texts = {
            "src_text": [world.say(meaning, lang) for meaning in meanings],
            "tgt_text": [world.say(meaning, "en") for meaning in meanings],
        }
        pq.write_table(conform(pa.table(texts)), tmp_path / f"{lang}-en.parquet")
    corpora = [{"path": str(tmp_path / f"{lang}-en.parquet")} for lang in ("de", "fr")]
    plan = training_settings(settings, {"objective": {"kind": "mpcl"}}, corpora, 3)
    trained = train(plan, tmp_path / "run", unobserved)
    assert (trained.store.pairs, trained.examples) == (120, 60)
    assert trained.result.position.step == 3
