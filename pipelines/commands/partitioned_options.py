"""`--copies` and `--codebook`, of which only a partitioned search makes use."""

from __future__ import annotations

from typing import TYPE_CHECKING, Protocol

from mining.errors import InputError

if TYPE_CHECKING:
    from pipelines.datasets.manifest import Dataset
    from pipelines.graph.graph_settings import Search


class SearchSettings(Protocol):
    """What the settings of all searches have; some have a codebook, too."""

    @property
    def search(self) -> Search: ...
    @property
    def copies(self) -> int | None: ...


def require_use(settings: SearchSettings) -> None:
    """Refuse these options beside another search that was asked for."""
    given = _given(settings)
    if given and settings.search not in ("partitioned", "auto"):
        raise InputError(f"{given}: for a partitioned search only; leave that out, or give --search partitioned")


def unused_options(settings: SearchSettings, graph: Dataset) -> list[str]:
    """A note where `auto` has chosen another search for this graph."""
    return unused_beside(settings, str(graph.manifest.request.configuration["search"]))


def unused_beside(settings: SearchSettings, search: str) -> list[str]:
    """A note where `auto` has chosen this search, which makes no use of them."""
    given = _given(settings)
    if not given or search == "partitioned":
        return []
    return [f"{given}: not used, because the search was {search}, which --search auto chose; see --search partitioned"]


def _given(settings: SearchSettings) -> str:
    options = {f"--{name}": getattr(settings, name, None) for name in ("copies", "codebook")}
    return " and ".join(option for option, value in options.items() if value is not None)
