"""The arrows between the three rooms point one way."""

import ast
from graphlib import CycleError, TopologicalSorter
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[1]
FORBIDDEN = {
    "encoder": {"apache_beam", "mining", "pipelines"},
    "mining": {"apache_beam", "encoder", "pipelines"},
}
# The floor that all rooms stand on: the one error, memory, texts as bytes, and files by any path, compression and
# exchange format.
FLOOR = {
    "mining.allocator",
    "mining.catalogs",
    "mining.decompression",
    "mining.encodings",
    "mining.errors",
    "mining.files",
    "mining.lazy",
    "mining.temporary_files",
    "mining.locks",
    "mining.parquet_batches",
    "mining.paths",
    "mining.translation_units",
    "mining.utf8_columns",
}


# Inside `pipelines` a layer imports only those below it: commands, what people look at, stages, datasets and runners.
LAYERS = [
    {"cli"},
    {"commands"},
    {"demo"},
    {"review", "inspection"},
    {"report"},
    {"loop"},
    {"evaluation"},
    {"planning"},
    {"align", "clean"},
    {"mine"},
    {"graph"},
    {"embed"},
    {"prepare"},
    {"runners"},
    {"datasets"},
]


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


def package_of(module: str) -> str:
    return module.split(".")[1]


def test_arrows_inside_pipelines_point_down() -> None:
    level = {package: number for number, layer in enumerate(LAYERS) for package in layer}
    offenders = []
    for file in (ROOT / "pipelines").rglob("*.py"):
        me = file.relative_to(ROOT / "pipelines").parts[0].removesuffix(".py")
        if me == "__init__":
            continue
        for module in imported_modules(file.read_text()):
            below = module.startswith("pipelines.") and package_of(module) != me
            if below and level[package_of(module)] <= level[me]:
                offenders.append(f"{file.relative_to(ROOT)} imports {module}")
    assert not offenders


def arrows(room: str, depth: int) -> dict[str, set[str]]:
    """Who imports whom inside a room, by the first `depth` parts of their names."""
    found: dict[str, set[str]] = {}
    for file in (ROOT / room).rglob("*.py"):
        me = short(".".join(file.relative_to(ROOT).with_suffix("").parts).removesuffix(".__init__"), depth)
        modules = {short(name, depth) for name in imported_modules(file.read_text()) if name.startswith(f"{room}.")}
        found.setdefault(me, set()).update(modules - {me})
    return found


def short(module: str, depth: int) -> str:
    return ".".join(module.split(".")[:depth])


def cycle(graph: dict[str, set[str]]) -> list[str]:
    try:
        TopologicalSorter(graph).prepare()
    except CycleError as error:
        return list(error.args[1])
    return []


@pytest.mark.parametrize("room", ["mining", "encoder", "pipelines"])
def test_no_cycle_of_packages(room: str) -> None:
    assert cycle(arrows(room, 2)) == []


# In `pipelines` a stage and its Beam transform know each other.
@pytest.mark.parametrize("room", ["mining", "encoder"])
def test_no_cycle_of_modules(room: str) -> None:
    assert cycle(arrows(room, 9)) == []


def test_a_cycle_of_any_length_is_found() -> None:
    assert cycle({"a": {"b"}, "b": {"c"}, "c": set()}) == []
    assert len(cycle({"a": {"b"}, "b": {"c"}, "c": {"a"}})) == 4


def test_one_name_one_meaning() -> None:
    """No two modules and no two public classes of one name."""
    found: dict[str, list[str]] = {}
    for room in ("mining", "encoder", "pipelines"):
        for file in (ROOT / room).rglob("*.py"):
            module = file.relative_to(ROOT).as_posix()
            if file.stem != "__init__":
                found.setdefault(f"module {file.stem}", []).append(module)
            for node in ast.parse(file.read_text()).body:
                if isinstance(node, ast.ClassDef) and not node.name.startswith("_"):
                    found.setdefault(f"class {node.name}", []).append(module)
    assert {name: places for name, places in found.items() if len(places) > 1} == {}
