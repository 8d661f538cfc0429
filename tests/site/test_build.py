"""`make docs` fails where a page has a dead link: its command, run on a site of one page."""

import re
import shlex
import subprocess
import sys
from pathlib import Path

import pytest
import yaml

from tests.site.pages import ROOT


def make_docs() -> list[str]:
    """The arguments that the Makefile gives MkDocs."""
    (recipe,) = re.findall(r"^docs:.*\n\t.* -m mkdocs (.*)$", (ROOT / "Makefile").read_text(), re.MULTILINE)
    return shlex.split(recipe)


@pytest.mark.parametrize(
    ("link", "fails"),
    [("index.md#here", False), ("index.md#nowhere", True), ("no-page.md", True), ("/absolute.html", True)],
)
def test_dead_links_fail_the_build(link: str, fails: bool, tmp_path: Path) -> None:
    settings = yaml.safe_load((ROOT / "mkdocs.yml").read_text())
    here = {"site_name": "one page", "validation": settings["validation"]}
    (tmp_path / "mkdocs.yml").write_text(yaml.safe_dump(here))
    (tmp_path / "docs").mkdir()
    (tmp_path / "docs" / "index.md").write_text(f"# Here\n\n[a link]({link})\n")
    done = subprocess.run([sys.executable, "-m", "mkdocs", *make_docs()], cwd=tmp_path, capture_output=True, text=True)
    assert (done.returncode != 0) == fails, done.stderr
