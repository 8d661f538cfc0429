"""Everything that any command imports, once, before the first fork."""

from __future__ import annotations

import logging
from importlib import import_module
from pathlib import Path

import pipelines
from tests.pipelines.demo.test_walk import TINY

_OUTSIDE = ("faiss", "lightgbm", "sentencepiece", "transformers", "polib")
_ROOT = Path(pipelines.__file__).resolve().parents[1]


def import_everything() -> None:
    """Threads that an import starts would be lost in a fork; none of these starts any."""
    logging.getLogger().setLevel(logging.ERROR)
    for name in _OUTSIDE:
        import_module(name)
    for room in ("mining", "encoder", "pipelines"):
        for path in sorted((_ROOT / room).rglob("*.py")):
            if "page" in path.parts or path.stem in ("build_check", "mteb_model"):
                continue
            parts = path.relative_to(_ROOT).with_suffix("").parts
            import_module(".".join(parts[:-1] if parts[-1] == "__init__" else parts))
    from pipelines.demo import demo_plan

    demo_plan.QUICK = TINY
