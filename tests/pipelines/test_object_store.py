"""A mine whose corpora, encoder and work folder are in an object store that fails: nothing lost, nothing twice."""

from pathlib import Path

import fsspec
import pyarrow as pa
import pytest

from mining.errors import InputError
from pipelines.datasets.manifest import Dataset
from pipelines.mine.mine_settings import JobSettings
from pipelines.mine.pair_stage import pair_batches
from pipelines.mine.text_job import mine_corpora
from tests.conftest import Refusal
from tests.pipelines.corpora import job
from tests.pipelines.object_store import FaultyStore, served

pytestmark = pytest.mark.slow


@pytest.fixture(scope="module")
def expected(corpora: Path) -> pa.Table:
    return pairs_of(mine_corpora(job(corpora, "local", rows_per_shard=60)).pairs)


def pairs_of(pairs: Dataset) -> pa.Table:
    """The pairs in order, without the names of the files that they come from."""
    table = pa.concat_tables(pair_batches(pairs))
    return table.drop_columns(["src_source", "tgt_source"])


def remote_job(corpora: Path, bucket: str) -> JobSettings:
    local = job(corpora, rows_per_shard=60)
    store = fsspec.filesystem("s3")
    store.put(f"{corpora}/encoder/", f"{bucket}/encoder/", recursive=True)
    sides = {}
    for side, name in (("source", "src"), ("target", "tgt")):
        store.put_file(str(corpora / f"{name}.txt"), f"{bucket}/{name}.txt")
        sides[side] = getattr(local, side).model_copy(update={"inputs": [f"{bucket}/{name}.txt"]})
    return local.model_copy(update=sides | {"encoder": f"{bucket}/encoder", "work": f"{bucket}/work"})


def test_same_pairs_through_refusals_and_slow_answers(
    corpora: Path, expected: pa.Table, monkeypatch: pytest.MonkeyPatch
) -> None:
    store = FaultyStore(random_seed=0)
    with served(store, monkeypatch) as bucket:
        settings = remote_job(corpora, bucket)
        store.busy = store.slow = 0.03
        found = mine_corpora(settings)
        store.busy = 0.0
        assert pairs_of(found.pairs).equals(expected)
        assert not [name for name in fsspec.filesystem("s3").find(settings.work) if "/_work/" in name or ".tmp" in name]
    assert store.refused > 10


def test_a_store_that_goes_away_is_continued_where_it_stopped(
    corpora: Path, expected: pa.Table, monkeypatch: pytest.MonkeyPatch
) -> None:
    store = FaultyStore(random_seed=1)
    with served(store, monkeypatch, attempts=1) as bucket:
        settings = remote_job(corpora, bucket)
        stops = 0
        for _ in range(20):
            store.working = store.requests + 250
            try:
                found = mine_corpora(settings)
                break
            except (OSError, InputError):  # when reading, and when writing
                stops += 1
        store.working = None
        assert stops > 2
        assert pairs_of(found.pairs).equals(expected)


def test_a_store_that_is_gone_is_one_sentence(corpora: Path, monkeypatch: pytest.MonkeyPatch, refusal: Refusal) -> None:
    store = FaultyStore(random_seed=2)
    with served(store, monkeypatch, attempts=1) as bucket:
        settings = remote_job(corpora, bucket)
        store.working = store.requests + 20
        sides = [settings.source.inputs[0], settings.target.inputs[0], "--src-lang", "en", "--tgt-lang", "en"]
        given = [*sides, "--lang-filter", "assume", "--encoder", settings.encoder]
        told = refusal("mine", *given, "--work", settings.work, "-o", f"{bucket}/p.tsv")
    assert "Traceback" not in told
    assert told.splitlines()[-1].startswith("twinlode: ")
    assert "reduce your request rate" in told or "Service Unavailable" in told
