"""Another encoding and an archive are named; a few bad lines are not another encoding."""

import bz2
import gzip
import lzma
from collections.abc import Callable

import pytest
import zstandard

from mining.encodings import Utf8Check, likely_encoding, require_no_mark
from mining.errors import InputError

GERMAN = "Größe über Straße schön für Mädchen, wir müssen später zurück\n"
TEXTS = [
    (GERMAN, "latin-1", "WINDOWS-1252"),
    ("l'élève a été reçu à l’école où il était\n", "cp1252", "WINDOWS-1252"),
    ("Это русский текст для проверки кодировки\n", "cp1251", "WINDOWS-1251"),
    ("Это русский текст для проверки кодировки\n", "koi8-r", "KOI8-R"),
    ("これは日本語の文章です。漢字とかなが混ざっています。\n", "shift_jis", "SHIFT_JIS"),
    ("这是中文句子，用来测试编码。\n", "gb18030", "GB18030"),
    ("Příliš žluťoučký kůň úpěl ďábelské ódy\n", "cp1250", "WINDOWS-1250"),
]


@pytest.mark.parametrize(("text", "encoding", "name"), TEXTS)
def test_likely_encoding(text: str, encoding: str, name: str) -> None:
    assert likely_encoding(text.encode(encoding) * 5) == name


@pytest.mark.parametrize(
    ("bad", "lines", "refused"),
    [(1, 2, False), (2, 3, True), (10, 21, False), (11, 500, True), (11, 1000, False), (21, 1000, True), (0, 0, False)],
)
def test_how_many_are_too_many(bad: int, lines: int, refused: bool) -> None:
    check = Utf8Check("a.txt")
    for _ in range(bad):
        check.add(GERMAN.encode("latin-1"), 1)
    if refused:
        message = rf"a.txt: {bad} of [\d,]+ lines are not valid UTF-8; it looks like WINDOWS-1252: .*iconv -f WIN"
        with pytest.raises(InputError, match=message):
            check.finish(lines)
    else:
        check.finish(lines)
    assert check.bad == bad


def test_a_long_file_is_refused_before_its_end() -> None:
    check = Utf8Check("a.txt")
    with pytest.raises(InputError, match="25 of 1,000 lines"):
        for number in range(1, 100_000):
            if number % 40 == 0:
                check.add(b"\xff\n", number)


@pytest.mark.parametrize("encoding", ["utf-16", "utf-32"])
def test_marks_of_other_encodings(encoding: str) -> None:
    with pytest.raises(InputError, match=f"a.txt is {encoding.upper()}, not UTF-8"):
        require_no_mark("hello".encode(encoding), "a.txt")
    require_no_mark("\ufeffhello".encode(), "a.txt")


@pytest.mark.parametrize(
    ("compress", "codec"),
    [(gzip.compress, "gz"), (bz2.compress, "bz2"), (lzma.compress, "xz"), (zstandard.compress, "zst")],
)
def test_an_archive_without_its_extension(compress: Callable[[bytes], bytes], codec: str) -> None:
    archive = compress(GERMAN.encode())
    with pytest.raises(InputError, match=rf"^a\.txt is compressed \({codec}\), .* says so, a\.txt\.{codec}$"):
        require_no_mark(archive, "a.txt")
    with pytest.raises(InputError, match=rf"^a\.gz is compressed \({codec}\), not text; decompress it once$"):
        require_no_mark(archive, "a.gz")


def test_text_that_looks_like_an_archive() -> None:
    require_no_mark(b"BZh is no word\n", "a.txt")
    require_no_mark(b"(7zXZ\n", "a.txt")
