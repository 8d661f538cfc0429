"""Links that MkDocs does not check: those of pages outside of docs/, and the form of those to elsewhere."""

import re
from pathlib import Path
from urllib.parse import urlsplit

import pytest
from markdown.extensions.toc import slugify

from tests.site.pages import ROOT, page_names, text_of

OUTSIDE = ("README.md", "CHANGELOG.md", "CONTRIBUTING.md", "SECURITY.md")
PAGES = (*dict.fromkeys((*OUTSIDE, *page_names())), "mining/errors.md", "encoder/default/model/README.md")
# Sites that the pages may send people to; packages are named, not linked.
SITES = {
    "aclanthology.org",
    "arxiv.org",
    "facebookresearch.github.io",
    "github.com",
    "helsinki-nlp.github.io",
    "keepachangelog.com",
    "pytorch.org",
    "semver.org",
    "www.sbert.net",
}
_LINK = re.compile(r"(?<!`)\[[^]]*\]\(([^)\s]+)\)")


def links(page: str) -> list[str]:
    return _LINK.findall(text_of(page))


def anchors(page: Path) -> set[str]:
    return {slugify(title, "-") for title in re.findall(r"^#+ (.*)$", page.read_text(), re.MULTILINE)}


@pytest.mark.parametrize("page", OUTSIDE)
def test_links_inside_the_repository(page: str) -> None:
    for link in links(page):
        if "://" in link:
            continue
        path, _, anchor = link.partition("#")
        target = ROOT / path if path else ROOT / page
        assert target.exists(), link
        assert not anchor or anchor in anchors(target), link


@pytest.mark.parametrize("page", PAGES)
def test_links_to_elsewhere(page: str) -> None:
    for link in links(page):
        if "://" in link:
            parts = urlsplit(link)
            assert parts.scheme == "https" and parts.hostname in SITES, link
            assert not link.endswith((".", ",", ";")), link


def test_no_address_outside_of_a_link() -> None:
    """A bare address is not checked above, nor is it a link on the site."""
    for page in PAGES:
        prose = re.sub(r"```.*?```|`[^`\n]*`", "", text_of(page), flags=re.DOTALL)
        assert not re.findall(r"(?<!\]\()https?://\S+", prose), page
