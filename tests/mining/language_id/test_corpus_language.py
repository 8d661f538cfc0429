"""The language of whole corpora, refused when mixed or unsure."""

import pytest

from mining.errors import InputError
from mining.language_id import detect, require_language

from .test_sentence_language import SENTENCES

ENGLISH = [
    "The parser reads one line at a time and skips what it does not know.",
    "Nobody had told her that the shop would be closed on Monday.",
    "Please wait until the light turns green.",
    "There is a small garden behind the house.",
    "We were late because the train had stopped for an hour.",
    "Click the button to save your changes.",
    "My brother has never been to the sea.",
    "If it rains tomorrow, we will stay at home.",
    "The meeting was moved to the second floor.",
    "She asked whether anyone had seen the keys.",
    SENTENCES["en"],
]
GERMAN = [
    "Der Zug nach München hat heute leider Verspätung.",
    "Kannst du mir bitte sagen, wie spät es ist?",
    "Wir haben gestern den ganzen Abend geredet.",
    "Klicken Sie auf die Schaltfläche, um die Änderungen zu speichern.",
    "Meine Schwester wohnt seit drei Jahren in einer kleinen Stadt.",
    "Wenn es morgen regnet, bleiben wir zu Hause.",
    "Hinter dem Haus liegt ein kleiner Garten.",
    "Das Buch, das du mir gegeben hast, war sehr spannend.",
    "Niemand hatte ihm gesagt, dass der Laden geschlossen war.",
    "Die Sitzung wurde in den zweiten Stock verlegt.",
    SENTENCES["de"],
]
OL_CHIKI = "ᱟᱢ ᱫᱚ ᱪᱮᱫ ᱮᱢ ᱪᱮᱠᱟᱭᱮᱫᱟ"


@pytest.mark.parametrize(("texts", "language"), [(ENGLISH, "en"), (GERMAN, "de")])
def test_language_of_a_corpus(texts: list[str], language: str) -> None:
    found = detect(texts)
    assert (found.language, found.sure) == (language, True)
    assert found.shares[language] == pytest.approx(found.confidence, abs=0.15)
    assert require_language(texts, "a.txt") == language


@pytest.mark.parametrize(
    ("text", "language"),
    [
        ("నేను నిన్న కూరగాయలు కొనడానికి మార్కెట్‌కి వెళ్ళాను.", "te"),
        ("Երեկ ես գնացի շուկա բանջարեղեն գնելու։", "hy"),
        ("ഞാൻ ഇന്നലെ പച്ചക്കറി വാങ്ങാൻ കമ്പോളത്തിൽ പോയി.", "ml"),
        ("Мен кеше көкөніс сатып алу үшін базарға бардым.", "kk"),  # once taken for Belarusian
        ("Кичә мин яшелчә сатып алырга базарга бардым.", "tt"),  # for Russian
        ("Chaidh mi dhan bhùth an-dè gus glasraich a cheannach.", "gd"),  # for Irish
        ("איך בין נעכטן געגאַנגען אויפֿן מאַרק צו קויפֿן גרינסן.", "yi"),  # for Hebrew
    ],
)
def test_languages_of_the_packaged_encoder_are_not_taken_for_close_ones(text: str, language: str) -> None:
    assert require_language([text] * 20, "a.txt") == language


def test_languages_that_cannot_be_told_apart_are_not_mixed() -> None:
    texts = ["Jučer sam otišao na tržnicu kupiti malo povrća.", "Juče sam otišao na pijacu da kupim malo povrća."]
    assert detect(texts * 8).sure
    assert detect(texts * 8).language in {"bs", "hr", "sr"}


def test_some_foreign_lines_do_not_hide_the_language() -> None:
    found = detect([*ENGLISH * 4, *GERMAN[:3], "", "2024", "###"])
    assert found.language == "en"
    assert found.sure
    assert found.confidence < 0.96


@pytest.mark.parametrize(
    ("texts", "told"),
    [
        (ENGLISH + GERMAN, "en"),
        (list(SENTENCES.values()), "36 sentences"),
        (["Hello there"], "1 sentences"),
        (["2024", "42%"], "(no letters)"),
        ([], "0 sentences"),
        ([*ENGLISH, *["Երեկ ես գնացի շուկա բանջարեղեն գնելու։"] * 11], "en 4"),
    ],
    ids=["mixed", "many languages", "short", "no letters", "empty", "half in it"],
)
def test_mixed_and_unsure_corpora_are_refused(texts: list[str], told: str) -> None:
    assert not detect(texts).sure
    with pytest.raises(InputError, match=r"corpus/a\.txt: its language cannot be told") as error:
        require_language(texts, "corpus/a.txt")
    assert told in str(error.value)
    assert "\n" not in str(error.value)


@pytest.mark.parametrize(
    ("texts", "script"),
    [
        ([OL_CHIKI] * 3, "Ol Chiki"),
        (["ᐃᓄᒃᑎᑐᑦ ᐅᖃᐅᓯᖅ"] * 3, "Canadian Syllabics"),
        ([*ENGLISH, *[OL_CHIKI] * 12], "Ol Chiki"),
    ],
    ids=["Ol Chiki", "syllabics", "some English"],
)
def test_a_script_of_no_known_language_is_named(texts: list[str], script: str) -> None:
    found = detect(texts)
    assert (found.script, found.sure) == (script, False)
    told = f"most of its {len(texts)} sentences are in {script} letters, and the language detector knows no language"
    with pytest.raises(InputError, match=f"{told}.*--lang-filter assume"):
        require_language(texts, "a.txt")


def test_known_scripts_are_not_named() -> None:
    for texts in (ENGLISH, ["2024"], [], [*ENGLISH, OL_CHIKI]):
        assert detect(texts).script is None
