import pytest

from encoder.languages import canonical
from mining.errors import InputError


@pytest.mark.parametrize(
    ("given", "expected"),
    [
        ("de", "de"), ("deu", "de"), ("ger", "de"), ("DE", "de"), (" de ", "de"),
        ("cmn", "zh"), ("zh-TW", "zh"), ("yue", "yue"), ("wuu", "wuu"), ("jpn", "ja"), ("pt-BR", "pt"), ("pt_BR", "pt"),
        ("nob", "no"), ("nb", "no"), ("no", "no"), ("nno", "nn"), ("tgl", "tl"), ("fil", "tl"), ("lvs", "lv"),
        ("pes", "fa"), ("iw", "he"), ("sr-Latn", "sr"), ("arz", "arz"), ("ang", "ang"),
    ],
)  # fmt: skip
def test_known_codes(given: str, expected: str) -> None:
    assert canonical(given) == expected
    assert canonical(expected) == expected


@pytest.mark.parametrize("bad", ["", "xx", "zzz", "german", "e n", "und", "mul", "de-", "../etc", "zh-xxxxxxxxxxxxx"])
def test_unknown_code_is_an_input_error(bad: str) -> None:
    with pytest.raises(InputError, match="is not a language code"):
        canonical(bad)


@pytest.mark.parametrize(("bad", "nearest"), [("e n", "en"), ("d3", "da"), ("zh-xxxxxxxxxxxxx", "zh")])
def test_nearest_code_is_suggested(bad: str, nearest: str) -> None:
    with pytest.raises(InputError, match=f"nearest known code is '{nearest}'"):
        canonical(bad)


def test_no_far_fetched_suggestion() -> None:
    with pytest.raises(InputError) as caught:
        canonical("german")
    assert "nearest" not in str(caught.value)
