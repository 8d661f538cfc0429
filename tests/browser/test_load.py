"""How the pages bear large mines: seconds until they show their pairs and answer, printed, never asserted."""

import re
import threading
import time
from collections.abc import Callable
from pathlib import Path

import pytest
from playwright.sync_api import Page, expect

from pipelines.report import write_report
from pipelines.review.review_session import Session
from pipelines.review.server import ReviewServer
from tests.browser.conftest import Watched
from tests.pipelines.works import pairs_of, write_work

REPORTED, REVIEWED = 1_000_000, 200_000


@pytest.fixture(scope="module")
def mined(tmp_path_factory: pytest.TempPathFactory) -> str:
    return str(write_work(tmp_path_factory.mktemp("load") / "work", pairs_of(REPORTED)))


@pytest.mark.parametrize("shown", [5_000, REPORTED])
def test_report_of_a_million_pairs(
    watched: Watched, mined: str, tmp_path: Path, capsys: pytest.CaptureFixture[str], shown: int
) -> None:
    page, began = watched.page, time.perf_counter()
    written = Path(write_report(mined, str(tmp_path / "report.html"), pairs=shown))
    made = time.perf_counter() - began
    opened = _until(page, lambda: page.goto(written.as_uri()), f"{shown:,} shown")
    expect(page.locator("[data-chart] svg").last).to_be_attached()
    found = _until(page, lambda: page.get_by_label("Search both sides").fill("number 999999"), "0 shown|1 shown")
    size = written.stat().st_size / 1e6
    with capsys.disabled():
        print(
            f"\nreport, {shown:,} of {REPORTED:,} pairs in the page ({size:.1f} MB, written in {made:.1f} s): "
            f"open in {opened:.2f} s, a search in {found:.2f} s"
        )


def test_review_of_200_000_pairs(watched: Watched, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    work = str(write_work(tmp_path / "work", pairs_of(REVIEWED)))
    page, began = watched.page, time.perf_counter()
    with ReviewServer(Session(work, REVIEWED, 0.8), 0) as server:
        threading.Thread(target=server.serve_forever, args=(0.01,), daemon=True).start()
        ready, began = time.perf_counter() - began, time.perf_counter()
        page.goto(server.url)
        left = page.locator(".left")
        expect(left).to_have_text(f"0 of {REVIEWED}")
        opened, began = time.perf_counter() - began, time.perf_counter()
        for number in range(1, 11):
            page.keyboard.press("y")
            expect(left).to_have_text(f"{number} of {REVIEWED}")
        marked = (time.perf_counter() - began) / 10
        page.close()
        server.shutdown()
    with capsys.disabled():
        print(
            f"\nreview, {REVIEWED:,} pairs sampled: ready in {ready:.1f} s, open in {opened:.2f} s, "
            f"a mark in {marked:.3f} s"
        )


def _until(page: Page, act: Callable[[], object], text: str) -> float:
    """Seconds from an act until the count of pairs reads so."""
    began = time.perf_counter()
    act()
    expect(page.locator(".found")).to_have_text(re.compile(f"^({text})$"))
    return time.perf_counter() - began
