"""What is inspected here besides files of its own."""

from tests.pipelines.clean.conftest import scoring_encoder

__all__ = ["scoring_encoder"]
