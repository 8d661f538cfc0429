"""Text out of packages: what is read of each kind of file, and what is left out."""

import io
import json
import lzma
import tarfile
from pathlib import Path

import pytest

from encoder.data.exclusion import exclusion_key
from tests.benchmarks.package_text import Collection, Translation, is_translation, language, places, unicode_names


def archive(path: Path, files: dict[str, object]) -> Path:
    with tarfile.open(path, "w:gz") as tar:
        for name, tree in files.items():
            data = json.dumps(tree).encode()
            info = tarfile.TarInfo(f"package/{name}")
            info.size = len(data)
            tar.addfile(info, io.BytesIO(data))
    return path


@pytest.mark.parametrize(
    ("locale", "lang"),
    [
        ("pt_BR", "pt"), ("zh_CN", "zh"), ("zh_TW", None), ("zh-hant", None), ("sr@latin", None), ("sr", "sr"),
        ("en_GB", None), ("de@euro", "de"), ("nb", "no"), ("qqq", None), ("nonsense", None), ("kk-latn", None),
    ],
)  # fmt: skip
def test_the_language_of_a_locale(locale: str, lang: str | None) -> None:
    assert language(locale) == lang


@pytest.mark.parametrize(
    ("english", "text", "kept"),
    [
        ("Open the file", "Datei öffnen", True),
        ("Open the file", "open the FILE!", False),
        ("Open file", "Datei öffnen", False),
        ("Open the file", "12345 67890", False),
        ("Open the file", "ไฟล์", True),
        ("Open the file", "", False),
        ("Open the file", "ö" * 301, False),
    ],
)
def test_what_counts_as_a_translation(english: str, text: str, kept: bool) -> None:
    assert is_translation(english, text, 3) == kept


def test_names_and_places_by_their_keys(tmp_path: Path) -> None:
    signs = {
        f"annotations/{lang}/annotations.json": {"annotations": {"annotations": {"x": {"tts": [name]}}}}
        for lang, name in (("en", "cat"), ("de", "Katze"), ("de-AT", "Katzerl"))
    }
    names = {
        f"main/{lang}/territories.json": {
            "main": {lang: {"localeDisplayNames": {"territories": {"AT": name, "US": "U"}}}}
        }
        for lang, name in (("en", "Austria"), ("th", "ออสเตรีย"))
    }
    found = unicode_names([archive(tmp_path / "a.tgz", signs)], archive(tmp_path / "n.tgz", names))
    assert list(found) == [Translation("cat", "de", "Katze"), Translation("Austria", "th", "ออสเตรีย")]
    presets = {
        f"dist/translations/{lang}.json": {lang: {"presets": {"shop": {"name": name, "terms": "x"}}}}
        for lang, name in (("en", "Bakery"), ("fr", "Boulangerie"))
    }
    assert list(places(archive(tmp_path / "o.tgz", presets))) == [Translation("Bakery", "fr", "Boulangerie")]


def test_a_collection_leaves_out_evaluation_sentences_and_small_languages(tmp_path: Path) -> None:
    rows = [Translation(f"this is sentence {n}", "de", f"das ist Satz {n}") for n in range(5000)]
    rare = [Translation("this is sentence 1", "fr", "ceci est la phrase 1")]
    collection = Collection(frozenset({exclusion_key("This is sentence 7.")}))
    collection.add("x", [*rows, *rare])
    collection.add("dictionary", [Translation("cat", "de", "Katze")])
    assert collection.write(tmp_path) == {"de": 5000}
    with lzma.open(tmp_path / "x.jsonl.xz", "rt") as lines:
        groups = [json.loads(line) for line in lines]
    assert len(groups) == 4999 and groups[1] == {"en": "this is sentence 1", "de": "das ist Satz 1"}
    assert lzma.decompress((tmp_path / "dictionary.de-en.tsv.xz").read_bytes()) == b"Katze\tcat\n"
