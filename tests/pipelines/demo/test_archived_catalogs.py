"""Catalogs in archives: which are chosen, and what is read."""

from pathlib import Path

import pytest

from mining.errors import InputError
from pipelines.demo.archived_catalogs import Pair, read_pairs
from tests.pipelines.demo.wheels import catalog, write_wheel


def po(translation: str, english: str = "Please close the %s window") -> bytes:
    return str(catalog([(english, translation)])).encode()


def mo(translation: str) -> bytes:
    return bytes(catalog([("Please close the %s window", translation)]).to_binary())


def test_preferred_locale_and_compiled_catalogs_win_in_each_domain(tmp_path: Path) -> None:
    files = {
        "app/locale/zh_CN/LC_MESSAGES/app.mo": mo("请关闭 %s 窗口一"),
        "app/locale/zh-Hans/LC_MESSAGES/app.po": po("请关闭 %s 窗口二"),
        "app/locale/zh-Hans/LC_MESSAGES/app.mo": mo("请关闭 %s 窗口三"),
        "app/locale/zh_Hant/LC_MESSAGES/app.mo": mo("請關閉 %s 視窗"),
        "app/locale/zh_CN/LC_MESSAGES/other.po": po("请打开这些文件", "Please open these files"),
        "app/locale/zh/readme.po": po("不读"),
    }
    archive = write_wheel(tmp_path, "app", "1", files)
    expected = [Pair("Please close the … window", "请关闭 … 窗口三"), Pair("Please open these files", "请打开这些文件")]
    assert read_pairs([archive], "zh") == expected
    assert read_pairs([archive, archive], "zh") == expected
    assert read_pairs([archive], "de") == []


def test_drafts_are_left_out(tmp_path: Path) -> None:
    entries = catalog([("Please close the window", "Bitte das Fenster schließen")])
    entries[0].flags.append("fuzzy")
    archive = write_wheel(tmp_path, "app", "1", {"locale/de/LC_MESSAGES/app.po": str(entries).encode()})
    assert read_pairs([archive], "de") == []


def test_damaged_archive_is_one_sentence(tmp_path: Path) -> None:
    (tmp_path / "app-1-py3-none-any.whl").write_bytes(b"not a zip")
    with pytest.raises(InputError, match=r"app-1-py3-none-any.whl: not a readable archive .*delete it"):
        read_pairs([tmp_path / "app-1-py3-none-any.whl"], "de")
