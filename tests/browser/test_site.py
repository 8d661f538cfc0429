"""The documentation, opened from the disk: pages, and the search box, without a server or a network."""

import os
import re
import subprocess
import sys
from pathlib import Path

from playwright.sync_api import expect

from tests.browser.conftest import Watched
from tests.site.pages import ROOT
from tests.site.test_build import make_docs


def test_the_search_box_works_from_the_disk(watched: Watched, tmp_path: Path) -> None:
    command = [sys.executable, "-m", "mkdocs", *make_docs(), "--site-dir", str(tmp_path)]
    subprocess.run(command, cwd=ROOT, env=os.environ | {"NO_MKDOCS_2_WARNING": "1"}, check=True, capture_output=True)
    page = watched.page
    page.goto((tmp_path / "how-to" / "plan.html").as_uri())
    page.keyboard.press("/")
    page.keyboard.type("codebook")
    page.locator(".md-search-result__link[href$='explanation/partitioned.html']").click()
    expect(page).to_have_url(re.compile("explanation/partitioned.html"))
    assert [url for url in watched.requests if not url.startswith(("file:", "data:"))] == []
