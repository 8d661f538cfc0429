"""docs/architecture.md names what is there: every path, module and function of that page exists."""

import re
from importlib import import_module
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[1]
PAGE = ROOT / "docs" / "architecture.md"
PACKAGES = ("mining", "encoder", "pipelines")
# Words in code quotes that name no code of ours: files that commands write, fields and methods of an interface.
OTHER = {"manifest.json", "score", "accept", "loss", "errors", "files", "paths"}


def quoted() -> list[str]:
    return sorted(set(re.findall(r"`([^`\n]+)`", PAGE.read_text(encoding="utf-8"))) - OTHER)


def sources() -> dict[Path, str]:
    return {path: path.read_text(encoding="utf-8") for package in PACKAGES for path in (ROOT / package).rglob("*.py")}


SOURCES = sources()


def is_path(name: str) -> bool:
    """A path from the root, or below one of the packages, as the page shortens it."""
    name = name.rstrip("/")
    places = [ROOT / name, *(ROOT / package / name for package in PACKAGES)]
    return any(place.exists() for place in places) or any(path.match(f"*/{name}") for path in SOURCES)


def is_dotted(name: str) -> bool:
    """`package.module.function`, written with or without the name of the room."""
    module, _, attribute = name.rpartition(".")
    for full in (module, *(f"{package}.{module}" for package in PACKAGES)):
        try:
            if hasattr(import_module(full), attribute):
                return True
        except ImportError:
            if full.rpartition(".")[0] and is_dotted_class(full, attribute):
                return True
    return False


def is_dotted_class(owner: str, attribute: str) -> bool:
    module, _, name = owner.rpartition(".")
    try:
        return hasattr(getattr(import_module(module), name, None), attribute)
    except ImportError:
        return False


def is_defined(name: str) -> bool:
    pattern = re.compile(rf"^\s*(def|class) {re.escape(name)}\b|^{re.escape(name)}\b.*=", re.MULTILINE)
    return any(pattern.search(text) for text in SOURCES.values())


@pytest.mark.parametrize("name", quoted())
def test_what_the_page_names_is_there(name: str) -> None:
    plain = re.sub(r"\(.*\)$", "", name)
    if "*" in plain:
        assert any(path.match(f"*/{plain}") for path in SOURCES), name
    elif plain.endswith((".py", ".md", ".toml", ".j2", ".js", "/")):
        assert is_path(plain), name
    elif "." in plain:
        assert is_dotted(plain) or is_path(f"{plain.replace('.', '/')}.py"), name
    else:
        assert is_defined(plain) or is_path(f"{plain}.py") or is_path(plain), name


@pytest.mark.parametrize(
    ("change", "place"),
    [
        ("a filter of pairs", "mining/filters/__init__.py"),
        ("a reader of corpora", "pipelines/prepare/readers/"),
        ("a margin", "mining/margin.py"),
        ("the stop rule of the loop", "pipelines/loop/stopping.py"),
        ("a column of the report", "report/views.py"),
    ],
)
def test_where_to_change_something_is_said(change: str, place: str) -> None:
    rows = [line for line in PAGE.read_text(encoding="utf-8").splitlines() if line.startswith(f"| {change}")]
    assert len(rows) == 1 and f"`{place}`" in rows[0]
