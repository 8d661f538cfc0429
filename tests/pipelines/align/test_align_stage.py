"""Alignment by stages: the same as in memory, resumed, and documents that lie across shards."""

from __future__ import annotations

from functools import partial
from pathlib import Path

import numpy as np
import pytest

from pipelines.align import align_stage, documents
from pipelines.align.align_job import AlignResult, align_documents
from pipelines.align.align_settings import AlignSettings, DocumentReadSettings, DocumentSideSettings
from pipelines.align.align_stage import align_on_runner
from pipelines.align.document_groups import DocumentPiece, Extents, assemble, in_groups, wanted
from pipelines.prepare.prepare_settings import PrepareSettings
from pipelines.review.review_session import Session
from pipelines.review.server import _page
from pipelines.runners.runner import RunnerSettings
from tests.pipelines.align.test_align import SENTENCES, document, encoder, run, two_folders, write_folder

__all__ = ["encoder"]
HERE = RunnerSettings(processes=1)


def settings(encoder: Path, source: Path, target: Path) -> AlignSettings:
    sides = [
        DocumentSideSettings(inputs=[str(folder)], read=DocumentReadSettings(lang=lang), lang_filter="assume")
        for folder, lang in ((source, "en"), (target, "de"))
    ]
    return AlignSettings(source=sides[0], target=sides[1], encoder=str(encoder), threads=1)


def summary(result: AlignResult) -> list[tuple[str, str, list[list[int]]]]:
    rows = [(pair.source.name, pair.target.name, pair.alignment.beads.tolist()) for pair in result.pairs]
    return sorted(rows)


def test_stages_give_what_memory_gives_and_are_not_made_twice(encoder: Path, tmp_path: Path) -> None:
    chosen = settings(encoder, *two_folders(tmp_path))
    here = align_documents(chosen)
    staged = align_on_runner(chosen, str(tmp_path / "work"), HERE)
    assert summary(staged) == summary(here)
    assert len(here.pairs) == 3
    scores = [{pair.source.name: pair.score for pair in result.pairs} for result in (here, staged)]
    assert scores[1] == pytest.approx(scores[0], abs=1e-6)
    assert {row.document for row in here.unmatched} == {row.document for row in staged.unmatched}
    review = Session(str(tmp_path / "work"), 20)
    assert "score of aligned pairs" in _page(review)
    beads = review.sample
    assert beads.langs == ("en", "de")
    assert sum(beads.counts) == sum(int(pair.alignment.two_sided.sum()) for pair in here.pairs)
    made = {path: path.stat().st_mtime_ns for path in (tmp_path / "work").rglob("*.parquet")}
    assert summary(align_on_runner(chosen, str(tmp_path / "work"), HERE)) == summary(here)
    assert made == {path: path.stat().st_mtime_ns for path in (tmp_path / "work").rglob("*.parquet")}


def test_a_copy_among_the_documents_of_the_other_language_takes_no_votes(
    encoder: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    source, target = two_folders(tmp_path)
    (source / "copy.txt").write_bytes((target / "z.txt").read_bytes())
    (source / "a.txt").write_text("".join(f"{line} old house\n" for line in document(0)))  # no longer the same words
    monkeypatch.setattr(documents, "_language", lambda text, lang: float(Path(text.name).stem != "copy"))
    sides = settings(encoder, source, target)
    detected = [side.model_copy(update={"lang_filter": "detect"}) for side in (sides.source, sides.target)]
    chosen = sides.model_copy(update={"source": detected[0], "target": detected[1]})
    assert summary(align_on_runner(chosen, str(tmp_path / "work"), HERE)) == summary(align_documents(chosen))


def decisions(result: AlignResult) -> tuple[list[tuple[str, str, int]], dict[str, str]]:
    """Pairs with the count of their beads, and the reasons of what is in none."""
    pairs = [
        (Path(pair.source.name).name, Path(pair.target.name).name, len(pair.alignment.beads)) for pair in result.pairs
    ]
    return sorted(pairs), {Path(row.document).name: row.reason for row in result.unmatched}


@pytest.mark.parametrize("swapped", [False, True])
def test_an_extract_does_not_take_the_place_of_the_whole(encoder: Path, tmp_path: Path, swapped: bool) -> None:
    lines = document(1, 30)
    extracts = {"a.txt": lines[10:15], "m.txt": lines[:20], "whole.txt": lines, "z.txt": lines[25:]}
    folders = [write_folder(tmp_path / "en", {"own.txt": lines}), write_folder(tmp_path / "de", extracts)]
    chosen = settings(encoder, *folders[:: 1 - 2 * swapped])
    for result in (align_documents(chosen), align_on_runner(chosen, str(tmp_path / "work"), HERE)):
        pairs, unmatched = decisions(result)
        assert pairs == [("whole.txt", "own.txt", 30) if swapped else ("own.txt", "whole.txt", 30)]
        assert unmatched.keys() == {"a.txt", "m.txt", "z.txt"}
        assert unmatched["m.txt"].endswith("own.txt") and "closer" in unmatched["m.txt"]


@pytest.mark.parametrize("swapped", [False, True])
def test_a_document_and_its_lines_once_more_as_documents(encoder: Path, tmp_path: Path, swapped: bool) -> None:
    lines = document(1, 60)
    singles = {f"a{place:02}.txt": [line] for place, line in enumerate(lines)}
    folders = [write_folder(tmp_path / "en", {"own.txt": lines})]
    folders.append(write_folder(tmp_path / "de", singles | {"whole.txt": lines}))
    chosen = settings(encoder, *folders[:: 1 - 2 * swapped])
    for result in (align_documents(chosen), align_on_runner(chosen, str(tmp_path / "work"), HERE)):
        pairs, unmatched = decisions(result)
        assert pairs == [("whole.txt", "own.txt", 60) if swapped else ("own.txt", "whole.txt", 60)]
        assert unmatched.keys() == singles.keys()
        assert all("own.txt" in reason for reason in unmatched.values())
        assert any("closer document has" in reason for reason in unmatched.values())


def test_where_the_best_is_refused_the_next_is_taken(encoder: Path, tmp_path: Path) -> None:
    """The same lines backwards are as near, but no translation."""
    lines = document(1, 30)
    source = write_folder(tmp_path / "en", {"own.txt": lines, "other.txt": document(2, 30)})
    target = write_folder(tmp_path / "de", {"a.txt": lines[::-1], "b.txt": [*lines[:25], *document(3, 5)]})
    chosen = settings(encoder, source, target)
    for result in (align_documents(chosen), align_on_runner(chosen, str(tmp_path / "work"), HERE)):
        pairs, unmatched = decisions(result)
        assert [pair[:2] for pair in pairs] == [("own.txt", "b.txt")]
        assert "no translation" in unmatched["a.txt"] and "confidence 0.0" in unmatched["a.txt"]


def test_names_are_those_of_memory(encoder: Path, tmp_path: Path) -> None:
    rows = [f"d{k}\t{line}" for k in range(2) for line in document(k)]
    folder = write_folder(tmp_path / "en", {"a.tsv": [*rows, "d0\tfinds old house"], "b.tsv": rows})
    chosen = settings(encoder, folder, folder)
    here, staged = align_documents(chosen), align_on_runner(chosen, str(tmp_path / "work"), HERE)
    names = [[document.name for document in result.source.documents] for result in (here, staged)]
    assert names[0] == names[1] == [f"{folder}/{file}.tsv#d{k}" for file in "ab" for k in range(2)]
    assert here.source.refused == staged.source.refused


def test_interleaved_documents_are_grouped(encoder: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """In order, also where a document's lines lie in several shards."""
    texts = [document(seed) for seed in range(3)]
    mixed = [f"d{k}\t{texts[k][place]}" for place in range(SENTENCES) for k in range(3)]
    apart = [f"e{k}\t{line}" for k in range(3) for line in texts[k]]
    folders = [write_folder(tmp_path / "en", {"a.tsv": mixed}), write_folder(tmp_path / "de", {"b.tsv": apart})]
    chosen = settings(encoder, *folders)
    monkeypatch.setattr(align_stage, "PrepareSettings", partial(PrepareSettings, rows_per_shard=10))
    for result in (align_documents(chosen), align_on_runner(chosen, str(tmp_path / "work"), HERE)):
        assert [len(each.texts) for each in result.source.documents] == [SENTENCES] * 3
        assert {row[:2] for row in summary(result)} == {(f"d{k}", f"e{k}") for k in range(3)}
        assert all(pair.source.texts == pair.target.texts for pair in result.pairs)
        assert all(len(row[2]) == SENTENCES for row in summary(result))


def test_two_books_on_a_runner_by_the_command(encoder: Path, tmp_path: Path) -> None:
    lines = document(3, 30)
    folder = write_folder(tmp_path / "books", {"a.txt": lines, "b.txt": lines[:20] + lines[21:]})
    out = tmp_path / "p.tsv"
    run(encoder, folder / "a.txt", folder / "b.txt", "-o", out, "--runner", "local", "--runner-set", "processes=1")
    assert len(out.read_text().splitlines()) == 29
    assert (tmp_path / "p.work" / "alignment" / "manifest.json").exists()


def test_sentences_belong_to_the_documents_that_were_kept() -> None:
    extent = Extents(np.array([0, 10, 25]), np.array([10, 5, 5]), np.array([0, 1, 0]))
    assert extent.owner(np.array([0, 9, 10, 14, 15, 24, 25, 29, 30])).tolist() == [0, 0, 1, 1, -1, -1, 0, 0, -1]


def test_pieces_of_a_document_come_together_in_order() -> None:
    pieces = [DocumentPiece(0, 7, 4, ["c"], np.ones((1, 2))), DocumentPiece(0, 7, 2, ["a", "b"], np.zeros((2, 2)))]
    whole = assemble(pieces)[0, 7]
    assert whole.texts == ["a", "b", "c"]
    assert whole.vectors[:, 0].tolist() == [0, 0, 1]


def test_each_group_gets_the_documents_that_it_needs() -> None:
    groups = in_groups(np.array([[0, 5], [0, 6], [1, 5], [2, 8]]), size=2)
    assert wanted(groups) == ({0: [0], 1: [1], 2: [1]}, {5: [0, 1], 6: [0], 8: [1]})
