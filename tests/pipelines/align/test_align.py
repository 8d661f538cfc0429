"""`twinlode align` end to end with a random bag: a sentence's translation has the same words."""

from __future__ import annotations

import gzip
import json
import random
from collections import Counter
from pathlib import Path
from xml.etree import ElementTree

import pyarrow.parquet as pq
import pytest
from typer.testing import CliRunner

from encoder.models.bag import BagSettings
from mining.alignment_formats import read_links
from mining.errors import InputError
from pipelines.align.documents import document_files, document_key, document_keys, read_corpus
from pipelines.cli import app
from pipelines.commands.align import bead_row
from pipelines.prepare.readers import ReadSettings
from tests.encoder.fixtures import WORDS, write_checkpoint
from tests.pipelines.prepare.readers.test_web import record

SENTENCES = 14


@pytest.fixture(scope="module")
def encoder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return write_checkpoint(tmp_path_factory.mktemp("encoder") / "bag", BagSettings(dim=64))


def document(seed: int, count: int = SENTENCES) -> list[str]:
    draw = random.Random(seed)
    return [" ".join(draw.choices(WORDS, k=draw.randint(4, 12))) for _ in range(count)]


def write_folder(folder: Path, documents: dict[str, list[str]]) -> Path:
    folder.mkdir(parents=True)
    for name, lines in documents.items():
        (folder / name).write_text("".join(f"{line}\n" for line in lines), encoding="utf-8")
    return folder


def two_folders(root: Path) -> tuple[Path, Path]:
    """Three documents that belong together under other names, the second with a merged sentence; one more each."""
    texts = [document(seed) for seed in range(3)]
    merged = [*texts[1][:4], f"{texts[1][4]} {texts[1][5]}", *texts[1][6:]]
    source = {"a.txt": texts[0], "b.txt": texts[1], "c.txt": texts[2], "lone.txt": document(8), "empty.txt": []}
    target = {"x.txt": texts[2], "y.txt": merged, "z.txt": texts[0], "other.txt": document(9)}
    return write_folder(root / "en", source), write_folder(root / "de", target)


def run(encoder: Path, *arguments: str | Path) -> str:
    given = ["align", *map(str, arguments), "--src-lang", "en", "--tgt-lang", "de", "--encoder", str(encoder)]
    result = CliRunner().invoke(app, [*given, "--lang-filter", "assume"], catch_exceptions=False)
    assert result.exit_code == 0, result.output
    return result.output


def test_folders_to_every_output(encoder: Path, tmp_path: Path) -> None:
    source, target = two_folders(tmp_path)
    out = {name: tmp_path / name for name in ("p.tsv", "docs.tsv", "lost.tsv", "p.vec", "p.xml", "p.jsonl", "p.html")}
    shown = run(
        encoder, source, target, "-o", out["p.tsv"], "--documents", out["docs.tsv"], "--unmatched", out["lost.tsv"],
        "--beads", out["p.vec"], "--xces", out["p.xml"], "--parallel", out["p.jsonl"], "--report", out["p.html"],
        "--dataset", tmp_path / "hub",
    )  # fmt: skip
    assert "document pairs" in shown
    assert pq.read_table(tmp_path / "hub/data")["src_text"].to_pylist() == [
        line.split("\t")[1] for line in out["p.tsv"].read_text().splitlines()
    ]
    card = (tmp_path / "hub/README.md").read_text()
    assert "| document pairs | 3 |" in card and f"| encoder | {encoder} |" in card
    pairs = [line.split("\t")[:2] for line in out["docs.tsv"].read_text().splitlines()]
    names = {(Path(a).name, Path(b).name) for a, b in pairs}
    assert names == {("a.txt", "z.txt"), ("b.txt", "y.txt"), ("c.txt", "x.txt")}
    lost = {Path(row.split("\t")[1]).name: row.split("\t")[2] for row in out["lost.tsv"].read_text().splitlines()}
    assert lost.keys() == {"lone.txt", "empty.txt", "other.txt"}
    assert lost["empty.txt"] == "empty"
    assert "no translation" in lost["lone.txt"] or "closer" in lost["lone.txt"]
    rows = [line.split("\t") for line in out["p.tsv"].read_text().splitlines()]
    assert len(rows) >= 3 * SENTENCES - 3
    assert sum(row[1] == row[2] for row in rows) >= len(rows) - 2
    assert "[4, 5]:[4]:" in out["p.vec"].read_text()
    assert len(ElementTree.parse(out["p.xml"]).getroot().findall("linkGrp")) == 3
    page = out["p.html"].read_text(encoding="utf-8")
    assert page.count("<svg") == 3
    assert "<td>2-1</td>" in page
    assert "http" not in page
    parallel = [json.loads(line) for line in out["p.jsonl"].read_text().splitlines()]
    assert all(row["source"]["sentences"] and row["beads"][0][:2] == [0, 1] for row in parallel)


def test_two_books_keep_repeats_and_tmx_names_the_documents(encoder: Path, tmp_path: Path) -> None:
    lines = document(1)
    lines[3] = lines[7] = lines[5]  # prepare would drop repeats
    source, target = tmp_path / "book.en.txt", tmp_path / "book.de.txt"
    for file in (source, target):
        file.write_text("\n".join(lines), encoding="utf-8")
    run(encoder, source, target, "-o", tmp_path / "p.tmx")
    units = ElementTree.parse(tmp_path / "p.tmx").getroot().findall(".//tu")
    assert len(units) == SENTENCES
    assert [prop.text for prop in units[0].findall("tuv/prop") if prop.get("type") == "source"] == [
        str(source),
        str(target),
    ]


def test_documents_by_id_and_leftovers_mined(encoder: Path, tmp_path: Path) -> None:
    texts = [document(seed) for seed in range(3)]
    stray = "größer Straße house river 12 old Москва naïve finds"
    moved = " ".join(reversed(stray.split()))  # the same to a bag; mining drops copies
    source = [f"s{k}\t{line}" for k in range(3) for line in texts[k]] + [
        f"alone\t{line}" for line in [stray, *document(33, 6)]
    ]
    target = [f"t{k}\t{line}" for k in range(3) for line in texts[k]] + [
        f"else\t{line}" for line in [*document(34, 6), moved]
    ]
    for name, rows in (("en.txt", source), ("de.txt", target)):
        (tmp_path / name).write_text("\n".join(rows), encoding="utf-8")
    run(encoder, tmp_path / "en.txt", tmp_path / "de.txt", "-o", tmp_path / "p.jsonl", "--leftovers", "mine")
    rows = [json.loads(line) for line in (tmp_path / "p.jsonl").read_text().splitlines()]
    assert {row["src_source"] for row in rows if row["directions"] == "a"} == {"s0", "s1", "s2"}
    mined = [row for row in rows if row["directions"] != "a"]
    assert [(row["src_source"], row["tgt_source"]) for row in mined if row["tgt_text"] == moved] == [("alone", "else")]


def test_a_line_without_a_tab_is_dropped_and_counted(tmp_path: Path) -> None:
    lines = [f"page{place // 4}\tThis is the sentence number {place} of a page." for place in range(8)]
    (tmp_path / "en.tsv").write_text("\n".join([*lines[:2], "No tab in this line.", *lines[2:]]), encoding="utf-8")
    corpus = read_corpus([str(tmp_path / "en.tsv")], ReadSettings(lang="en"))
    assert [(document.name, len(document.texts)) for document in corpus.documents] == [("page0", 4), ("page1", 4)]
    assert corpus.dropped == {"no_column": 1}


def test_a_document_whose_lines_are_apart_is_one_in_order(tmp_path: Path) -> None:
    file = tmp_path / "a.tsv"
    file.write_text("".join(f"{name}\tThis is line {number}.\n" for number, name in enumerate("aabbaab")))
    corpus = read_corpus([str(file)], ReadSettings(lang="en"), "assume")
    assert [(each.name, each.lines) for each in corpus.documents] == [("a", [1, 2, 5, 6]), ("b", [3, 4, 7])]
    assert corpus.documents[1].texts == [f"This is line {number}." for number in (2, 3, 6)]
    assert not corpus.dropped and not corpus.refused


def test_documents_of_one_name_in_two_files_are_two(encoder: Path, tmp_path: Path) -> None:
    for side, lang in enumerate(("en", "de")):
        files = {
            name: [f"d{k}\t{line}" for k in range(2) for line in document(10 * place + k)]
            for place, name in enumerate(("a.tsv", "b.tsv")[:: 1 - 2 * side])
        }
        write_folder(tmp_path / lang, files)
    out = tmp_path / "docs.tsv"
    run(encoder, tmp_path / "en", tmp_path / "de", "-o", tmp_path / "p.tsv", "--documents", out)
    names = {tuple(line.split("\t")[:2]) for line in out.read_text().splitlines()}
    en, de = tmp_path / "en", tmp_path / "de"
    assert names == {(f"{en}/{a}.tsv#d{k}", f"{de}/{b}.tsv#d{k}") for a, b in ("ab", "ba") for k in range(2)}


def test_beads_have_the_line_numbers_of_the_files(encoder: Path, tmp_path: Path) -> None:
    lines = document(1)
    source, target = tmp_path / "book.en.txt", tmp_path / "book.de.txt"
    source.write_text("\n\n".join(lines), encoding="utf-8")
    target.write_text("\n".join(lines), encoding="utf-8")
    run(encoder, source, target, "-o", tmp_path / "p.tsv", "--beads", tmp_path / "p.vec", "--xces", tmp_path / "p.xml")
    assert [link[:2] for link in read_links(str(tmp_path / "p.vec"))] == [((2 * k,), (k,)) for k in range(SENTENCES)]
    assert 'xtargets="3;2"' in (tmp_path / "p.xml").read_text()


def test_beads_of_the_summary_add_up() -> None:
    counts = Counter({f"{kind}-1": 1000 - kind for kind in range(8)})
    assert bead_row(counts) == "0-1 1,000, 1-1 999, 2-1 998, 3-1 997, 4-1 996, 5-1 995, others 1,987"
    assert bead_row(Counter({"1-1": 3})) == "1-1 3"


def test_settings_of_a_runner_want_a_runner(encoder: Path, tmp_path: Path) -> None:
    source, target = two_folders(tmp_path)
    given = ["align", str(source), str(target), "-o", str(tmp_path / "p.tsv"), "--runner-set", "processes=1"]
    with pytest.raises(InputError, match="name one with --runner"):
        CliRunner().invoke(app, [*given, "--src-lang", "en", "--tgt-lang", "de"], catch_exceptions=False)


def test_columns_of_scores_are_no_text(encoder: Path, tmp_path: Path) -> None:
    pairs = tmp_path / "pairs.tsv"
    pairs.write_text("".join(f"0.9{number}\t{line}\t{line}\n" for number, line in enumerate(document(1))))
    with pytest.raises(InputError, match=r"pairs\.tsv: column 1, which is read by default, has no sentences"):
        run(encoder, pairs, pairs, "-o", tmp_path / "p.tsv")


@pytest.mark.parametrize("count", [18, 400])
def test_a_cut_off_archive_is_read_up_to_its_end_where_asked(encoder: Path, tmp_path: Path, count: int) -> None:
    lines = "".join(f"{line}\n" for line in document(1, count))
    (tmp_path / "en.txt").write_text(lines)
    (tmp_path / "de.txt.gz").write_bytes(gzip.compress(lines.encode())[:-100])
    given = [tmp_path / "en.txt", tmp_path / "de.txt.gz", "-o", tmp_path / "p.tsv"]
    with pytest.raises(InputError, match="--truncated keep"):
        run(encoder, *given)
    assert "lines dropped: truncated" in run(encoder, *given, "--truncated", "keep")


def test_strangers_are_not_forced(encoder: Path, tmp_path: Path) -> None:
    for name, seed in (("a.txt", 50), ("b.txt", 51)):
        (tmp_path / name).write_text("\n".join(document(seed, 40)), encoding="utf-8")
    run(encoder, tmp_path / "a.txt", tmp_path / "b.txt", "-o", tmp_path / "p.tsv", "--unmatched", tmp_path / "lost.tsv")
    assert (tmp_path / "p.tsv").read_text() == ""
    assert (tmp_path / "lost.tsv").read_text().count("no translation") == 2


def test_wrong_language_is_refused(tmp_path: Path) -> None:
    english = ["The old house stands near the river.", "Nobody has lived there for many years now."]
    german = ["Das alte Haus steht nahe am Fluss.", "Seit vielen Jahren hat dort niemand mehr gewohnt."]
    folder = write_folder(tmp_path / "de", {"right.txt": german, "wrong.txt": english})
    corpus = read_corpus([str(folder)], ReadSettings(lang="de"))
    assert [Path(document.name).name for document in corpus.documents] == ["right.txt"]
    assert corpus.refused[0][1] == "other language than de"
    with pytest.raises(InputError, match="no document is left to align"):
        read_corpus([str(folder / "wrong.txt")], ReadSettings(lang="de"))


def test_folders_leave_out_hidden_files_and_name_what_is_missing(tmp_path: Path) -> None:
    folder = write_folder(tmp_path / "en", {"a.txt": ["x"], ".hidden": ["x"]})
    assert [Path(file).name for file in document_files([str(folder)])] == ["a.txt"]
    (tmp_path / "none").mkdir()
    with pytest.raises(InputError, match="no file in this folder"):
        document_files([str(tmp_path / "none")])
    with pytest.raises(InputError, match="no such file"):
        document_files([str(tmp_path / "missing.txt")])


@pytest.mark.parametrize(
    ("source", "target"),
    [
        ("http://x.org/en/a.html", "http://x.org/de/a.html"),
        ("docs/page.en.txt", "docs/page.de.txt"),
        ("http://x.org/a?lang=en", "http://x.org/a?lang=de"),
        ("site/en-US/b", "site/de/b"),
    ],
)
def test_names_without_their_language_are_equal(source: str, target: str) -> None:
    assert document_key(source, "en") == document_key(target, "de") != ""
    assert document_key("plain.txt", "en") == ""


@pytest.mark.parametrize("quote", ['"', "'", ""])
def test_pages_that_name_their_translation_have_one_key(tmp_path: Path, quote: str) -> None:
    body = "".join(f"<p>This is paragraph number {k}, and it has some words in it.</p>" for k in range(8))
    link = f"<link rel=alternate href={quote}../de/y.html{quote} hreflang={quote}de-AT{quote}>"
    for name, head in (("en/a.html", link), ("en/b.html", ""), ("de/x.html", ""), ("de/y.html", "")):
        (tmp_path / name).parent.mkdir(exist_ok=True)
        (tmp_path / name).write_text(f"<html><head>{head}</head><body><main>{body}</main></body></html>")
    corpora = [read_corpus([str(tmp_path / lang)], ReadSettings(lang=lang), "assume") for lang in ("en", "de")]
    source, target = document_keys(*corpora)
    assert source[0] == target[1] != ""
    assert source[1] != target[0]
    assert len({source[0], source[1], target[0]}) == 3


def bad_sides(kind: str) -> tuple[dict[str, list[str]], dict[str, list[str]]]:
    text = document(1, 30)
    if kind == "backwards":
        return {"a.txt": text}, {"b.txt": text[::-1]}
    if kind == "repeated":
        return {f"a{k}.txt": text for k in range(100)}, {"b.txt": text, "c.txt": document(2, 30)}
    return {f"a{k}.txt": document(k, 20) for k in range(10, 16)}, {f"b{k}.txt": document(k, 20) for k in range(20, 26)}


@pytest.mark.parametrize(("kind", "pairs"), [("backwards", 0), ("repeated", 1), ("no translations", 0)])
def test_bad_documents_are_never_forced(encoder: Path, tmp_path: Path, kind: str, pairs: int) -> None:
    source, target = bad_sides(kind)
    folders = write_folder(tmp_path / "en", source), write_folder(tmp_path / "de", target)
    out, lost = tmp_path / "docs.tsv", tmp_path / "lost.tsv"
    run(encoder, *folders, "-o", tmp_path / "p.tsv", "--documents", out, "--unmatched", lost)
    assert len(out.read_text().splitlines()) == pairs
    rows = [line.split("\t") for line in lost.read_text().splitlines()]
    assert len(rows) == len(source) + len(target) - 2 * pairs
    assert all(len(row) == 3 and row[2] for row in rows)


def test_html_pages_are_documents(tmp_path: Path) -> None:
    body = "".join(f"<p>This is paragraph number {k}, and it has some words in it.</p>" for k in range(8))
    page = f"<html><body><main>{body}</main></body></html>"
    (tmp_path / "a.html").write_text(page, encoding="utf-8")
    corpus = read_corpus([str(tmp_path / "a.html")], ReadSettings(lang="en"), "assume")
    assert len(corpus.documents[0].texts) == 8


def test_records_of_archives_are_documents_and_a_repeated_page_is_refused(tmp_path: Path) -> None:
    pages = [("http://x/de/a", b"Hello there. Was it good?"), ("http://x/de/b", b"Yes."), ("http://x/de/a", b"Again.")]
    (tmp_path / "crawl.wet").write_bytes(b"".join(record("conversion", url, body) for url, body in pages))
    corpus = read_corpus([str(tmp_path / "crawl.wet")], ReadSettings(lang="en"), "assume")
    assert [(row.name, len(row.texts)) for row in corpus.documents] == [("http://x/de/a", 2), ("http://x/de/b", 1)]
    assert corpus.refused == [("http://x/de/a", "a document of this name came before")]


def test_paragraphs_are_where_lines_were_blank(encoder: Path, tmp_path: Path) -> None:
    lines = document(4)
    text = "\n".join(lines[:5]) + "\n\n" + "\n".join(lines[5:])
    for name in ("a.txt", "b.txt"):
        (tmp_path / name).write_text(text, encoding="utf-8")
    run(encoder, tmp_path / "a.txt", tmp_path / "b.txt", "-o", tmp_path / "p.tsv", "--parallel", tmp_path / "p.jsonl")
    row = json.loads((tmp_path / "p.jsonl").read_text(encoding="utf-8"))
    assert row["source"]["paragraphs"] == row["target"]["paragraphs"] == [0, 5]
    assert row["source"]["sentences"] == lines


def test_paragraphs_of_a_page_are_its_own(encoder: Path, tmp_path: Path) -> None:
    body = "".join(f"<p>This is paragraph number {k}. It has some more words in it.</p>" for k in range(8))
    for name in ("a.html", "b.html"):
        (tmp_path / name).write_text(f"<html><body><main>{body}</main></body></html>", encoding="utf-8")
    run(encoder, tmp_path / "a.html", tmp_path / "b.html", "-o", tmp_path / "p.tsv", "--parallel", tmp_path / "p.jsonl")
    row = json.loads((tmp_path / "p.jsonl").read_text(encoding="utf-8"))
    assert row["source"]["paragraphs"] == row["target"]["paragraphs"] == list(range(0, 16, 2))


@pytest.mark.parametrize(
    ("more", "told"),
    [
        (["-o", "en/a.tsv"], "en/a.tsv: this output would overwrite the input"),
        (["-o", "p.tsv", "--beads", "de/b.txt"], "de/b.txt: this output would overwrite the input"),
        (["-o", "p.tsv", "--documents", "./p.tsv"], "two outputs have the same name"),
        (["-o", "x-*.tsv"], "x-*.tsv: one file is written, so that its name may have no *"),
        (["-o", "p.tsv", "--unmatched", "x-*.tsv"], "x-*.tsv: one file is written"),
    ],
)
def test_no_output_takes_the_place_of_a_document(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, more: list[str], told: str
) -> None:
    monkeypatch.chdir(tmp_path)
    for name in ("en/a.tsv", "de/b.txt"):
        (tmp_path / name).parent.mkdir()
        (tmp_path / name).write_text("a\tb\n")
    given = ["align", "en", "de", "--src-lang", "en", "--tgt-lang", "de", "--encoder", "none"]
    assert told in str(CliRunner().invoke(app, [*given, *more]).exception)
    assert (tmp_path / "en" / "a.tsv").read_text() == "a\tb\n"


@pytest.mark.parametrize(
    ("command", "given", "told"),
    [
        ("align", "candidats=3", "unknown key candidats; did you mean candidates?"),
        ("align", "beads=99", "--most: Input should be less than 16"),
        ("mine", "tresholds=3", "unknown key tresholds; did you mean threshold?"),
    ],
)
def test_a_wrong_setting_is_refused_before_any_text_is_read(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, command: str, given: str, told: str
) -> None:
    monkeypatch.chdir(tmp_path)
    for name in ("en.txt", "de.txt"):
        Path(name).write_text("0.9\n")  # of which no language can be told
    result = CliRunner().invoke(app, [command, "en.txt", "de.txt", "-o", "p.tsv", "--set", given])
    assert isinstance(result.exception, InputError) and told in str(result.exception)
