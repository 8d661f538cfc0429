"""Shared fixtures."""

import sys
from collections.abc import Callable
from pathlib import Path

import pytest
from hypothesis import HealthCheck, settings

# The same examples every time, so that a test that passed here passes there; `make fuzz` looks further. No deadline: a
# busy machine or a first compilation must not fail a property test.
settings.register_profile("repeatable", deadline=None, derandomize=True, database=None)
settings.register_profile(
    "fuzz",
    deadline=None,
    max_examples=2000,
    database=None,
    print_blob=True,
    suppress_health_check=[HealthCheck.too_slow, HealthCheck.data_too_large, HealthCheck.filter_too_much],
)
settings.load_profile("repeatable")

SHARED_DATA = Path(__file__).resolve().parents[2] / "shared" / "data"


RunTwinlode = Callable[..., int]
Refusal = Callable[..., str]


@pytest.fixture
def twinlode(monkeypatch: pytest.MonkeyPatch) -> RunTwinlode:
    """Runs a command line in this process and gives its exit code."""
    from pipelines import cli

    def run(*arguments: object) -> int:
        monkeypatch.setattr("sys.argv", ["twinlode", *map(str, arguments)])
        with pytest.raises(SystemExit) as ended:
            cli.main()
        return int(ended.value.code or 0)

    monkeypatch.setattr(cli, "leave", sys.exit)  # which would end the tests, too
    return run


@pytest.fixture
def refusal(twinlode: RunTwinlode, capsys: pytest.CaptureFixture[str]) -> Refusal:
    """Runs a command line that must end with exit code 2, and gives what it says on stderr."""

    def run(*arguments: object) -> str:
        assert twinlode(*arguments) == 2
        return capsys.readouterr().err.strip()

    return run


@pytest.fixture(scope="session")
def shared_data() -> Path:
    """The real corpora beside the checkout; tests that need them skip where they are absent."""
    if not SHARED_DATA.is_dir():
        pytest.skip(f"the real corpora are not at {SHARED_DATA}")
    return SHARED_DATA


@pytest.fixture(scope="module")
def corpora(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A folder with two small corpora (`src.txt`, `tgt.txt`) and an `encoder`."""
    from tests.pipelines.corpora import write_corpora, write_encoder

    folder = tmp_path_factory.mktemp("corpora")
    write_corpora(folder)
    write_encoder(folder / "encoder")
    return folder
