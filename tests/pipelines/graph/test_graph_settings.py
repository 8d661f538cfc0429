"""Settings of a graph."""

import pytest

from encoder.settings import validate_settings
from mining.errors import InputError
from pipelines.graph.graph_settings import GraphSettings


def test_the_old_name_of_the_search_is_told_the_new_one() -> None:
    with pytest.raises(InputError, match="graph: the key mode is called search now"):
        validate_settings(GraphSettings, {"source": ["a"], "target": ["b"], "out": "c", "mode": "faiss"}, "graph")
