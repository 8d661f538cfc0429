"""What MkDocs calls while it builds: fills in tables made from code, and takes in the project's own pages."""

from __future__ import annotations

import base64
import json
import logging
import re
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from mkdocs.structure.files import File, Files

ROOT = Path(__file__).resolve().parents[2]
sys.path.insert(0, str(ROOT))

from tests.site import reference  # noqa: E402

_LOG = logging.getLogger("mkdocs.hooks.twinlode")
_FROM_ELSEWHERE = re.compile(
    r"""<(?:script|img|iframe)[^>]+src=["']?https?:[^>]+>|<link[^>]+stylesheet[^>]+https?:[^>]+>"""
)
# Pages of the site that have their place elsewhere in the repository, where people look for them.
_ELSEWHERE = {
    "changelog.md": "CHANGELOG.md",
    "contributing.md": "CONTRIBUTING.md",
    "reference/errors.md": "mining/errors.md",
    "model-card.md": "encoder/default/model/README.md",
}


def on_files(files: Files, config: Any) -> Files:
    for page, name in _ELSEWHERE.items():
        files.append(File.generated(config, page, content=(ROOT / name).read_text(encoding="utf-8")))
    for path in sorted((ROOT / "docs" / "notebooks").glob("*.ipynb")):
        files.append(File.generated(config, f"notebooks/{path.stem}.md", content=notebook_page(path)))
    return files


def on_page_markdown(markdown: str, **_: Any) -> str:
    for page, name in _ELSEWHERE.items():
        markdown = markdown.replace(f"(../{name})", f"({page})")
    return fill_in(markdown)


def on_post_page(output: str, page: Any, **_: Any) -> str:
    """The site works without a network: what a page would fetch from elsewhere is an error of the build."""
    for found in _FROM_ELSEWHERE.findall(output):
        _LOG.warning("%s fetches from elsewhere: %s", page.file.src_uri, found)
    return output


def notebook_page(path: Path) -> str:
    """The cells of a notebook with what they showed when it was last saved."""
    cells = json.loads(path.read_text(encoding="utf-8"))["cells"]
    return "\n\n".join(part for cell in cells for part in _cell_parts(cell))


def _cell_parts(cell: dict[str, Any]) -> Iterator[str]:
    source = "".join(cell["source"])
    yield source if cell["cell_type"] == "markdown" else f"```python\n{source}\n```"
    for shown in cell.get("outputs", []):
        data = shown.get("data", {})
        if "image/svg+xml" in data:
            picture = base64.b64encode("".join(data["image/svg+xml"]).encode()).decode()
            yield f"![A chart](data:image/svg+xml;base64,{picture})"
        elif shown.get("name") != "stderr":
            text = "".join(shown.get("text", data.get("text/plain", []))).rstrip()
            yield f"```text\n{text}\n```"


def fill_in(markdown: str) -> str:
    """`<!-- generated: commands -->` becomes what `reference.commands()` writes."""
    return re.sub(r"<!-- generated: (\w+) -->", lambda found: reference.GENERATED[found[1]](), markdown)
