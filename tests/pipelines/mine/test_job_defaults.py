"""The shortest mine: languages from the text, the default encoder and its own probe pairs."""

from pathlib import Path

import pytest
from typer.testing import CliRunner

from encoder import default
from mining.errors import InputError
from pipelines.cli import app
from pipelines.commands.mine_summary import examples
from pipelines.datasets.manifest import open_dataset
from pipelines.mine.job_defaults import columns_read, fill_in_choices, fill_in_languages
from tests.pipelines.corpora import write_corpora
from tests.pipelines.installed import ENGLISH, GERMAN, install


@pytest.fixture
def installed(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    install(tmp_path / "installed", monkeypatch)


def test_languages_that_are_missing_are_detected(tmp_path: Path) -> None:
    (tmp_path / "a.txt").write_text(ENGLISH * 5)
    (tmp_path / "b.tsv").write_text("".join(f"{n}\t{line}\n" for n, line in enumerate((GERMAN * 5).splitlines())))
    tree = {
        "source": {"inputs": [str(tmp_path / "a.txt")]},
        "target": {"inputs": [str(tmp_path / "b.tsv")], "read": {"column": 2}},
    }
    assert fill_in_languages(tree) == [
        "source language: en, detected from the text",
        "target language: de, detected from the text",
    ]
    assert fill_in_languages(tree) == []


def test_the_language_of_documents_is_that_of_their_sentences(tmp_path: Path) -> None:
    file = tmp_path / "a.tsv"
    file.write_text("".join(f"d7bd7a64\t{line}\n" for line in ENGLISH.splitlines() * 5))
    tree = {"source": {"inputs": [str(file)]}}
    assert fill_in_languages(tree, list) == ["source language: en, detected from the text"]


def test_the_same_language_twice_is_said(tmp_path: Path) -> None:
    (tmp_path / "a.txt").write_text(ENGLISH * 5)
    tree = {side: {"inputs": [str(tmp_path / "a.txt")]} for side in ("source", "target")}
    assert "both sides are en" in fill_in_languages(tree)[-1]
    assert "both sides are en" in fill_in_languages(sides("en", "en"))[-1], "also where nothing had to be detected"
    assert fill_in_languages({}) == []
    assert fill_in_languages(sides("en", "en"), list) == ["both sides are en: pairs will be of one language"], (
        "no filters"
    )


def test_mixed_and_empty_text_is_refused(tmp_path: Path) -> None:
    (tmp_path / "mixed.txt").write_text(ENGLISH + GERMAN)
    with pytest.raises(InputError, match=r"mixed\.txt: its language cannot be told"):
        fill_in_languages({"source": {"inputs": [str(tmp_path / "mixed.txt")]}})
    (tmp_path / "empty.txt").write_text("\n\n")
    with pytest.raises(InputError, match=r"empty\.txt: there is no text in it"):
        fill_in_languages({"source": {"inputs": [str(tmp_path / "empty.txt")]}})
    with pytest.raises(InputError, match=r"^source\.read: format: Input should be"):
        fill_in_languages({"source": {"inputs": [str(tmp_path / "mixed.txt")], "read": {"format": "docx"}}})


def sides(source: str, target: str) -> dict:
    return {"source": {"read": {"lang": source}}, "target": {"read": {"lang": target}}}


@pytest.mark.usefixtures("installed")
def test_choices_of_the_default_encoder() -> None:
    tree = sides("en", "de")
    assert fill_in_choices(tree) == [default.status("de").warning]
    assert "margin" not in tree
    assert (tree["probes"], tree["threshold"]) == ("encoder", {"precision": 0.9, "in_doubt": "classifier"})
    fixed = sides("en", "de") | {"threshold": {"top": 3}, "margin": "distance"}
    fill_in_choices(fixed)
    assert (fixed["margin"], fixed["probes"], fixed["threshold"]) == ("distance", "encoder", {"top": 3})
    number = sides("en", "de") | {"threshold": {"at_least": 1.1}}
    assert fill_in_choices(number)[-1].startswith("--threshold is a margin here")
    assert not any("margin" in note for note in fill_in_choices(number | {"rescore": "on"}))
    other = sides("en", "de") | {"encoder": "somewhere"}
    assert fill_in_choices(other) == [] and "probes" not in other
    unknown = sides("en", "fr")
    assert "has 0 probe pairs of en-fr, too few to estimate a precision" in fill_in_choices(unknown)[-1]
    assert (unknown["probes"], unknown["threshold"]) == ("none", {"precision": 0.9, "in_doubt": "classifier"})


@pytest.mark.usefixtures("installed")
@pytest.mark.parametrize("encoder", [{}, {"encoder": "somewhere"}])
def test_seed_pairs_are_enough_for_a_precision(encoder: dict[str, str]) -> None:
    seeded = sides("en", "de") | {"seed": "seed.tsv"} | encoder
    fill_in_choices(seeded)
    assert seeded["threshold"] == {"precision": 0.9, "in_doubt": "classifier"}
    assert "probes" not in seeded
    asked = sides("en", "de") | {"seed": "seed.tsv", "threshold": {"precision": 0.5}} | encoder
    fill_in_choices(asked)
    assert asked["threshold"] == {"precision": 0.5}


def test_a_column_of_names_is_not_mined(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    for name, text in (("en.tsv", ENGLISH), ("de.tsv", GERMAN)):
        Path(name).write_text("".join(f"{name[0]}{n}\t{line}\n" for n, line in enumerate(text.splitlines())))
    for languages in ([], ["--src-lang", "en", "--tgt-lang", "de"]):
        result = CliRunner().invoke(app, ["mine", "en.tsv", "de.tsv", "-o", "pairs.tsv", *languages])
        assert isinstance(result.exception, InputError)
        assert "en.tsv: column 1, which is read by default, has no sentences" in str(result.exception)
        assert not Path("pairs.tsv").exists()
    tree = {side: {"inputs": ["en.tsv"], "read": {"column": 2}} for side in ("source", "target")}
    assert columns_read(tree) == []
    assert columns_read({"source": {"inputs": ["en.tsv"], "read": {"format": "docx"}}}) == [], "for validation to say"


@pytest.mark.usefixtures("installed")
def test_languages_that_are_swapped_are_said(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    Path("a.txt").write_text(ENGLISH * 5 + GERMAN)
    Path("b.txt").write_text(GERMAN * 5 + ENGLISH)
    swapped = ["mine", "a.txt", "b.txt", "-o", "pairs.tsv", "--src-lang", "de", "--tgt-lang", "en"]
    result = CliRunner().invoke(app, swapped, catch_exceptions=False)
    assert result.exit_code == 0, result.output
    assert "note: 40 of 48 sentences of a.txt are not de; most look like en: check --src-lang" in result.output
    assert "note: 40 of 48 sentences of b.txt are not en; most look like de: check --tgt-lang" in result.output


@pytest.mark.usefixtures("installed")
def test_two_files_and_an_output_are_enough(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    write_corpora(tmp_path)
    short = ["mine", "src.txt", "tgt.txt", "-o", "pairs.tsv", "--src-lang", "en", "--tgt-lang", "de"]
    made_up = ["--lang-filter", "assume", "--filters", "none"]  # made-up words are in no language
    result = CliRunner().invoke(app, [*short, *made_up, "--precision", "0.5"], catch_exceptions=False)
    assert result.exit_code == 0, result.output
    assert "twinlode report pairs.work" in result.output
    pairs = open_dataset("pairs.work/pairs", "pairs")
    shown = list(examples(pairs, 3))
    lines = Path("pairs.tsv").read_text().splitlines()
    assert [f"{source}\t{target}" for _, source, target in shown] == [
        lines[row].split("\t", 1)[1] for row in (0, (len(lines) - 1) // 2, len(lines) - 1)
    ]
    assert 0 < pairs.rows == len(Path("pairs.tsv").read_text().splitlines())
    assert pairs.manifest.request.configuration["margin"] == "ratio"
    assert pairs.manifest.counters.dropped["probe_pairs"] > 0
    probes = open_dataset("pairs.work/src-probes", "sentences")
    assert 80 < probes.rows < 160

    again = CliRunner().invoke(app, [*short, *made_up, "--top", "7"], catch_exceptions=False)
    assert again.exit_code == 0, again.output
    assert len(Path("pairs.tsv").read_text().splitlines()) == 7
    assert [path.name for path in Path("pairs.work").glob("graph*")] == ["graph"], "another choice, the same graph"


@pytest.mark.usefixtures("installed")
def test_small_files_give_all_pairs_and_a_warning(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    Path("en.txt").write_text(ENGLISH)
    Path("de.txt").write_text(GERMAN)
    short = ["mine", "en.txt", "de.txt", "-o", "pairs.tsv", "--src-lang", "en", "--tgt-lang", "de"]
    result = CliRunner().invoke(app, short, catch_exceptions=False)
    assert result.exit_code == 0, result.output
    said = " ".join(result.output.split())
    assert "not known: by the probe pairs no threshold reaches 90%; every matched pair is kept" in said
    refused = CliRunner().invoke(app, [*short, "--precision", "0.9"])
    assert "no threshold reaches the precision 0.9" in str(refused.exception)
