"""The arrows between the three rooms point one way."""

import ast
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[1]
FORBIDDEN = {
    "encoder": {"apache_beam", "mining", "pipelines"},
    "mining": {"apache_beam", "encoder", "pipelines"},
}
# The floor that all rooms stand on: the one error, and files by any path, compression and exchange format.
FLOOR = {"mining.errors", "mining.files"}


def imported_modules(source: str) -> set[str]:
    modules: set[str] = set()
    for node in ast.walk(ast.parse(source)):
        if isinstance(node, ast.Import):
            modules |= {alias.name for alias in node.names}
        elif isinstance(node, ast.ImportFrom) and node.module and node.level == 0:
            modules.add(node.module)
    return modules


@pytest.mark.parametrize("room", FORBIDDEN)
def test_room_imports_only_what_it_may(room: str) -> None:
    files = list((ROOT / room).rglob("*.py"))
    assert files
    offenders = {}
    for file in files:
        modules = imported_modules(file.read_text()) - (FLOOR if room == "encoder" else set())
        if bad := {module for module in modules if module.split(".")[0] in FORBIDDEN[room]}:
            offenders[str(file)] = bad
    assert not offenders


def test_the_floor_stands_on_nothing_else() -> None:
    for module in FLOOR:
        source = (ROOT / f"{module.replace('.', '/')}.py").read_text()
        assert {name for name in imported_modules(source) if name.startswith("mining")} <= FLOOR, module
