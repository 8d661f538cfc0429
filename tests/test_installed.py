"""The wheel, installed where there is nothing else of ours, run from a folder outside of the repository.

The new environment has our wheel and, as links into this one, exactly the packages that the wheel requires with the
extra `cpu`: torch once more would take gigabytes. What a wheel forgets (data files, a requirement that only the tests
declare) is missing there.
"""

import os
import subprocess
import sys
import sysconfig
import tomllib
import venv
import zipfile
from importlib.metadata import Distribution, PackageNotFoundError, distribution
from pathlib import Path

import pytest
from packaging.requirements import Requirement
from packaging.utils import canonicalize_name

from encoder import default
from tests.pipelines.corpora import write_corpora, write_encoder
from tests.pipelines.installed import ENGLISH, GERMAN

ROOT = Path(__file__).resolve().parents[1]
PACKAGES = ("encoder", "mining", "pipelines")
DEFAULT_ENCODER = ROOT / "encoder" / "default" / "model"

pytestmark = pytest.mark.slow


def required(extra: str) -> dict[str, Distribution]:
    """The installed distributions that ours needs, and what those need."""
    project = tomllib.loads((ROOT / "pyproject.toml").read_text())["project"]
    waiting = [*project["dependencies"], *project["optional-dependencies"][extra]]
    found: dict[str, Distribution] = {}
    seen: set[tuple[str, str]] = set()
    while waiting:
        asked = Requirement(waiting.pop())
        name = canonicalize_name(asked.name)
        extras = {"", *asked.extras}
        if all((name, extra) in seen for extra in extras):
            continue
        seen |= {(name, extra) for extra in extras}
        try:
            found[name] = distribution(name)
        except PackageNotFoundError:
            continue
        for line in found[name].requires or []:
            marker = Requirement(line).marker
            if marker is None or any(marker.evaluate({"extra": extra}) for extra in extras):
                waiting.append(line)
    return found


def link_packages(distributions: dict[str, Distribution], folder: Path) -> None:
    for found in distributions.values():
        for top in {file.parts[0] for file in found.files or [] if file.parts[0] not in ("..", "__pycache__")}:
            link, origin = folder / top, Path(str(found.locate_file(top)))
            if not link.exists() and origin.exists() and origin.suffix != ".pth":
                link.symlink_to(origin)


@pytest.fixture(scope="module")
def wheel(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Built from the files that git knows, so that nothing else gets in."""
    sources, out = tmp_path_factory.mktemp("sources"), tmp_path_factory.mktemp("wheel")
    listed = ["git", "ls-files", *PACKAGES, "pyproject.toml", "README.md", "LICENSE", "NOTICE"]
    for name in subprocess.run(listed, cwd=ROOT, capture_output=True, text=True, check=True).stdout.splitlines():
        (sources / name).parent.mkdir(parents=True, exist_ok=True)
        (sources / name).write_bytes((ROOT / name).read_bytes())
    build = "import sys; from setuptools import build_meta; build_meta.build_wheel(sys.argv[1])"
    subprocess.run([sys.executable, "-c", build, str(out)], cwd=sources, check=True, capture_output=True)
    (made,) = out.glob("*.whl")
    return made


@pytest.fixture(scope="module")
def environment(wheel: Path, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The folder of programs of a new environment."""
    folder = tmp_path_factory.mktemp("environment")
    venv.create(folder, symlinks=True)
    paths = sysconfig.get_paths("venv", {"base": str(folder), "platbase": str(folder)})
    link_packages(required("cpu"), Path(paths["purelib"]))
    install = [sys.executable, "-m", "pip", "--python", f"{paths['scripts']}/python", "install", "--quiet"]
    subprocess.run([*install, "--no-index", "--no-deps", str(wheel)], check=True)
    return Path(paths["scripts"])


def run(environment: Path, folder: Path, program: str, *arguments: str) -> str:
    clean = {name: value for name, value in os.environ.items() if not name.startswith(("PYTHON", "VIRTUAL_ENV"))}
    done = subprocess.run(
        [str(environment / program), *arguments], cwd=folder, env=clean, capture_output=True, text=True
    )
    assert done.returncode == 0, f"{program} {arguments}: {done.stdout} {done.stderr}"
    return done.stdout


def test_wheel_has_every_file_of_the_packages(wheel: Path) -> None:
    listed = subprocess.run(["git", "ls-files", *PACKAGES], cwd=ROOT, capture_output=True, text=True, check=True)
    with zipfile.ZipFile(wheel) as archive:
        inside = {name for name in archive.namelist() if ".dist-info/" not in name}
    assert inside == set(listed.stdout.splitlines())


def test_wheel_says_what_its_weights_are_made_of(wheel: Path) -> None:
    with zipfile.ZipFile(wheel) as archive:
        (name,) = [name for name in archive.namelist() if name.endswith(".dist-info/licenses/NOTICE")]
        notice = archive.read(name).decode()
    used = ("mining/language_id/model.npz", "Attribution-ShareAlike 4.0", "wordfreq", "langidentify", "SUBTLEX")
    assert not [word for word in used if word not in notice]


def test_environment_has_nothing_of_the_tests(environment: Path, tmp_path: Path) -> None:
    program = (
        "import importlib.util, encoder, mining, pipelines\n"
        "print(*[name for name in ('pytest', 'hypothesis', 'playwright', 'tests') if importlib.util.find_spec(name)])\n"
        "print(encoder.__file__, mining.__file__, pipelines.__file__, sep='\\n')"
    )
    extra, *places = run(environment, tmp_path, "python", "-c", program).splitlines()
    assert extra == ""
    assert all(Path(place).is_relative_to(environment.parent) for place in places)


@pytest.mark.skipif(not default.has_default(), reason="the default encoder is not released yet")
def test_the_shortest_command(environment: Path, tmp_path: Path) -> None:
    """Two text files and no option: languages, encoder, classifier and threshold come with the wheel."""
    english, german = ENGLISH.splitlines(), GERMAN.splitlines()
    (tmp_path / "en.txt").write_text("\n".join(english) + "\n")
    (tmp_path / "de.txt").write_text("\n".join(sorted(german)) + "\n")
    said = " ".join(run(environment, tmp_path, "twinlode", "mine", "en.txt", "de.txt", "-o", "pairs.tsv").split())
    found = [tuple(line.split("\t")[1:]) for line in (tmp_path / "pairs.tsv").read_text().splitlines()]
    assert len(set(zip(english, german, strict=True)) & set(found)) >= 6 and len(found) <= 8
    assert default.card().name in said and "de: Tatoeba P@1" in said
    assert (tmp_path / "pairs.work" / "graph" / "manifest.json").exists()


def test_mine_report_and_review_outside_of_the_repository(environment: Path, tmp_path: Path) -> None:
    write_corpora(tmp_path)
    given = [] if DEFAULT_ENCODER.exists() else ["--encoder", str(write_encoder(tmp_path / "encoder"))]
    langs = ["--src-lang", "en", "--tgt-lang", "en", "--lang-filter", "assume", "--filters", "none"]
    run(
        environment,
        tmp_path,
        "twinlode",
        "mine",
        "src.txt",
        "tgt.txt",
        "-o",
        "pairs.tsv",
        "--work",
        "work",
        *given,
        *langs,
    )
    lines = (tmp_path / "pairs.tsv").read_text().splitlines()
    assert len(lines) > 50
    run(environment, tmp_path, "twinlode", "report", "work")
    assert (tmp_path / "work/report.html").stat().st_size > 100_000  # scripts, styles and charts are inside
    page = (
        "from pipelines.review.review_session import Session\nfrom pipelines.review.server import _page, _own\n"
        "print(len(_page(Session('work', 20))), len(_own('review.js')))"
    )
    assert all(int(size) > 1000 for size in run(environment, tmp_path, "python", "-c", page).split())
    assert "de" in run(environment, tmp_path, "python", "-c", LANGUAGE).split()


LANGUAGE = """
from mining.language_id import language_probabilities
texts = ["Das hier ist ein Satz in deutscher Sprache."]
print(max(("de", "en", "fr"), key=lambda code: language_probabilities(texts, code)[0]))
"""
