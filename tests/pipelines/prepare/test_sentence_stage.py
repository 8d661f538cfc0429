"""Prepare: one dataset whatever the cutting, what is dropped, resume, and errors as sentences."""

import gzip
import shutil
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import apache_beam as beam
import numpy as np
import pyarrow as pa
import pytest
import yaml
from apache_beam.runners.portability.fn_api_runner import FnApiRunner
from typer.testing import CliRunner

from encoder.subword import SubwordSettings, train_subword
from encoder.text import TextEncoder, TextSettings
from mining.errors import InputError
from mining.files import atomic_writer
from pipelines.cli import app
from pipelines.datasets.manifest import Dataset, Manifest, open_dataset
from pipelines.datasets.sentences import read_shard, tokens_of
from pipelines.prepare.pieces import load_text_encoder
from pipelines.prepare.prepare_settings import PrepareSettings
from pipelines.prepare.readers import ReadSettings
from pipelines.prepare.sentence_stage import MakeSentences, Prepare, make_plan, prepare, start
from pipelines.runners.runner import RunnerSettings
from tests.pipelines.corpora import write_encoder
from tests.pipelines.installed import ENGLISH, GERMAN
from tests.pipelines.prepare.readers.test_web import record

WORDS = ["the", "cat", "sat", "on", "a", "mat", "while", "it", "rained", "in", "London", "and", "nobody", "Went", "Out"]


def lines(seed: int, count: int) -> list[str]:
    rng = np.random.default_rng(seed)
    return [" ".join(rng.choice(WORDS, rng.integers(1, 6))) for _ in range(count)]


@pytest.fixture
def corpus(tmp_path: Path) -> list[str]:
    """Three files, one of them an archive, with plenty of sentences in common."""
    first = [*lines(1, 400), "", "  spaced   out ", "caf\u0065\u0301", "café", "bad \udcff byte"]
    (tmp_path / "a.txt").write_bytes("\n".join(first).encode("utf-8", "surrogateescape"))
    (tmp_path / "b.txt.gz").write_bytes(gzip.compress("\n".join(lines(2, 300)).encode()))
    (tmp_path / "c.txt").write_text("\n".join(lines(3, 200)) + "\n")
    return [f"{tmp_path}/[ab].*", f"{tmp_path}/c.txt"]


def settings(corpus: list[str], out: Path | str, **changes) -> PrepareSettings:
    base = {"inputs": corpus, "out": str(out), "read": ReadSettings(lang="en"), "lang_filter": "assume"}
    return PrepareSettings(**base | {"rows_per_shard": 100} | changes)


def rows(dataset: Dataset) -> list[dict]:
    return pa.concat_tables([read_shard(dataset.shard_url(shard)) for shard in dataset.shards]).to_pylist()


def expected(corpus: list[str]) -> Iterator[tuple[str, int, str]]:
    """Source, line and text of every sentence, by the simplest loop there is."""
    folder = Path(corpus[0]).parent
    seen: set[str] = set()
    for name in ("a.txt", "b.txt.gz", "c.txt"):
        data = (folder / name).read_bytes()
        data = gzip.decompress(data) if name.endswith("gz") else data
        for number, line in enumerate(data.split(b"\n"), 1):
            text = " ".join(line.decode(errors="replace").replace("e\u0301", "é").split())
            if text and "\ufffd" not in text and text not in seen:
                seen.add(text)
                yield str(folder / name), number, text


def test_ids_sources_and_lines_are_those_of_a_simple_loop(tmp_path: Path, corpus: list[str]) -> None:
    dataset = prepare(settings(corpus, tmp_path / "out"))
    found = rows(dataset)
    assert [(row["source"], row["line"], row["text"]) for row in found] == list(expected(corpus))
    assert [row["id"] for row in found] == list(range(len(found)))
    assert {row["lang"] for row in found} == {"en"}
    assert [shard.rows for shard in dataset.shards[:-1]] == [100] * (len(dataset.shards) - 1)
    counters = dataset.manifest.counters
    assert counters.rows_in == 905 == counters.kept + sum(counters.dropped.values())
    assert (counters.dropped["empty"], counters.dropped["bad_utf8"]) == (1, 1)
    assert counters.kept == len(found)
    assert sorted(path.name for path in (tmp_path / "out").iterdir())[-1] == "manifest.json"


def nameless(dataset: Dataset) -> Manifest:
    """All of the manifest, checksums of files too, but the names that these have."""
    shards = [shard.model_copy(update={"name": ""}) for shard in dataset.shards]
    return dataset.manifest.model_copy(update={"shards": shards})


CUTS = [{"block_mb": 1e-3}, {"block_mb": 3e-4, "memory_mb": 1}, {"processes": 2, "block_mb": 1e-3}]


@pytest.mark.parametrize("cut", CUTS, ids=str)
def test_same_dataset_whatever_the_cutting(tmp_path: Path, corpus: list[str], cut: dict, monkeypatch) -> None:
    # Many hash prefixes even for a small corpus.
    monkeypatch.setattr("pipelines.prepare.sentence_stage.BYTES_PER_ROW", 2**16 if "memory_mb" in cut else 48)
    whole = prepare(settings(corpus, tmp_path / "whole"))
    options = {key: value for key, value in cut.items() if key != "processes"}
    other = prepare(settings(corpus, tmp_path / "cut", **options), RunnerSettings(processes=cut.get("processes", 1)))
    assert nameless(other) == nameless(whole)


@pytest.mark.parametrize("shuffle", [False, True])
def test_same_dataset_by_an_engine(tmp_path: Path, corpus: list[str], shuffle: bool, monkeypatch) -> None:
    monkeypatch.setattr("pipelines.prepare.sentence_stage.BYTES_PER_ROW", 2**16)
    asked = settings(corpus, tmp_path / "engine", block_mb=1e-3, memory_mb=1)
    work = start(asked)
    plan = make_plan(asked, work)
    assert plan.partitions > 8
    with beam.Pipeline(runner=FnApiRunner()) as pipeline:
        _ = pipeline | MakeSentences(asked, work, plan, shuffle=shuffle)
    assert nameless(open_dataset(asked.out, "sentences")) == nameless(prepare(settings(corpus, tmp_path / "here")))


def test_another_version_of_what_decides_is_refused(
    tmp_path: Path, corpus: list[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    asked = settings(corpus, tmp_path / "out", lang_filter="detect")
    monkeypatch.setattr("pipelines.prepare.sentence_stage.model_version", lambda: "lid 1")
    monkeypatch.setattr("pipelines.prepare.sentence_stage.run", lambda *given, **more: None)
    with pytest.raises(InputError, match="the dataset is unfinished"):
        prepare(asked)
    monkeypatch.setattr("pipelines.prepare.sentence_stage.model_version", lambda: "lid 2")
    with pytest.raises(InputError, match="version of language id: lid 1 -> lid 2"):
        prepare(asked)


def test_shard_size_changes_the_cutting_but_not_the_rows(tmp_path: Path, corpus: list[str]) -> None:
    small = prepare(settings(corpus, tmp_path / "small", rows_per_shard=7))
    large = prepare(settings(corpus, tmp_path / "large", rows_per_shard=10**6))
    assert (len(small.shards), len(large.shards)) == (-(-small.rows // 7), 1)
    assert rows(small) == rows(large)


def test_pieces_are_those_of_the_encoder(tmp_path: Path, corpus: list[str]) -> None:
    encoder = tmp_path / "encoder"
    text = TextSettings(max_tokens=4)
    train_subword(
        {"en": [line.lower() for line in lines(5, 300)]},
        SubwordSettings(vocabulary=40),
        encoder / "sentencepiece.model",
    )
    (encoder / "config.yaml").write_text(yaml.safe_dump({"text": text.model_dump(mode="json")}))
    dataset = prepare(settings(corpus, tmp_path / "out", encoder=str(encoder)))
    table = read_shard(dataset.shard_url(dataset.shards[1]), ["text", "pieces"])
    expected_tokens = TextEncoder(text, load_text_encoder(str(encoder)).subword).encode(table["text"].to_pylist(), "en")
    found = tokens_of(table)
    assert np.array_equal(found.ids, expected_tokens.ids)
    assert np.array_equal(found.offsets, expected_tokens.offsets)
    part = tokens_of(table.slice(5, 3))
    assert np.array_equal(part.ids, expected_tokens.take(np.arange(5, 8)).ids)
    with pytest.raises(InputError, match=r"another configuration .*input .*encoder is gone"):
        prepare(settings(corpus, tmp_path / "out"))


def test_crash_at_any_write_then_rerun_gives_the_same_and_redoes_nothing(
    tmp_path: Path, corpus: list[str], monkeypatch
) -> None:
    options = {"block_mb": 2e-3, "rows_per_shard": 150}
    whole = prepare(settings(corpus, tmp_path / "whole", **options))
    out = tmp_path / "out"
    written: list[str] = []
    budget = 0

    @contextmanager
    def crashing(url: str):
        with atomic_writer(url) as stream:
            yield stream
            if len(written) >= budget:
                raise KeyboardInterrupt
        written.append(url)

    for module in ("datasets.manifest", "datasets.sentences", "prepare.duplicates", "prepare.parts"):
        monkeypatch.setattr(f"pipelines.{module}.atomic_writer", crashing)
    runs = 0
    while not (out / "manifest.json").exists():
        budget = len(written) + 1 + 5 * (runs % 3)
        runs += 1
        try:
            prepare(settings(corpus, out, **options))
        except (KeyboardInterrupt, RuntimeError):
            continue
    assert runs > 3
    notes = [path for path in written if "/shards/" in path or ("/parts/" in path and path.endswith(".json"))]
    assert len(notes) == len(set(notes)) > len(whole.shards)
    assert nameless(open_dataset(str(out), "sentences")) == nameless(whole)
    before = len(written)
    prepare(settings(corpus, out, **options))
    assert len(written) == before


def test_transform_in_a_pipeline_of_ones_own(tmp_path: Path, corpus: list[str]) -> None:
    for _ in range(2):  # the second time the dataset is there
        with beam.Pipeline(runner=FnApiRunner()) as pipeline:
            total = pipeline | Prepare(settings(corpus, tmp_path / "out")) | beam.Map(lambda shard: shard.rows)
            total | beam.CombineGlobally(sum) | beam.Map(_check_total)


def _check_total(total: int) -> None:
    assert total > 100


def test_memory_filesystem(corpus: list[str], tmp_path: Path) -> None:
    assert prepare(settings(corpus, f"memory://{tmp_path}/set")).rows > 100


def test_language_filter_counts_what_it_takes(tmp_path: Path) -> None:
    german = ["Das ist ein ganz normaler deutscher Satz.", "Morgen gehen wir zusammen ins Kino."]
    english = ["This is quite an ordinary English sentence.", "We go to the cinema together tomorrow."]
    (tmp_path / "a.txt").write_text("\n".join([*german, *english]))
    dataset = prepare(settings([f"{tmp_path}/a.txt"], tmp_path / "out", lang_filter="detect"))
    assert [row["text"] for row in rows(dataset)] == english
    assert dataset.manifest.counters.dropped == {"language": 2}


def test_nothing_left_says_which_filter_took_them_and_leaves_the_folder_free(tmp_path: Path) -> None:
    (tmp_path / "a.txt").write_text("Das ist ein ganz normaler deutscher Satz.\n\n")
    asked = settings([f"{tmp_path}/a.txt"], tmp_path / "out", lang_filter="detect")
    with pytest.raises(InputError, match=r"no sentence of the 2 in .*a\.txt is left: .*language took 1"):
        prepare(asked)
    assert prepare(asked.model_copy(update={"lang_filter": "assume"})).rows == 1


def test_empty_files_say_so(tmp_path: Path) -> None:
    (tmp_path / "a.txt").touch()
    with pytest.raises(InputError, match=r"there is no sentence in .*a\.txt; the files are empty"):
        prepare(settings([f"{tmp_path}/a.txt"], tmp_path / "out"))


def test_what_has_no_sentence_is_the_text_and_not_the_encoder(tmp_path: Path) -> None:
    encoder = str(write_encoder(tmp_path / "encoder"))
    (tmp_path / "empty.txt").touch()
    (tmp_path / "a.jsonl").write_text('{"sentence": "One of them."}\n')
    for name, told in (
        ("empty.txt", "there is no sentence in {};"),
        ("a.jsonl", "no sentence of the 1 in {} is left:"),
    ):
        with pytest.raises(InputError) as refused:
            prepare(settings([f"{tmp_path}/{name}"], tmp_path / "out", encoder=encoder))
        assert str(refused.value).startswith(told.format(f"{tmp_path}/{name}"))


def test_an_error_in_a_worker_process_is_the_same_sentence_here(tmp_path: Path) -> None:
    for name in "ab":
        (tmp_path / f"{name}.gz").write_bytes(gzip.compress(b"one\ntwo\n" * 1000)[:-9])
    with pytest.raises(InputError, match=r"^\S+/[ab]\.gz: cannot be read after line 2000 .*--truncated keep$"):
        prepare(settings([f"{tmp_path}/*.gz"], tmp_path / "out"), RunnerSettings(processes=2))


def test_what_an_error_tells_to_try_goes_on_in_the_same_folder(tmp_path: Path) -> None:
    (tmp_path / "a.gz").write_bytes(gzip.compress(b"one line\nanother line\n" * 10)[:-9])
    stop = settings([f"{tmp_path}/a.gz"], tmp_path / "out")
    with pytest.raises(InputError, match="--truncated keep"):
        prepare(stop)
    keep = stop.model_copy(update={"read": stop.read.model_copy(update={"truncated": "keep"})})
    assert prepare(keep).manifest.counters.dropped["truncated"] == 1
    assert prepare(keep).rows > 0
    with pytest.raises(InputError, match="made with --truncated keep, of 1 archives"):
        prepare(stop)


def test_command_says_what_is_read_and_what_is_foreign(tmp_path: Path) -> None:
    texts = [*GERMAN.splitlines(), *ENGLISH.splitlines()[:3]]
    (tmp_path / "a.tsv").write_text("".join(f"{text}\td{i}\n" for i, text in enumerate(texts)))
    (tmp_path / "b.tsv").write_text("".join(f"d{i}\t{text}\n" for i, text in enumerate(texts)))
    asked = ["prepare", f"{tmp_path}/a.tsv", "--lang", "en", "--out", f"{tmp_path}/out"]
    said = CliRunner().invoke(app, asked, catch_exceptions=False).output
    assert f"a.tsv has 2 columns, of which 1 is read ('{texts[0][:30]}...', " in said
    assert f"8 of 11 sentences of {tmp_path}/a.tsv are not en; most look like de: check --lang" in said
    asked = ["prepare", f"{tmp_path}/b.tsv", "--lang", "en", "--lang-filter", "assume"]
    refused = CliRunner().invoke(app, [*asked, "--out", f"{tmp_path}/codes"])
    assert "give --column 2, or --column 1 if that is the text" in str(refused.exception)
    documents = [*asked, "--documents", "--out", f"{tmp_path}/documents"]
    assert CliRunner().invoke(app, documents, catch_exceptions=False).exit_code == 0, "`docid TAB sentence`"


BAD = [
    (["nothing/*.txt", "--lang", "en"], "nothing/*.txt: no file matches"),
    (["c.txt", "--lang", "xx"], "xx"),
    (["c.txt", "--lang", "en", "--format", "docx"], "format"),
    (["c.txt", "--lang", "tpi"], "detector does not know tpi"),
    (["c.txt", "--lang", "en", "--encoder", "nowhere"], "nowhere is not an encoder folder"),
    (["c.txt", "--lang", "en", "--lang-filter", "assume", "--rows-per-shard", "9"], "rows_per_shard: 100 -> 9"),
]


@pytest.mark.parametrize(("arguments", "phrase"), BAD)
def test_command_refuses_in_one_sentence(
    tmp_path: Path, corpus: list[str], arguments: list[str], phrase: str, monkeypatch
) -> None:
    monkeypatch.chdir(tmp_path)
    out = "out"
    if "rows_per_shard" in phrase:
        out = "made"
        prepare(settings(["c.txt"], out))
    result = CliRunner().invoke(app, ["prepare", *arguments, "--out", out])
    assert phrase in str(result.exception)
    assert isinstance(result.exception, ValueError)
    assert "\n" not in str(result.exception)


def test_command_makes_a_dataset_and_sums_up(tmp_path: Path, corpus: list[str]) -> None:
    arguments = ["prepare", *corpus, "--lang", "en", "--out", str(tmp_path / "out"), "--lang-filter", "assume"]
    for _ in range(2):
        result = CliRunner().invoke(app, arguments, catch_exceptions=False)
        assert result.exit_code == 0
        assert "dropped: duplicate" in result.output
    shutil.rmtree(tmp_path / "out")


@pytest.mark.shared
def test_real_documents_keep_their_ids(tmp_path: Path, shared_data: Path) -> None:
    read = ReadSettings(lang="fr", format="bucc")
    dataset = prepare(
        settings([f"{shared_data}/mono/k8s.fr.tsv.gz"], tmp_path / "out", read=read, lang_filter="detect")
    )
    original = gzip.decompress((shared_data / "mono/k8s.fr.tsv.gz").read_bytes()).decode().split("\n")
    sample = rows(dataset)[:: max(dataset.rows // 50, 1)]
    assert all(original[row["line"] - 1].split("\t")[0] == row["ref"] for row in sample)
    assert dataset.manifest.counters.dropped["language"] < 0.2 * dataset.manifest.counters.rows_in


def write_documents(folder: Path) -> list[str]:
    """A file that is one document with repeats, one of `docid TAB sentence` with a name that comes again."""
    texts = lines(5, 40)
    (folder / "a.txt").write_text("\n".join([*texts, "", *texts[:3], "  "]))
    named = [f"d{k // 7}\t{text}" for k, text in enumerate(lines(6, 30))] + ["d0\tagain"]
    (folder / "b.tsv").write_text("\n".join(named))
    return [f"{folder}/a.txt", f"{folder}/b.tsv"]


@pytest.mark.parametrize("block_mb", [16, 200 / 2**20])
def test_documents_keep_order_and_repeats(tmp_path: Path, block_mb: float) -> None:
    inputs = write_documents(tmp_path)
    dataset = prepare(settings(inputs, tmp_path / "out", documents=True, rows_per_shard=7, block_mb=block_mb))
    found = [(row["document"], row["position"], row["text"]) for row in rows(dataset)]
    texts = [line for line in (tmp_path / "a.txt").read_text().splitlines() if line.strip()]
    expected = [(inputs[0], place, text) for place, text in enumerate(texts)]
    expected += [(f"d{k // 7}", k % 7, text) for k, text in enumerate(lines(6, 30))] + [("d0", 0, "again")]
    assert found == expected
    assert "duplicate" not in dataset.manifest.counters.dropped
    assert [row["line"] for row in rows(dataset)][39:41] == [40, 42]


def test_documents_on_a_runner_are_the_same(tmp_path: Path) -> None:
    inputs = write_documents(tmp_path)
    small = {"documents": True, "rows_per_shard": 7, "block_mb": 200 / 2**20}
    with beam.Pipeline(FnApiRunner()) as pipeline:
        _ = pipeline | Prepare(settings(inputs, tmp_path / "runner", **small))
    here = prepare(settings(inputs, tmp_path / "here", **small))
    assert rows(open_dataset(str(tmp_path / "runner"), "sentences")) == rows(here)


def test_pages_of_an_archive_are_documents(tmp_path: Path) -> None:
    pages = [("http://x/a", b"Hello there. Was it good?"), ("http://x/b", b"Yes. Yes. It was.")]
    (tmp_path / "crawl.wet").write_bytes(b"".join(record("conversion", url, body) for url, body in pages))
    dataset = prepare(settings([f"{tmp_path}/crawl.wet"], tmp_path / "out", documents=True))
    assert [(row["document"], row["position"], row["text"]) for row in rows(dataset)] == [
        ("http://x/a", 0, "Hello there."),
        ("http://x/a", 1, "Was it good?"),
        ("http://x/b", 0, "Yes."),
        ("http://x/b", 1, "Yes."),
        ("http://x/b", 2, "It was."),
    ]
