"""Sentences are judged by the language of their corpus; all of these were written for the test."""

import numpy as np
import pytest

from mining.language_id import LIKELY, is_known, language_probabilities, model_version
from mining.language_id.identifier import file_digest

SENTENCES = {
    "ar": "ذهبت أمس إلى السوق لشراء بعض الخضار.",
    "bg": "Вчера ходих на пазара, за да купя малко зеленчуци.",
    "ca": "Ahir vaig anar al mercat per comprar una mica de verdura.",
    "cs": "Včera jsem šel na trh koupit nějakou zeleninu.",
    "da": "I går gik jeg på markedet for at købe nogle grøntsager.",
    "de": "Gestern bin ich auf den Markt gegangen, um Gemüse zu kaufen.",
    "el": "Χθες πήγα στην αγορά για να αγοράσω λίγα λαχανικά.",
    "en": "Yesterday I went to the market to buy some vegetables.",
    "es": "Ayer fui al mercado para comprar algunas verduras.",
    "et": "Eile käisin turul, et osta natuke köögivilju.",
    "fi": "Eilen kävin torilla ostamassa vähän vihanneksia.",
    "fr": "Hier, je suis allé au marché pour acheter des légumes.",
    "he": "אתמול הלכתי לשוק כדי לקנות כמה ירקות.",
    "hi": "कल मैं कुछ सब्ज़ियाँ खरीदने बाज़ार गया था।",
    "hr": "Jučer sam otišao na tržnicu kupiti malo povrća.",
    "hu": "Tegnap elmentem a piacra, hogy vegyek egy kis zöldséget.",
    "id": "Kemarin saya pergi ke pasar untuk membeli sayuran.",
    "it": "Ieri sono andato al mercato per comprare delle verdure.",
    "ja": "昨日、野菜を買いに市場へ行きました。",
    "ko": "어제 채소를 사러 시장에 갔습니다.",
    "lt": "Vakar nuėjau į turgų nusipirkti daržovių.",
    "lv": "Vakar es gāju uz tirgu nopirkt dārzeņus.",
    "nl": "Gisteren ging ik naar de markt om wat groenten te kopen.",
    "no": "I går gikk jeg på torget for å kjøpe noen grønnsaker.",
    "pl": "Wczoraj poszedłem na targ, żeby kupić trochę warzyw.",
    "pt": "Ontem fui ao mercado para comprar alguns legumes.",
    "ro": "Ieri am mers la piață ca să cumpăr niște legume.",
    "ru": "Вчера я ходил на рынок, чтобы купить немного овощей.",
    "sk": "Včera som išiel na trh kúpiť nejakú zeleninu.",
    "sl": "Včeraj sem šel na tržnico kupit nekaj zelenjave.",
    "sv": "I går gick jag till torget för att köpa några grönsaker.",
    "th": "เมื่อวานฉันไปตลาดเพื่อซื้อผัก",
    "tr": "Dün biraz sebze almak için pazara gittim.",
    "uk": "Учора я ходив на ринок, щоб купити трохи овочів.",
    "vi": "Hôm qua tôi đi chợ để mua một ít rau.",
    "zh": "昨天我去市场买了一些蔬菜。",
}
CLOSE = [("da", "sv"), ("sv", "no"), ("uk", "ru"), ("ru", "uk"), ("cs", "sk"), ("sk", "cs"), ("bg", "ru"), ("pt", "es")]


def likely(text: str, language: str) -> bool:
    return bool(language_probabilities([text], language)[0] >= LIKELY)


@pytest.mark.parametrize("language", SENTENCES)
def test_a_sentence_is_kept_in_its_language_and_dropped_in_most_others(language: str) -> None:
    taken_for = {other for other in SENTENCES if likely(SENTENCES[language], other)}
    assert language in taken_for
    assert len(taken_for) <= 2


@pytest.mark.parametrize(("language", "other"), CLOSE)
def test_close_languages_are_told_apart(language: str, other: str) -> None:
    assert not likely(SENTENCES[language], other)


@pytest.mark.parametrize(
    ("text", "language"),
    [
        ("GESTERN BIN ICH AUF DEN MARKT GEGANGEN.", "de"),
        ("zwei Zeilen\nin einem Satz", "de"),
        ("Nein.", "de"),
        ("Tom", "de"),
        ("DEBIAN_FRONTEND=text /etc/apt/sources.list", "ru"),
        ("В Linux, Windows и macOS: откройте файл settings.json", "ru"),
        ("使用 kubectl apply 命令创建 Deployment", "zh"),
        ("1999 - 2004 (42%)", "el"),
        ("", "fr"),
        ("\ud800", "fr"),
        ("Juče sam otišao na pijacu da kupim malo povrća.", "hr"),  # Serbian: not to be told apart
        (SENTENCES["id"], "ms"),
        (SENTENCES["no"], "nb"),
        (SENTENCES["zh"], "yue"),
    ],
)
def test_what_tells_nothing_against_a_language_is_kept(text: str, language: str) -> None:
    assert likely(text, language)


@pytest.mark.parametrize("language", ["ko", "en", "ru"])
def test_a_script_that_no_known_language_has_is_dropped(language: str) -> None:
    assert not likely("ᱟᱢ ᱫᱚ ᱪᱮᱫ ᱮᱢ ᱪᱮᱠᱟᱭᱮᱫᱟ", language)
    assert likely(f"{SENTENCES[language]} ᱟᱢ", language)


def test_a_sentence_alone_is_judged_as_in_a_batch() -> None:
    texts = [*SENTENCES.values(), "", "word " * 5000]
    together = language_probabilities(texts, "en")
    assert np.array_equal(together, np.concatenate([language_probabilities([text], "en") for text in texts]))
    assert language_probabilities([], "en").shape == (0,)


@pytest.mark.parametrize(
    ("language", "known"), [("en", True), ("nb", True), ("sh", True), ("ms", True), ("fil", True), ("tlh", False)]
)
def test_known_languages(language: str, known: bool) -> None:
    assert is_known(language) is known


def test_version_names_the_model_file() -> None:
    assert model_version().split()[-1] == file_digest()
