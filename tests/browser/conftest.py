"""A real browser, driven headless: the system's Chromium."""

from __future__ import annotations

import os
import shutil
from collections.abc import Iterator
from dataclasses import dataclass, field

import pytest
from playwright.sync_api import Browser, Page, expect, sync_playwright

REQUIRED = bool(os.environ.get("TWINLODE_BROWSER"))  # set by `make test-browser`

expect.set_options(timeout=60_000)  # a busy machine must not fail a test


def find_chromium() -> str | None:
    return next(filter(None, map(shutil.which, ("chromium", "chromium-browser", "google-chrome"))), None)


@pytest.fixture(scope="session")
def browser() -> Iterator[Browser]:
    path = find_chromium()
    if path is None:
        reason = "there is no Chromium on this machine (Debian: apt-get install chromium)"
        pytest.fail(reason) if REQUIRED else pytest.skip(reason)
    with sync_playwright() as playwright:
        # A container's user may be root, for whom Chromium refuses its sandbox; it loads nothing but our own pages.
        running = playwright.chromium.launch(executable_path=path, args=["--no-sandbox"])
        yield running
        running.close()


@dataclass
class Watched:
    """A page, and what it did that nobody asked for."""

    page: Page
    requests: list[str] = field(default_factory=list)
    trouble: list[str] = field(default_factory=list)


@pytest.fixture
def watched(browser: Browser) -> Iterator[Watched]:
    yield from watch(browser)


def watch(browser: Browser) -> Iterator[Watched]:
    """A new page; at the end there must have been no error in it."""
    page = browser.new_page(viewport={"width": 1200, "height": 900})
    page.set_default_timeout(60_000)
    seen = Watched(page)
    page.on("request", lambda request: seen.requests.append(request.url))
    page.on(
        "console", lambda message: seen.trouble.append(message.text) if message.type in ("error", "warning") else None
    )
    page.on("pageerror", lambda error: seen.trouble.append(str(error)))
    page.on("dialog", lambda dialog: (seen.trouble.append("a dialog"), dialog.dismiss()))
    yield seen
    page.close()
    assert seen.trouble == []
