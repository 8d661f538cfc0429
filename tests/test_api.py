"""The public names exist, and the examples of docs/how-to/python.md run."""

import re
import subprocess
import sys
from importlib import import_module
from pathlib import Path
from typing import Any

import pyarrow as pa
import pytest

from pipelines.datasets.manifest import open_dataset
from pipelines.mine.pair_stage import pair_batches
from tests.pipelines.corpora import write_corpora, write_encoder

ROOT = Path(__file__).resolve().parents[1]
PACKAGES = ("mining", "encoder", "pipelines")


@pytest.mark.parametrize("package", PACKAGES)
def test_public_names_exist(package: str) -> None:
    module = import_module(package)
    for name in module.__all__:
        assert getattr(module, name) is not None, name
    assert (ROOT / package / "py.typed").exists()
    with pytest.raises(AttributeError, match=f"module '{package}' has no attribute 'nothing'"):
        _ = module.nothing


def test_nothing_heavy_is_imported_with_a_package() -> None:
    code = "import sys, mining, encoder, pipelines; print({'torch', 'numpy', 'apache_beam'} & sys.modules.keys())"
    assert subprocess.check_output([sys.executable, "-c", code], text=True, cwd=ROOT).strip() == "set()"


def test_an_encoder_that_is_only_loaded_needs_no_segmenter(tmp_path: Path) -> None:
    write_encoder(tmp_path / "encoder")
    code = (
        f"import sys; from encoder import Encoder; Encoder.load({str(tmp_path / 'encoder')!r}); "
        "print({'rjieba', 'opencc', 'fugashi', 'mosestokenizer', 'transformers'} & sys.modules.keys())"
    )
    assert subprocess.check_output([sys.executable, "-c", code], text=True, cwd=ROOT).strip() == "set()"


def test_the_examples_run(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    write_corpora(tmp_path)
    write_encoder(tmp_path / "encoder")
    names: dict[str, Any] = {}
    for example in re.findall(r"```python\n(.*?)```", (ROOT / "docs" / "how-to" / "python.md").read_text(), re.DOTALL):
        exec(compile(example, "docs/how-to/python.md", "exec"), names)
    assert names["english"].shape == (3, 16)
    assert sorted(zip(names["pairs"].source.tolist(), names["pairs"].target.tolist(), strict=True)) == [(0, 1), (1, 0)]
    assert names["written"] == len((tmp_path / "pairs.tsv").read_text().splitlines()) > 0
    composed = pa.concat_tables(pair_batches(open_dataset("beam/pairs", "pairs")))
    assert sorted(composed["src_text"].to_pylist()) == sorted(
        pa.concat_tables(pair_batches(names["result"].pairs))["src_text"].to_pylist()
    )
