"""`twinlode mine-vectors` as a user runs it."""

import gzip
import re
import subprocess
import sys
import tempfile
from pathlib import Path

import numpy as np
import pyarrow.parquet as pq
import pytest
from fsspec.core import url_to_fs

from mining.margin import Margin
from mining.vectors import write_vectors
from pipelines.datasets.manifest import open_dataset
from pipelines.graph import graph_stage, grid_panels
from pipelines.mine.candidate_pairs import candidate_batches
from pipelines.review.review_session import Session
from tests.conftest import RunTwinlode
from tests.mining.oracle import laser_pairs

ROWS, COLUMNS, DIM, TRUE = 300, 420, 24, 150


class Corpus:
    """Two sides with known translations, as files in a folder."""

    def __init__(self, folder: Path) -> None:
        rng = np.random.default_rng(0)
        self.folder = folder
        self.x = (rng.standard_normal((ROWS, DIM)) + 0.5).astype(np.float32)
        self.y = (rng.standard_normal((COLUMNS, DIM)) + 0.5).astype(np.float32)
        self.y[:TRUE] = self.x[:TRUE] + 0.3 * rng.standard_normal((TRUE, DIM)).astype(np.float32)
        self.a = [f"quelle {i}" for i in range(ROWS)]
        self.b = [f"destination {i}" for i in range(COLUMNS)]
        np.save(folder / "a.npy", self.x)
        np.save(folder / "b.npy", self.y)
        self.text("a.txt", self.a)
        self.text("b.txt", self.b)

    def text(self, name: str, lines: list[str]) -> None:
        (self.folder / name).write_text("".join(f"{line}\n" for line in lines), encoding="utf-8")

    def options(self, **changes: str) -> list[str]:
        given = {"src-vectors": "a.npy", "tgt-vectors": "b.npy", "src-text": "a.txt", "tgt-text": "b.txt"}
        given |= {"out": "pairs.tsv"} | {name.replace("_", "-"): value for name, value in changes.items()}
        return [part for name, value in given.items() for part in (f"--{name}", value)]


@pytest.fixture
def corpus(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Corpus:
    monkeypatch.chdir(tmp_path)
    return Corpus(tmp_path)


def read_tsv(path: Path) -> list[tuple[float, str, str]]:
    rows = [line.split("\t") for line in path.read_text(encoding="utf-8").splitlines()]
    return [(float(score), source, target) for score, source, target in rows]


def test_the_pairs_are_lasers(corpus: Corpus, twinlode: RunTwinlode, capsys: pytest.CaptureFixture[str]) -> None:
    assert twinlode("mine-vectors", *corpus.options(threshold="0")) == 0
    expected = {(corpus.a[i], corpus.b[j]) for i, j, _ in laser_pairs(corpus.x, corpus.y, 4, "ratio", "max")}
    found = read_tsv(corpus.folder / "pairs.tsv")
    assert {pair[1:] for pair in found} == expected
    assert [score for score, *_ in found] == sorted((score for score, *_ in found), reverse=True)
    assert re.search(rf"pairs in pairs.tsv\W+{len(found)}\b", capsys.readouterr().out)
    names = sorted(path.name for path in corpus.folder.iterdir())
    assert names == ["a.npy", "a.txt", "b.npy", "b.txt", "pairs.tsv", "pairs.work"]


def test_thresholds_from_gold_top_and_seed(corpus: Corpus, twinlode: RunTwinlode) -> None:
    corpus.text("gold", [f"{i + 1}\t{i + 1}" for i in range(TRUE)])
    assert twinlode("mine-vectors", *corpus.options(gold="gold", out="gold.tsv", curve="curve.tsv")) == 0
    header, *points = (corpus.folder / "curve.tsv").read_text().splitlines()
    assert header == "threshold\tprecision\trecall\tkept"
    assert len(points) > TRUE
    tuned = read_tsv(corpus.folder / "gold.tsv")
    right = sum(source.split()[1] == target.split()[1] for _, source, target in tuned)
    assert right > 0.9 * TRUE
    assert right > 0.9 * len(tuned)
    assert twinlode("mine-vectors", *corpus.options(top="10", out="top.tsv")) == 0
    assert len(read_tsv(corpus.folder / "top.tsv")) == 10
    corpus.text("seed", [f"{corpus.a[i]}\t{corpus.b[i]}" for i in range(100)])
    assert twinlode("mine-vectors", *corpus.options(target_precision="0.8", seed_pairs="seed", out="seed.tsv")) == 0
    found = read_tsv(corpus.folder / "seed.tsv")
    assert not {source for _, source, _ in found} & set(corpus.a[:100]), "seed pairs are not mined pairs"


def test_a_seed_with_its_own_vectors_becomes_probes(corpus: Corpus, twinlode: RunTwinlode) -> None:
    rng = np.random.default_rng(9)
    x = (rng.standard_normal((90, DIM)) + 0.5).astype(np.float32)
    np.save(corpus.folder / "sx.npy", x)
    np.save(corpus.folder / "sy.npy", x + 0.3 * rng.standard_normal((90, DIM)).astype(np.float32))
    corpus.text("seed", [f"saat {i}\tgraine {i}" for i in range(90)])
    options = corpus.options(target_precision="0.8", seed_pairs="seed", seed_src_vectors="sx.npy")
    assert twinlode("mine-vectors", *options) == 2
    assert twinlode("mine-vectors", *options, "--seed-tgt-vectors", "sy.npy") == 0
    found = read_tsv(corpus.folder / "pairs.tsv")
    assert not any(source.startswith("saat") or target.startswith("graine") for _, source, target in found)
    right = sum(source.split()[1] == target.split()[1] for _, source, target in found)
    assert right > 0.6 * len(found) > 30


def test_probes_stay_out_of_the_candidates(corpus: Corpus, twinlode: RunTwinlode) -> None:
    x = (np.random.default_rng(9).standard_normal((90, DIM)) + 0.5).astype(np.float32)
    np.save(corpus.folder / "sx.npy", x)
    corpus.text("seed", [f"saat {i}\tgraine {i}" for i in range(90)])
    seed = {"seed_pairs": "seed", "seed_src_vectors": "sx.npy", "seed_tgt_vectors": "sx.npy"}
    assert twinlode("mine-vectors", *corpus.options(target_precision="0.5", candidates="all.tsv", **seed)) == 0
    assert {line[1].split()[0] for line in read_tsv(corpus.folder / "all.tsv")} == {"quelle"}


def test_scratch_files_of_candidates_are_beside_the_pairs(
    corpus: Corpus, twinlode: RunTwinlode, monkeypatch: pytest.MonkeyPatch
) -> None:
    assert twinlode("mine-vectors", *corpus.options()) == 0
    pairs = open_dataset("pairs.work/pairs", "pairs")
    before = sorted(Path(pairs.url).iterdir())
    monkeypatch.setattr(tempfile, "tempdir", str(corpus.folder / "none"))
    assert sum(len(batch) for batch in candidate_batches(pairs, Margin.ratio, 1 << 30)) > ROWS
    assert sorted(Path(pairs.url).iterdir()) == before


def test_seed_pairs_given_twice_count_once(corpus: Corpus, twinlode: RunTwinlode) -> None:
    seed = [f"{corpus.a[i]}\t{corpus.b[i]}" for i in range(100)]
    corpus.text("once", seed)
    corpus.text("twice", seed + seed + [f"{corpus.a[i]}\t{corpus.b[i + 200]}" for i in range(100)])
    for name in ("once", "twice"):
        options = corpus.options(target_precision="0.8", seed_pairs=name, out=f"{name}.tsv")
        assert twinlode("mine-vectors", *options) == 0
    assert (corpus.folder / "once.tsv").read_bytes() == (corpus.folder / "twice.tsv").read_bytes()


def test_the_ids_of_a_vector_file_need_not_be_line_numbers(corpus: Corpus, twinlode: RunTwinlode) -> None:
    assert twinlode("mine-vectors", *corpus.options(out="plain.tsv")) == 0
    write_vectors(str(corpus.folder / "a.arrow"), np.arange(ROWS) * 7 + 5000, corpus.x)
    assert twinlode("mine-vectors", *corpus.options(src_vectors="a.arrow")) == 0
    assert (corpus.folder / "pairs.tsv").read_bytes() == (corpus.folder / "plain.tsv").read_bytes()


def test_a_name_in_brackets_is_printed(
    corpus: Corpus, twinlode: RunTwinlode, capsys: pytest.CaptureFixture[str]
) -> None:
    assert twinlode("mine-vectors", *corpus.options(out="[red]x.tsv")) == 0
    assert "pairs in [red]x.tsv" in capsys.readouterr().out


def test_repeated_lines_are_mined_once_and_all_positions_kept(corpus: Corpus, twinlode: RunTwinlode) -> None:
    corpus.a[7] = corpus.a[200] = corpus.a[3]
    corpus.text("a.txt", corpus.a)
    assert twinlode("mine-vectors", *corpus.options(out="pairs.parquet", candidates="all.parquet", work="work")) == 0
    rows = pq.read_table(corpus.folder / "pairs.parquet").to_pylist()
    same = [row for row in rows if row["src_text"] == corpus.a[3]]
    assert [(row["src_line"], row["src_also"]) for row in same] == [(4, [8, 201])]
    assert {row["src_ref"] for row in rows} == {row["tgt_ref"] for row in rows} == {None}
    assert {row["directions"] for row in pq.read_table(corpus.folder / "all.parquet").to_pylist()} == {"f", "b", "fb"}
    source = open_dataset("work/src", "sentences")
    assert (source.rows, source.manifest.counters.dropped) == (ROWS - 2, {"repeated": 2})
    graph = open_dataset("work/graph", "graph")
    assert [shard.rows for shard in graph.shards] == [ROWS - 2, COLUMNS]
    assert graph.manifest.request.configuration == {"k": 4, "search": "exact"}


def test_gold_may_name_any_line_of_a_repeated_sentence(corpus: Corpus, twinlode: RunTwinlode) -> None:
    corpus.a[200] = corpus.a[3]
    corpus.text("a.txt", corpus.a)
    recalls = []
    for name, line in (("first", 4), ("again", 201)):
        corpus.text(name, [f"{line}\t4"])
        assert twinlode("mine-vectors", *corpus.options(gold=name, out=f"{name}.tsv", work="work")) == 0
        recalls.append((corpus.folder / f"{name}.tsv").read_text())
    assert recalls[0] == recalls[1] != ""


def test_report_review_and_inspect_work_on_it(
    corpus: Corpus, twinlode: RunTwinlode, capsys: pytest.CaptureFixture[str]
) -> None:
    corpus.text("gold", [f"{corpus.a[i]}\t{corpus.b[i]}" for i in range(TRUE)])
    assert twinlode("mine-vectors", *corpus.options(gold="gold")) == 0
    for command in (["report", "pairs.work", "--out", "page.html"], ["inspect", "pairs.work"]):
        assert twinlode(*command) == 0
    assert "quelle 1" in (corpus.folder / "page.html").read_text()
    assert "tgt-vectors" in capsys.readouterr().out
    session = Session("pairs.work", 20, 0.9)
    assert len(session.sample.sampled) == 20


def test_another_choice_reuses_the_graph_and_changed_vectors_do_not(corpus: Corpus, twinlode: RunTwinlode) -> None:
    assert twinlode("mine-vectors", *corpus.options()) == 0
    graph = corpus.folder / "pairs.work" / "graph" / "manifest.json"
    before = graph.stat().st_mtime_ns
    assert twinlode("mine-vectors", *corpus.options(top="5")) == 0
    assert len(read_tsv(corpus.folder / "pairs.tsv")) == 5
    assert graph.stat().st_mtime_ns == before
    np.save(corpus.folder / "a.npy", corpus.x[::-1])
    assert twinlode("mine-vectors", *corpus.options()) == 0
    expected = {(corpus.a[i], corpus.b[j]) for i, j, _ in laser_pairs(corpus.x[::-1], corpus.y, 4, "ratio", "max")}
    assert {pair[1:] for pair in read_tsv(corpus.folder / "pairs.tsv")} == expected


@pytest.mark.parametrize("rows", ["37", "1000"])
def test_shards_and_mixed_types_change_no_pair(rows: str, corpus: Corpus, twinlode: RunTwinlode) -> None:
    corpus.a[5] = ""  # a gap, so that rows are copied and not mapped
    corpus.text("a.txt", corpus.a)
    half = corpus.x.astype(np.float16)
    np.save(corpus.folder / "half.npy", half)
    np.save(corpus.folder / "wide.npy", half.astype(np.float32))
    assert twinlode("mine-vectors", *corpus.options(src_vectors="wide.npy", out="wide.tsv")) == 0
    assert twinlode("mine-vectors", *corpus.options(src_vectors="half.npy", out="half.tsv", rows_per_shard=rows)) == 0
    assert (corpus.folder / "half.tsv").read_bytes() == (corpus.folder / "wide.tsv").read_bytes()
    assert len(list((corpus.folder / "half.work" / "src").glob("*.parquet"))) == -(-(ROWS - 1) // int(rows))


def test_moses_output_and_approximate_search(
    corpus: Corpus, twinlode: RunTwinlode, capsys: pytest.CaptureFixture[str]
) -> None:
    options = corpus.options(
        format="moses", out="bitext", src_lang="de", tgt_lang="en", search="approximate", threads="1"
    )
    assert twinlode("mine-vectors", *options) == 0
    assert "graph forward recall" in capsys.readouterr().out
    graph = open_dataset("bitext.work/graph", "graph")
    assert 0.5 < graph.manifest.measures["forward_recall"] <= 1
    sides = [(corpus.folder / name).read_text().splitlines() for name in ("bitext.de", "bitext.en")]
    assert len(sides[0]) == len(sides[1]) > 100


def test_a_codebook_is_used_again_for_vectors_of_its_dimension(
    corpus: Corpus, twinlode: RunTwinlode, capsys: pytest.CaptureFixture[str]
) -> None:
    assert twinlode("mine-vectors", *corpus.options(search="partitioned")) == 0
    given = {"search": "partitioned", "codebook": "pairs.work/graph"}
    assert twinlode("mine-vectors", *corpus.options(out="again.tsv", **given)) == 0
    assert (corpus.folder / "again.tsv").read_bytes() == (corpus.folder / "pairs.tsv").read_bytes()
    for name, vectors in (("a8.npy", corpus.x), ("b8.npy", corpus.y)):
        np.save(corpus.folder / name, vectors[:, :8])
    other = corpus.options(out="other.tsv", src_vectors="a8.npy", tgt_vectors="b8.npy", **given)
    assert twinlode("mine-vectors", *other) == 2
    assert "is of encoder given vectors and dim 24, but the vectors are of" in " ".join(capsys.readouterr().err.split())


@pytest.mark.parametrize("given", [{"copies": "4"}, {"codebook": "first.work/graph"}])
def test_options_of_a_partitioned_search_are_not_ignored_silently(
    given: dict[str, str], corpus: Corpus, twinlode: RunTwinlode, capsys: pytest.CaptureFixture[str]
) -> None:
    if "codebook" in given:
        assert twinlode("mine-vectors", *corpus.options(out="first.tsv", search="partitioned")) == 0
    assert twinlode("mine-vectors", *corpus.options(**given)) == 0
    (name,) = given
    assert f"note: --{name}: not used, because the search was exact" in capsys.readouterr().err
    assert twinlode("mine-vectors", *corpus.options(search="partitioned", **given)) == 0
    shown = capsys.readouterr()
    assert "not used" not in shown.err
    assert re.search(r"graph cells\W+\d+\W*\n", shown.out), "whole"
    assert twinlode("mine-vectors", *corpus.options(search="exact", **given)) == 2
    assert f"--{name}: for a partitioned search only" in capsys.readouterr().err


def test_filters_write_what_they_drop(corpus: Corpus, twinlode: RunTwinlode) -> None:
    (corpus.folder / "f.yaml").write_text("length: {min_words: 3}\nlanguage: null\n")
    assert twinlode("mine-vectors", *corpus.options(filters="f.yaml", rejected="out.jsonl")) == 0
    assert '"reason": "length"' in (corpus.folder / "out.jsonl").read_text()


@pytest.mark.parametrize(
    ("options", "note"),
    [
        ({"gold": "gold.tsv"}, "none of the gold pairs was found"),
        ({"filters": "standard", "src_lang": "de"}, "a language that is not given"),
    ],
)
def test_what_a_result_does_not_rest_on_is_said(
    options: dict[str, str],
    note: str,
    corpus: Corpus,
    twinlode: RunTwinlode,
    capsys: pytest.CaptureFixture[str],
) -> None:
    corpus.text("gold.tsv", [f"{i + 1}\t{COLUMNS - i}" for i in range(20)])
    assert twinlode("mine-vectors", *corpus.options(**options)) == 0
    assert note in capsys.readouterr().err.replace("\n", " ")


@pytest.mark.parametrize("out", ["pairs.tsv", "memory://killed/pairs.tsv"])
def test_a_killed_run_continues(
    out: str, corpus: Corpus, monkeypatch: pytest.MonkeyPatch, twinlode: RunTwinlode
) -> None:
    assert twinlode("mine-vectors", *corpus.options(out="whole.tsv")) == 0
    monkeypatch.setattr(grid_panels, "_PANEL_WORK", 1)
    whole_panel, done = graph_stage.make_panel, []

    def stops_after(panels: int):  # type: ignore[no-untyped-def]
        def panel(*args):  # type: ignore[no-untyped-def]
            if len(done) == panels:
                raise KeyboardInterrupt
            done.append(1)
            whole_panel(*args)

        return panel

    monkeypatch.setattr(graph_stage, "make_panel", stops_after(20))
    assert twinlode("mine-vectors", *corpus.options(out=out, rows_per_shard="70")) == 130
    files, path = url_to_fs(out)
    assert not files.exists(path)
    monkeypatch.setattr(graph_stage, "make_panel", stops_after(1000))
    made: list[object] = []
    exact = grid_panels.knn_graph
    monkeypatch.setattr(grid_panels, "knn_graph", lambda *given, **more: made.append(1) or exact(*given, **more))
    assert twinlode("mine-vectors", *corpus.options(out=out, rows_per_shard="70")) == 0
    assert len(made) == 30 - 20, "5 x 6 panels, none of them twice"
    assert files.cat_file(path) == (corpus.folder / "whole.tsv").read_bytes()


def bad_inputs(corpus: Corpus) -> list[tuple[dict[str, str], list[str]]]:
    """Options of a run that must fail, and what its one sentence must name."""
    folder = corpus.folder
    (folder / "empty.txt").write_text("")
    corpus.text("short.txt", corpus.a[:-1])
    np.save(folder / "wide.npy", np.ones((ROWS, DIM + 1), np.float32))
    nan = corpus.x.copy()
    nan[16, 3] = np.nan
    np.save(folder / "nan.npy", nan)
    write_vectors(str(folder / "v.arrow"), np.arange(ROWS), corpus.x)
    (folder / "cut.arrow").write_bytes((folder / "v.arrow").read_bytes()[:-100])
    corpus.x.tofile(folder / "v.bin")
    (folder / "cut.bin").write_bytes((folder / "v.bin").read_bytes()[:-10])
    (folder / "cut.gz").write_bytes(gzip.compress("\n".join(corpus.a).encode())[:-30])
    (folder / "latin.txt").write_bytes("\n".join(corpus.a[:-1]).encode() + b"\nGr\xfc\xdfe\n")
    (folder / "file").write_text("")
    (folder / "link.tsv").symlink_to("gold.tsv")
    corpus.text("gold.tsv", ["1\t1"])
    return [
        ({"src_vectors": "none.npy"}, ["none.npy: no such file"]),
        ({"src_text": "none.txt"}, ["none.txt: no such file"]),
        ({"src_text": "empty.txt"}, ["empty.txt: the text is empty"]),
        ({"src_text": "short.txt"}, ["a.npy: 300 vectors", "299 lines"]),
        ({"src_vectors": "wide.npy"}, ["wide.npy has dim 25", "b.npy has dim 24"]),
        ({"src_vectors": "nan.npy"}, ["nan.npy", "row 17"]),
        ({"src_vectors": "cut.arrow"}, ["cut.arrow", "truncated"]),
        ({"src_vectors": "cut.bin", "dim": "24", "dtype": "float32"}, ["cut.bin", "do not divide"]),
        ({"src_text": "cut.gz"}, ["cut.gz: cannot be read after line"]),
        ({"src_text": "latin.txt"}, ["latin.txt, line 300: not valid UTF-8"]),
        ({"out": "file/pairs.tsv"}, ["file/pairs.tsv: cannot be written"]),
        ({"out": "pairs.xyz"}, ["pairs.xyz", ".parquet, .tsv"]),
        ({"margin": "none"}, ["margin"]),
        ({"memory": "lots"}, ["--memory: "]),
        ({"filters": "none.yaml"}, ["none.yaml"]),
        ({"format": "xml"}, ["there is no pair format xml"]),
        ({"threshold": "1", "top": "5"}, ["only one of"]),
        ({"target_precision": "0.9"}, ["a target precision and seed pairs to calibrate it with go together"]),
        ({"curve": "curve.tsv"}, ["--curve needs --gold"]),
        ({"memory": "100kB"}, ["--memory: give 1MiB or more"]),
        ({"memory": "2MiB"}, ["raise --memory to "]),
        ({"device": "foo"}, ["--device: "]),
        ({"threshold": "nan"}, ["threshold"]),
        ({"seed_pairs": "a.txt"}, ["seed pairs to calibrate it with go together"]),
        ({"out": "pairs.tmx"}, ["pairs.tmx", "--src-lang"]),
        ({"out": "new/pairs.tsv", "candidates": "new/all.foo"}, ["new/all.foo"]),
        ({"out": "new/pairs.tsv", "gold": "none.tsv"}, ["none.tsv: no such file"]),
        ({"codebook": "file"}, ["file has no codebook.npz; give the folder of a graph made with --search partitioned"]),
        ({"work": "file"}, ["file is a file; a folder is needed"]),
        ({"rejected": "pairs.tsv"}, ["pairs.tsv: two outputs"]),
        ({"gold": "gold.tsv", "out": "gold.tsv"}, ["gold.tsv: this output would overwrite the input gold.tsv"]),
        ({"gold": "gold.tsv", "out": "link.tsv"}, ["link.tsv: this output would overwrite the input gold.tsv"]),
        ({"gold": "gold.tsv", "curve": "./gold.tsv"}, ["./gold.tsv: this output would overwrite the input gold.tsv"]),
        ({"src_lang": "German"}, ["'German' is not a language code"]),
    ]


def test_bad_input_is_one_sentence_and_exit_2(
    corpus: Corpus, twinlode: RunTwinlode, capsys: pytest.CaptureFixture[str]
) -> None:
    cases = bad_inputs(corpus)
    before = sorted(corpus.folder.rglob("*"))
    for changes, expected in cases:
        assert twinlode("mine-vectors", *corpus.options(**changes)) == 2, changes
        message = capsys.readouterr().err.strip().splitlines()[-1]
        assert message.startswith("twinlode: "), message
        assert all(part in message for part in expected), message
        assert sorted(corpus.folder.rglob("*")) == before, f"{changes} left something behind"
    assert (corpus.folder / "gold.tsv").read_text() == "1\t1\n"


def test_an_unknown_option_is_refused(
    corpus: Corpus, twinlode: RunTwinlode, capsys: pytest.CaptureFixture[str]
) -> None:
    assert twinlode("mine-vectors", *corpus.options(), "--treshold", "1") == 2
    assert "No such option: --treshold" in capsys.readouterr().err


def test_a_small_mine_imports_neither_torch_nor_beam_nor_pandas(corpus: Corpus) -> None:
    program = f"""
import atexit, sys
from pipelines.cli import console
heavy = {{"torch", "apache_beam", "pandas", "transformers"}}
atexit.register(lambda: print(sorted(heavy & sys.modules.keys())))
sys.argv = {["twinlode", "mine-vectors", *corpus.options()]!r}
console()
"""
    done = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, check=True)
    assert done.stdout.splitlines()[-1] == "[]"
