"""Imports of large libraries without the parts that no command needs."""

from __future__ import annotations

from mining.lazy import without


def import_trees() -> None:
    """LightGBM without its classes for scikit-learn, which take a second of CPU to import."""
    with without("sklearn"):
        import lightgbm  # noqa: F401
