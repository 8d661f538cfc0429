"""The picture in the README: `python -m tests.browser.screenshot FOLDER IMAGE` of a demo's report."""

from __future__ import annotations

import sys
from pathlib import Path

from playwright.sync_api import sync_playwright

from tests.browser.conftest import find_chromium


def main(folder: str, image: str) -> None:
    with sync_playwright() as playwright:
        browser = playwright.chromium.launch(executable_path=find_chromium(), args=["--no-sandbox"])
        page = browser.new_page(viewport={"width": 1100, "height": 1000}, color_scheme="light")
        page.goto((Path(folder) / "report.html").resolve().as_uri())
        page.locator('section.mine:visible [data-chart="funnel"] svg').wait_for()
        page.locator("section.mine:visible h2").scroll_into_view_if_needed()
        page.evaluate("document.querySelector('nav.mines').style.position = 'static'")
        page.evaluate("window.scrollTo(0, document.querySelector('section.mine:not([hidden])').offsetTop - 8)")
        page.screenshot(path=image)
        browser.close()


if __name__ == "__main__":
    main(*sys.argv[1:])
