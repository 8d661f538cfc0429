"""Fixtures that tests on every cluster share."""

from tests.portable.fixtures import expected, stop_on_sigterm

__all__ = ["expected", "stop_on_sigterm"]
