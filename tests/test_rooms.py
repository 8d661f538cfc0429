"""The arrows between the three rooms point one way."""

import ast
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[1]
FORBIDDEN = {
    "encoder": {"apache_beam", "mining", "pipelines"},
    "mining": {"apache_beam", "encoder", "pipelines"},
}


def imported_roots(source: str) -> set[str]:
    roots: set[str] = set()
    for node in ast.walk(ast.parse(source)):
        if isinstance(node, ast.Import):
            roots |= {alias.name.split(".")[0] for alias in node.names}
        elif isinstance(node, ast.ImportFrom) and node.module and node.level == 0:
            roots.add(node.module.split(".")[0])
    return roots


@pytest.mark.parametrize("room", FORBIDDEN)
def test_room_imports_only_what_it_may(room: str) -> None:
    files = list((ROOT / room).rglob("*.py"))
    assert files
    offenders = {str(f): bad for f in files if (bad := imported_roots(f.read_text()) & FORBIDDEN[room])}
    assert not offenders
