"""Cleaning from end to end: every row is kept or rejected with a reason, whatever is wrong with the file."""

from __future__ import annotations

import json
import time
import zipfile
from collections.abc import Iterator
from pathlib import Path

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from typer.testing import CliRunner

from mining.errors import InputError
from mining.filters import FilterSettings
from mining.knn import knn_graph
from mining.pair_formats import Format
from mining.translation_units import iterate_units
from mining.vectors import from_array
from pipelines.clean import clean_stage
from pipelines.clean.bitext_chunks import count_reasons, read_chunks
from pipelines.clean.bitext_languages import with_languages
from pipelines.clean.bitext_rows import BitextSettings
from pipelines.clean.clean_settings import CleanSettings
from pipelines.clean.clean_stage import clean, read_scored
from pipelines.clean.cleaned_files import SCORES, _as_json, check_outputs, write_kept, write_rejected
from pipelines.clean.given import with_rivals
from pipelines.clean.probe_check import Check
from pipelines.cli import app
from pipelines.evaluation.benchmark_files import DataFolder
from pipelines.evaluation.bucc import Bucc
from pipelines.evaluation.noisy_bitext import NoiseInBitext
from pipelines.evaluation.sources import load_source
from pipelines.inspection.explained_pairs import explain_pairs
from tests.pipelines.clean.conftest import toy_pairs


def _reasons(path: Path, content: bytes, **settings: object) -> dict[str, tuple[int, list[int]]]:
    path.write_bytes(content)
    return count_reasons(read_chunks(BitextSettings(path=str(path), **settings)))


def test_rows_of_a_tsv_that_are_no_pairs_are_counted_with_their_lines(tmp_path: Path) -> None:
    content = b"a b\tc d\nonly one\nx\t\n\xff\xfe\tbad\nA, b!\tc d\ne\tf\tg\n"
    found = _reasons(tmp_path / "x.tsv", content)
    assert found == {
        "columns": (2, [2, 6]), "empty": (1, [3]), "not UTF-8": (1, [4]), "duplicate": (1, [5])
    }  # fmt: skip


def test_a_broken_first_row_does_not_decide_how_many_columns_there_are(tmp_path: Path) -> None:
    assert _reasons(tmp_path / "x.tsv", b"# a comment\na\tb\nc\td\n") == {"columns": (1, [1])}


def test_rows_of_jsonl_that_are_no_pairs(tmp_path: Path) -> None:
    rows = ['{"src_text": "a", "tgt_text": "b", "id": 7}', "{broken", "[1]", '{"src_text": "a", "tgt_text": 3}']
    found = _reasons(tmp_path / "x.jsonl", "\n".join(rows).encode())
    assert found == {"no text": (2, [3, 4]), "not JSON": (1, [2])}


def test_near_duplicates_differ_in_numbers_and_accents_alone(tmp_path: Path) -> None:
    rows = ["Seite 3 von 10\tpage 3 of 10", "Seite 4 von 12\tpage 4 of 12", "SEITE 3 von 10.\tPage 3 of 10"]
    rows += ["déjà vu\tseen before", "deja vu\tseen before", "deja vu\tseen already", "...\t...", "???\t???"]
    found = _reasons(tmp_path / "x.tsv", "\n".join(rows).encode())
    assert found == {"near duplicate": (2, [2, 5]), "duplicate": (1, [3])}


def test_duplicates_are_found_across_chunks(tmp_path: Path) -> None:
    (tmp_path / "x.tsv").write_text("a b\tc d\ne f\tg h\na b\tc d\n")
    chunks = read_chunks(BitextSettings(path=str(tmp_path / "x.tsv")), size=2)
    assert [chunk["reason"].to_pylist() for chunk in chunks] == [[None, None], ["duplicate"]]


_TMX = """<tmx version="1.4" xmlns="http://www.lisa.org/tmx14"><header/><body>
<tu tuid="7"><note>n &gt; 1</note>
<tuv xml:lang="de"><seg>eins\nzwei</seg></tuv><tuv xml:lang="EN-us"><seg>one two</seg></tuv></tu>
<tu><tuv xml:lang="de"><seg>drei</seg></tuv><tuv xml:lang="fr"><seg>trois</seg></tuv></tu></body></tmx>"""


def test_units_of_a_tmx_stay_whole_and_are_all_accounted_for(tmp_path: Path) -> None:
    (tmp_path / "x.tmx").write_text(_TMX)
    bitext = BitextSettings(path=str(tmp_path / "x.tmx"), src_lang="de", tgt_lang="en")
    (table,) = read_chunks(bitext)
    assert table["reason"].to_pylist() == [None, "language missing"]
    assert write_kept(str(tmp_path / "y.tmx"), [_scored(table)], bitext, scores=True) == 1
    ((unit, variants),) = iterate_units(str(tmp_path / "y.tmx"))
    assert unit.get("tuid") == "7" and unit.findtext("note") == "n > 1"
    assert [prop.get("type") for prop in unit.iter("prop")] == ["probability", "cosine", "margin"]
    assert [(variant.language, variant.text) for variant in variants] == [("de", "eins zwei"), ("EN-us", "one two")]


def test_columns_of_parquet_stay_with_their_types(tmp_path: Path) -> None:
    when = pa.array([1, 2, 3], pa.timestamp("ns"))
    own = pa.table(
        {"de": ["eins", None, "drei"], "when": when, "en": ["one", "two", "three"], "cosine": ["x", "y", "z"]}
    )
    pq.write_table(own, tmp_path / "x.parquet")
    bitext = BitextSettings(path=str(tmp_path / "x.parquet"), columns=("de", "en"))
    chunks = [_scored(chunk) for chunk in read_chunks(bitext, size=2)]
    assert [reason for chunk in chunks for reason in chunk["reason"].to_pylist()] == [None, "no text", None]
    write_kept(str(tmp_path / "y.parquet"), chunks, bitext)
    assert pq.read_table(tmp_path / "y.parquet").equals(own.take([0, 2]))
    write_kept(str(tmp_path / "z.parquet"), chunks, bitext, scores=True)
    scored = pq.read_table(tmp_path / "z.parquet")
    assert scored.column_names == ["de", "when", "en", "cosine", "probability", "clean_cosine", "margin"]
    assert (scored["cosine"].to_pylist(), scored["clean_cosine"].to_pylist()) == (["x", "z"], [0.5, 0.5])
    write_rejected(str(tmp_path / "rejected.jsonl"), chunks)
    (line,) = (tmp_path / "rejected.jsonl").read_text().splitlines()
    assert json.loads(line)["own"]["en"] == "two"


def test_fields_of_jsonl_stay_beside_the_scores(tmp_path: Path) -> None:
    (tmp_path / "x.jsonl").write_text('{"src_text": "eins", "tgt_text": "one", "margin": "left"}\n')
    bitext = BitextSettings(path=str(tmp_path / "x.jsonl"))
    write_kept(str(tmp_path / "y.jsonl"), map(_scored, read_chunks(bitext)), bitext, scores=True)
    found = json.loads((tmp_path / "y.jsonl").read_text())
    assert (found["margin"], found["clean_margin"], found["cosine"]) == ("left", 0.5, 0.5)


@pytest.mark.parametrize("kind", ["jsonl", "parquet", "tmx", "tsv"])
def test_scores_are_written_in_another_format_than_the_bitexts_too(kind: str, tmp_path: Path) -> None:
    given = tmp_path / ("x.jsonl" if kind == "tsv" else "x.tsv")
    given.write_text('{"src_text": "eins", "tgt_text": "one"}\n' if kind == "tsv" else "eins\tone\n")
    bitext = BitextSettings(path=str(given), src_lang="de", tgt_lang="en")
    out = tmp_path / f"y.{kind}"
    assert write_kept(str(out), map(_scored, read_chunks(bitext)), bitext, scores=True) == 1
    if kind == "tsv":
        assert out.read_text() == "0.5\teins\tone\t0.5\t0.5\t0.5\n"
    elif kind == "tmx":
        ((unit, variants),) = iterate_units(str(out))
        assert [prop.get("type") for prop in unit.findall("prop")] == ["probability", "cosine", "margin", "score"]
        assert [variant.text for variant in variants] == ["eins", "one"]
    else:
        (row,) = pq.read_table(out).to_pylist() if kind == "parquet" else [json.loads(out.read_text())]
        assert [row[name] for name in ("src_text", "tgt_text", "score", *SCORES)] == ["eins", "one", *[0.5] * 4]


def test_scores_are_refused_where_there_is_no_place_for_them(tmp_path: Path) -> None:
    bitext = BitextSettings(path=str(tmp_path / "x.tsv"), src_lang="de", tgt_lang="en")
    with pytest.raises(InputError, match="no place for scores"):
        check_outputs(str(tmp_path / "y"), None, Format.MOSES, bitext, scores=True)


def _scored(chunk: pa.Table) -> pa.Table:
    for name in SCORES:
        chunk = chunk.append_column(name, pa.array([0.5] * len(chunk), pa.float32()))
    return chunk


def test_a_moses_pair_of_unequal_length_loses_nothing(tmp_path: Path) -> None:
    (tmp_path / "x.de").write_text("a\nb\nc\n")
    (tmp_path / "x.en").write_text("d\ne\n")
    settings = BitextSettings(path=str(tmp_path / "x"), format="moses", src_lang="de", tgt_lang="en")
    (table,) = read_chunks(settings)
    assert table["reason"].to_pylist() == [None, None, "other side missing"]


def test_the_zip_of_a_corpus_as_opus_gives_it(tmp_path: Path) -> None:
    path = tmp_path / "de-en.txt.zip"
    with zipfile.ZipFile(path, "w") as archive:
        for name, text in (("README", "no text"), ("X.de-en.de", "a\nb\n"), ("X.de-en.en", "c\nd\n")):
            archive.writestr(name, text)
    (table,) = read_chunks(BitextSettings(path=str(path), src_lang="de", tgt_lang="en"))
    assert table["source"].to_pylist() == ["a", "b"] and table["target"].to_pylist() == ["c", "d"]
    with pytest.raises(InputError, match=r"end with \.fr"):
        list(read_chunks(BitextSettings(path=str(path), src_lang="fr", tgt_lang="en")))


@pytest.mark.parametrize(
    ("line", "columns", "message"),
    [("a\tb\tc\td\te", None, "--columns"), ("a\tb", ("1", "9"), "2 columns")],
)
def test_columns_that_cannot_be_told_are_asked_for(tmp_path: Path, line: str, columns, message: str) -> None:
    (tmp_path / "x.tsv").write_text(line)
    with pytest.raises(InputError, match=message):
        list(read_chunks(BitextSettings(path=str(tmp_path / "x.tsv"), columns=columns)))


def test_given_pairs_come_with_their_nearest_rivals() -> None:
    rng = np.random.default_rng(0)
    x, y = rng.normal(size=(2, 20, 6)).astype(np.float32)
    x, y = (side / np.linalg.norm(side, axis=1, keepdims=True) for side in (x, y))
    edges, given = with_rivals(knn_graph(from_array(x), from_array(y), 4), x, y)
    assert edges.source[given].tolist() == edges.target[given].tolist() == list(range(20))
    keys = set(zip(edges.source.tolist(), edges.target.tolist(), strict=True))
    assert len(keys) == len(edges)
    cosines = x @ y.T
    for row in range(20):
        others = [column for column in range(20) if column != row]
        assert (row, max(others, key=lambda column: cosines[row, column])) in keys
        assert (max(others, key=lambda other: cosines[other, row]), row) in keys
    np.testing.assert_allclose(edges.cosines, cosines[edges.source, edges.target], atol=1e-5)


def _noisy(path: Path) -> dict[int, str]:
    """A file of good and bad rows; which line is which."""
    pairs = toy_pairs(300, 2)
    kinds, lines = {}, []
    for number, (source, target) in enumerate(pairs, 1):
        wrong = number % 3 == 0
        lines.append(f"{source}\t{pairs[number - 3][1] if wrong else target}\tnote {number}")
        kinds[number] = "wrong" if wrong else "right"
    lines += ["one column", "a\t\tnote", "x " * 500_000 + "\ty\tnote", lines[0]]
    path.write_text("\n".join(lines) + "\n", encoding="utf-8")
    return kinds


def test_clean_keeps_right_pairs_and_accounts_for_every_row(scoring_encoder: Path, tmp_path: Path) -> None:
    kinds = _noisy(tmp_path / "in.tsv")
    bitext = BitextSettings(path=str(tmp_path / "in.tsv"), columns=("1", "2"))
    filters = FilterSettings(numbers=None, repeated_target=None)
    settings = CleanSettings(
        bitext=bitext,
        encoder=str(scoring_encoder),
        work=str(tmp_path / "work"),
        precision=0.9,
        explain=True,
        filters=filters,
        rows=150,
    )
    cleaned = clean(settings)
    assert cleaned.rows == 304 == cleaned.kept + sum(count for count, _ in cleaned.reasons.values())
    assert cleaned.reasons["columns"] == (1, [301]) and cleaned.reasons["empty"] == (1, [302])
    assert cleaned.reasons["length"] == (1, [303]) and cleaned.reasons["duplicate"] == (1, [304])
    out, rejected = tmp_path / "out.tsv", tmp_path / "rejected.jsonl"
    assert write_kept(str(out), read_scored(cleaned), bitext) == cleaned.kept
    assert write_rejected(str(rejected), read_scored(cleaned), explain=True) == cleaned.rows - cleaned.kept
    kept = [int(line.split()[-1]) for line in out.read_text().splitlines()]  # the third column is still there
    right = [kinds[number] for number in kept].count("right")
    assert right > 0.9 * len(kept) and right > 120
    rows = [json.loads(line) for line in rejected.read_text().splitlines()]
    assert any("(-" in row.get("why", "") for row in rows if row["reason"] == "unlikely")
    reasons = {row["line"]: row["reason"] for row in rows}
    assert set(reasons) | set(kept) == set(range(1, 305)) and not set(reasons) & set(kept)


def test_the_command_writes_a_report_of_every_reason(scoring_encoder: Path, tmp_path: Path) -> None:
    _noisy(tmp_path / "in.tsv")
    report = tmp_path / "report.html"
    told = ["clean", str(tmp_path / "in.tsv"), "-o", str(tmp_path / "out.tsv"), "--columns", "1", "2"]
    told += ["--encoder", str(scoring_encoder), "--filters", "none", "--report", str(report)]
    result = CliRunner().invoke(app, [*told, "--rejected", str(tmp_path / "rejected.tsv")])
    assert result.exit_code == 0, result.output
    page = report.read_text()
    for shown in ("<td>columns</td>", "<td>empty</td>", "<td>duplicate</td>", "Kept, but least sure", "unlikely"):
        assert shown in page
    assert "(-" in page  # what speaks against a pair
    assert "(-" not in (tmp_path / "rejected.tsv").read_text()  # where it was not asked for
    assert "http://" not in page and "https://" not in page and "<script" not in page
    pairs = toy_pairs(300, 2)
    assert sum(source in page for source, _ in pairs) > 20


def test_inspect_explains_the_scores_of_pairs(scoring_encoder: Path, tmp_path: Path) -> None:
    _noisy(tmp_path / "in.tsv")
    told = ["inspect", str(tmp_path / "in.tsv"), "--explain", "--rows", "3", "--columns", "1", "2"]
    result = CliRunner(env={"COLUMNS": "200"}).invoke(app, [*told, "--encoder", str(scoring_encoder)])
    assert result.exit_code == 0, result.output
    assert "all features" in result.output and result.output.count("line ") == 3
    bitext = BitextSettings(path=str(tmp_path / "in.tsv"), columns=("1", "2"))
    right, _, wrong = explain_pairs(bitext, str(scoring_encoder), 3)
    assert right.log_odds > 0 > wrong.log_odds and wrong.parts[0].log_odds < 0 and wrong.line == 3
    assert right.given is None and "score in the file" not in result.output
    (tmp_path / "none.tsv").write_text("a\t\n")
    with pytest.raises(InputError, match="no pairs in it to explain"):
        explain_pairs(BitextSettings(path=str(tmp_path / "none.tsv")), str(scoring_encoder), 3)


def test_from_standard_input_to_standard_output(scoring_encoder: Path, tmp_path: Path) -> None:
    _noisy(tmp_path / "in.tsv")
    told = ["clean", "-", "-o", "-", "--columns", "1", "2", "--encoder", str(scoring_encoder), "--filters", "none"]
    result = CliRunner().invoke(app, told, input=(tmp_path / "in.tsv").read_bytes())
    assert result.exit_code == 0, result.output
    lines = result.stdout.splitlines()
    assert len(lines) > 100 and all("\tnote" in line for line in lines)
    assert f"{len(lines):,}" in result.stderr and "standard output" in result.stderr


def test_seed_pairs_become_probes_and_do_not_come_out(scoring_encoder: Path, tmp_path: Path) -> None:
    _noisy(tmp_path / "in.tsv")
    seed = toy_pairs(120, 9)
    (tmp_path / "seed.tsv").write_text("".join(f"{source}\t{target}\n" for source, target in seed))
    settings = CleanSettings(
        bitext=BitextSettings(path=str(tmp_path / "in.tsv"), columns=("1", "2")),
        encoder=str(scoring_encoder),
        work=str(tmp_path / "work"),
        filters=FilterSettings(numbers=None, repeated_target=None),
        seed_pairs=BitextSettings(path=str(tmp_path / "seed.tsv")),
        rows=150,
    )
    cleaned = clean(settings)
    assert cleaned.rows == 304 == cleaned.kept + sum(count for count, _ in cleaned.reasons.values())
    texts = {text for table in read_scored(cleaned) for text in table["source"].to_pylist()}
    assert not texts & {source for source, _ in seed}
    found = cleaned.probes
    assert found.right == found.mismatched == 40 * 2  # in each chunk
    assert found.right_kept > found.mismatched_kept
    assert Check(10, 8, 10, 2).precision(0.5) == pytest.approx(0.8)
    assert Check().precision(0.5) is None


@pytest.mark.parametrize(
    ("more", "told"),
    [
        (["-o", "link.tsv"], "link.tsv: this output would overwrite the input d.tsv"),
        (["-o", "new.tsv", "--rejected", "./d.tsv"], "./d.tsv: this output would overwrite the input d.tsv"),
        (["-o", "new.tsv", "--rejected", "new.tsv"], "two outputs have the same name"),
        (["-o", "seed.tsv", "--seed-pairs", "seed.tsv"], "overwrite the input seed.tsv"),
    ],
)
def test_no_output_takes_the_place_of_an_input(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, more: list[str], told: str
) -> None:
    monkeypatch.chdir(tmp_path)
    for name in ("d.tsv", "seed.tsv"):
        (tmp_path / name).write_text("a\tb\n")
    (tmp_path / "link.tsv").symlink_to("d.tsv")
    assert told in str(CliRunner().invoke(app, ["clean", "d.tsv", "--encoder", "none", *more]).exception)
    assert (tmp_path / "d.tsv").read_text() == "a\tb\n"


def test_the_command_says_what_is_wrong(scoring_encoder: Path, tmp_path: Path) -> None:
    (tmp_path / "empty.tsv").write_text("")
    arguments = ["clean", str(tmp_path / "empty.tsv"), "-o", str(tmp_path / "o.tsv"), "--encoder", str(scoring_encoder)]
    assert "no pairs in it" in str(CliRunner().invoke(app, arguments).exception)
    arguments += ["--rejected", str(tmp_path / "r.parquet")]
    assert "rejected rows" in str(CliRunner().invoke(app, arguments).exception)


def test_rescored_candidates_in_the_bucc_benchmark(scoring_encoder: Path, tmp_path: Path) -> None:
    pairs = toy_pairs(120, 5)
    for lang, texts in (("de", [source for source, _ in pairs]), ("en", [target for _, target in pairs])):
        (tmp_path / f"de-en.{lang}").write_text("".join(f"{lang}-{i}\t{text}\n" for i, text in enumerate(texts)))
    (tmp_path / "de-en.gold").write_text("".join(f"de-{i}\ten-{i}\n" for i in range(60)))
    (tmp_path / "seed.de-en.tsv").write_text("".join(f"{a}\t{b}\n" for a, b in toy_pairs(120, 6)))
    seed = "seed.{source}-{target}.tsv"
    settings = Bucc(
        data=".", classifier="beside", seed_pairs=seed, lexicon_pairs=seed, seed_size=100, retrievals=(), margins=()
    )  # fmt: skip
    outcome = settings.run(load_source(str(scoring_encoder)), DataFolder(tmp_path, ""))
    found = {score.name: score.value for score in outcome.scores if "rescored" in score.name}
    assert len(found) == 3 and all(value >= 50 for value in found.values())  # the other half is right, too


def test_the_noise_benchmark_tells_kinds_apart_by_every_score(scoring_encoder: Path, tmp_path: Path) -> None:
    pairs = toy_pairs(150, 8)
    (tmp_path / "questions.de.txt").write_text("\n".join(source for source, _ in pairs))
    (tmp_path / "questions.en.txt").write_text("\n".join(target for _, target in pairs))
    (tmp_path / "questions.fr.txt").write_text("\n".join(f"le {source} la" for source, _ in pairs))
    outcome = NoiseInBitext(data=".", languages=("de", "fr")).run(
        load_source(str(scoring_encoder)), DataFolder(tmp_path, "")
    )
    found = {score.name: score.value for score in outcome.scores}
    for method in ("classifier", "margin", "cosine"):
        assert found[f"de-en {method} random rejected at 95% recall"] >= 50
        assert 0 <= found[f"mean of 2: {method} precision at 95% recall"] <= 100
    assert found["de-en classifier precision at 95% recall"] > 60


def test_few_chunks_are_read_ahead_and_an_error_of_reading_ends_it(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    read, ahead, scored = [], [], []

    def chunks(bitext: object, rows: int) -> Iterator[pa.Table]:
        for number in range(40):
            read.append(number)
            yield pa.table({"line": [1]})
        raise InputError("bitext.tsv, line 41: cut off")

    def score(settings: object, loaded: object, number: int, chunk: pa.Table, threads: int) -> None:
        if len(read) == 40:
            time.sleep(0.05)
        ahead.append(len(read) - len(scored))
        scored.append(number)

    monkeypatch.setattr(clean_stage, "core_count", lambda: 3)
    monkeypatch.setattr(clean_stage, "read_chunks", chunks)
    monkeypatch.setattr(clean_stage, "load_scorer", lambda settings: None)
    monkeypatch.setattr(clean_stage, "_score", score)
    settings = CleanSettings(bitext=BitextSettings(path="bitext.tsv"), encoder="encoder", work=str(tmp_path))
    with pytest.raises(InputError, match="line 41"):
        clean_stage.clean(settings)
    assert len(scored) >= 37 and max(ahead) <= 5


GERMAN = "Die Katze schläft heute auf dem alten Sofa, Nummer"
ENGLISH = "The cat is sleeping on the old sofa today, number"


def test_languages_that_nobody_names_are_those_of_the_text(tmp_path: Path) -> None:
    file = tmp_path / "in.tsv"
    file.write_text("".join(f"{GERMAN} {number}.\t{ENGLISH} {number}.\n" for number in range(20)))
    found, notes = with_languages(BitextSettings(path=str(file)))
    assert (found.src_lang, found.tgt_lang) == ("de", "en")
    assert notes == [
        "source language: de, detected from the text",
        "target language: en, detected from the text",
    ]
    file.write_text("1\t2\n")
    assert with_languages(BitextSettings(path=str(file)))[1] == []


def test_a_translation_memory_names_its_languages(tmp_path: Path) -> None:
    units = "".join(f'<tuv xml:lang="{lang}"><seg>a</seg></tuv>' for lang in ("de_DE", "en-GB"))
    (tmp_path / "in.tmx").write_text(f'<tmx version="1.4"><header/><body><tu>{units}</tu></body></tmx>')
    found, notes = with_languages(BitextSettings(path=str(tmp_path / "in.tmx")))
    assert (found.src_lang, found.tgt_lang) == ("de", "en")
    assert notes == [
        "source language: de, named by the first unit of the TMX",
        "target language: en, named by the first unit of the TMX",
    ]
    assert next(read_chunks(found))["reason"].to_pylist() == [None]


def test_what_is_left_over_joins_the_last_chunk(tmp_path: Path) -> None:
    table = pa.table({"src_text": [f"a{n}" for n in range(120)], "tgt_text": [f"b{n}" for n in range(120)]})
    pq.write_table(table, tmp_path / "in.parquet", row_group_size=7)
    (tmp_path / "in.tsv").write_text("".join(f"a{n}\tb{n}\n" for n in range(120)))
    for name in ("in.parquet", "in.tsv"):
        bitext = BitextSettings(path=str(tmp_path / name))
        assert [len(chunk) for chunk in read_chunks(bitext, 50)] == [50, 70]
        lines = [line for chunk in read_chunks(bitext, 40) for line in chunk["line"].to_pylist()]
        assert lines == list(range(1, 121))


def test_an_archive_is_not_written_over(tmp_path: Path) -> None:
    assert BitextSettings(path="corpus.zip", src_lang="en", tgt_lang="de").files == ["corpus.zip"]


@pytest.mark.parametrize(
    ("arguments", "text", "message"),
    [
        (["in.tsv", "-o", "-", "--out-format", "moses"], "a\tb\n", "is two"),
        (["in.tsv", "-o", "out.tsv", "--columns", "1", "1"], "a\tb\n", "both texts cannot be in column 1"),
        (["in.jsonl", "-o", "out.jsonl"], '{"translation": {"en": "a"}}\n', "There are: translation"),
    ],
)
def test_what_cannot_be_cleaned_is_said_before(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, arguments: list[str], text: str, message: str
) -> None:
    monkeypatch.chdir(tmp_path)
    Path(arguments[0]).write_text(text)
    with pytest.raises(InputError, match=message):
        told = ["clean", *arguments, "--src-lang", "en", "--tgt-lang", "de"]
        CliRunner().invoke(app, told, catch_exceptions=False)


def test_known_translations_are_in_the_languages_of_the_bitext(tmp_path: Path) -> None:
    for lang in ("en", "de"):
        (tmp_path / f"seed.{lang}").write_text("text\n")
    bitext = BitextSettings(path="in.tsv", src_lang="en", tgt_lang="de")
    settings = CleanSettings(bitext=bitext, work="work", seed_pairs=BitextSettings(path=str(tmp_path / "seed")))
    assert settings.seed is not None and settings.seed.kind == Format.MOSES
    assert len(next(read_chunks(settings.seed))) == 1


def test_half_a_surrogate_pair_in_a_further_field_stays() -> None:
    assert json.loads(_as_json(json.loads('{"a": "\\ud800 ü"}'))) == {"a": "\ud800 ü"}
