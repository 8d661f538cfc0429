"""NLI as published becomes triples: SimCSE's CSV, XNLI's TSV and JSON lines, machine-translated and bilingual forms."""

import json
from pathlib import Path

import pytest

from encoder.data.corpora import CorpusSettings, DataSettings, find_files
from encoder.data.parallel_readers import read_groups
from encoder.data.parallel_rows import Group, Malformed, Row, Triple
from mining.errors import InputError


def read(path: Path, format_: str = "nli", **corpus: object) -> list[Row]:
    data = DataSettings(corpora=(CorpusSettings(path=str(path), format=format_, **corpus),))
    return [row for file in find_files(data) for row in read_groups(file)]


def english(*texts: str) -> Triple:
    return Triple(*(Group(("en",), (text,)) for text in texts))


def test_simcse_csv(tmp_path: Path) -> None:
    path = tmp_path / "nli.csv"
    path.write_text('sent0,sent1,hard_neg\n"A cat, black.",An animal.,A dog.\nonly,two\n a ,b,\n')
    assert read(path) == [
        english("A cat, black.", "An animal.", "A dog."),
        Malformed(3, "2 columns instead of 3"),
        Malformed(4, "empty side"),
    ]
    assert read(path, langs=("fr",))[0].anchor.langs == ("fr",)


XNLI = [
    ("en", "neutral", "It rains.", "It is May.", "1", "1"),
    ("en", "entailment", "It rains.", "It is wet.", "1", "2"),
    ("en", "contradiction", "It rains.", "It is dry.", "1", "3"),
    ("de", "entailment", "Es regnet.", "Es ist nass.", "1", "2"),
    ("de", "contradiction", "Es regnet.", "Es ist trocken.", "1", "3"),
    ("en", "entailment", "No contradiction.", "None.", "2", "4"),
]
EXPECTED = Triple(
    Group(("en", "de"), ("It rains.", "Es regnet.")),
    Group(("en", "de"), ("It is wet.", "Es ist nass.")),
    Group(("en", "de"), ("It is dry.", "Es ist trocken.")),
)
NAMES = ("language", "gold_label", "sentence1", "sentence2", "promptID", "pairID")


@pytest.mark.parametrize("name", ["xnli.tsv", "xnli.jsonl"])
def test_xnli_is_cross_lingual(tmp_path: Path, name: str) -> None:
    path = tmp_path / name
    lines = ["\t".join(NAMES), *("\t".join(row) for row in XNLI)]
    if name.endswith("jsonl"):
        lines = [json.dumps(dict(zip(NAMES, row, strict=True))) for row in XNLI]
    path.write_text("\n".join(lines), encoding="utf-8")
    alone = Triple(Group(("en",), ("No contradiction.",)), Group(("en",), ("None.",)), EXPECTED.negative)
    assert read(path) == [EXPECTED, alone]


def test_machine_translated_training_text_takes_its_language_from_the_name(tmp_path: Path) -> None:
    path = tmp_path / "multinli.train.fr.tsv"
    path.write_text(
        "premise\thypo\tlabel\nIl pleut.\tC'est sec.\tcontradictory\nIl pleut.\tC'est humide.\tentailment\n"
    )
    (triple,) = read(path)
    assert triple == Triple(*(Group(("fr",), (text,)) for text in ("Il pleut.", "C'est humide.", "C'est sec.")))


def test_parallel_files_are_cross_lingual(tmp_path: Path) -> None:
    header = "premise\thypo\tlabel\n"
    (tmp_path / "multinli.train.en.tsv").write_text(f"{header}p\tyes\tentailment\np\tno\tcontradictory\n")
    other = tmp_path / "multinli.train.fr.tsv"
    other.write_text(f"{header}P\toui\tentailment\nP\tnon\tcontradictory\n")
    expected = Triple(*(Group(("en", "fr"), texts) for texts in (("p", "P"), ("yes", "oui"), ("no", "non"))))
    assert read(tmp_path / "multinli.train.*.tsv", "nli-parallel") == [expected]
    other.write_text(f"{header}P\toui\tentailment\n")
    with pytest.raises(InputError, match=r"multinli\.train\.fr\.tsv ends before the others"):
        read(tmp_path / "multinli.train.*.tsv", "nli-parallel")


def test_every_entailment_has_a_hard_negative(tmp_path: Path) -> None:
    """The k-th contradiction of its premise, the last, or one of another premise; as in mSimCSE's script."""
    path = tmp_path / "multinli.train.en.tsv"
    rows = ["a\ta1\tentailment", "a\ta2\tentailment", "a\tnot a\tcontradictory", "b\tb1\tentailment", "c\tc0\tneutral"]
    path.write_text("\n".join(["premise\thypo\tlabel", *rows]))
    assert [[group.texts[0] for group in triple] for triple in read(path)] == [
        ["a", "a1", "not a"],
        ["a", "a2", "not a"],
        ["b", "b1", "not a"],
    ]


def test_premises_are_a_group_each_line(tmp_path: Path) -> None:
    for lang, premise in (("en", "p"), ("fr", "P")):
        rows = [f"{premise}\t{lang} {label}\t{label}" for label in ("entailment", "neutral")]
        (tmp_path / f"multinli.train.{lang}.tsv").write_text("\n".join(["premise\thypo\tlabel", *rows]))
    assert read(tmp_path / "multinli.train.*.tsv", "nli-premises") == [Group(("en", "fr"), ("p", "P"))] * 2


def test_parallel_files_need_languages_of_their_own(tmp_path: Path) -> None:
    for name in ("first", "second"):
        (tmp_path / f"{name}.tsv").write_text("premise\thypo\tlabel\np\tyes\tentailment\n")
    with pytest.raises(InputError, match=r"second\.tsv: another file of this nli-parallel corpus is in en, too"):
        read(tmp_path / "*.tsv", "nli-parallel")


def test_two_languages_side_by_side(tmp_path: Path) -> None:
    path = tmp_path / "x.tsv"
    path.write_text(
        "label\tsentence1_en\tsentence2_en\tsentence1_sw\tsentence2_sw\n"
        "entailment\tp\tyes\tP\tndiyo\ncontradiction\tp\tno\tP\thapana\n"
    )
    assert read(path) == [
        Triple(
            Group(("en", "sw"), ("p", "P")),
            Group(("en", "sw"), ("yes", "ndiyo")),
            Group(("en", "sw"), ("no", "hapana")),
        )
    ]


def test_entailments_as_pairs(tmp_path: Path) -> None:
    path = tmp_path / "xnli.tsv"
    path.write_text("\n".join(["\t".join(NAMES), *("\t".join(row) for row in XNLI)]))
    assert read(path, "nli-pairs") == [
        Group(("en", "en"), ("It rains.", "It is wet.")),
        Group(("de", "de"), ("Es regnet.", "Es ist nass.")),
        Group(("en", "en"), ("No contradiction.", "None.")),
    ]


def test_entailments_as_pairs_need_no_contradiction(tmp_path: Path) -> None:
    path = tmp_path / "multinli.train.en.tsv"
    path.write_text("premise\thypo\tlabel\na\ta1\tentailment\n")
    assert read(path, "nli-pairs") == [Group(("en", "en"), ("a", "a1"))]
    assert read(path) == []


@pytest.mark.parametrize(
    ("content", "message"),
    [("", "empty"), ("a\tb\n", "line 1: not a header of NLI"), ("label\tsentence1_en\n", "not a header of NLI")],
)
def test_other_files_are_refused(tmp_path: Path, content: str, message: str) -> None:
    (tmp_path / "x.tsv").write_text(content)
    with pytest.raises(InputError, match=message):
        read(tmp_path / "x.tsv")


def test_unknown_language_names_the_line(tmp_path: Path) -> None:
    (tmp_path / "x.tsv").write_text("language\tgold_label\tsentence1\tsentence2\nqqqq\tneutral\ta\tb\n")
    with pytest.raises(InputError, match=r"x\.tsv, line 2: 'qqqq'"):
        read(tmp_path / "x.tsv")


def test_fifteen_way_columns_are_named_by_language(tmp_path: Path) -> None:
    path = tmp_path / "xnli.15way.tsv"
    path.write_text("en\tde\tfr\nyes\tja\toui\nno\tnein\nmaybe\t\tpeut-être\nonly\t\t\n")
    assert read(path, "nway") == [
        Group(("en", "de", "fr"), ("yes", "ja", "oui")),
        Malformed(3, "2 columns instead of 3"),
        Group(("en", "fr"), ("maybe", "peut-être")),
        Malformed(5, "fewer than two languages"),
    ]
    path.write_text("english\tgerman\n")
    with pytest.raises(InputError, match="line 1: the columns must be named by their languages"):
        read(path, "nway")


def test_one_sentence_a_line(tmp_path: Path) -> None:
    (tmp_path / "x.txt").write_text("One.\n\nTwo.\n")
    rows = read(tmp_path / "x.txt", "text", langs=("en",))
    assert rows == [Group(("en",), ("One.",)), Malformed(2, "empty line"), Group(("en",), ("Two.",))]
    with pytest.raises(InputError, match="which language"):
        read(tmp_path / "x.txt", "text")
    with pytest.raises(ValueError, match="langs must name one language"):
        read(tmp_path / "x.txt", "text", langs=("en", "de"))


@pytest.mark.shared
def test_real_xnli_is_cross_lingual(shared_data: Path) -> None:
    rows = read(shared_data / "eval/xnli/meta4xnli.xnli_dev_no_met.tsv.xz")
    triples = [row for row in rows if isinstance(row, Triple)]
    assert len(triples) > 300
    assert sum(set(triple.anchor.langs) == {"en", "es"} for triple in triples) > 0.9 * len(triples)
