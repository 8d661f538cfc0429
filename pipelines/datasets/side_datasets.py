"""The datasets of one side of a graph or a mine: a corpus, and the probe pairs behind it where there are any."""

from __future__ import annotations

from dataclasses import dataclass

from pipelines.datasets.manifest import Dataset, Kind, Shard, open_dataset, probes_of
from pipelines.datasets.side_folders import SideFolders


@dataclass(frozen=True)
class SideDatasets:
    """What was opened of `SideFolders`."""

    corpus: Dataset
    probes: Dataset | None = None

    @property
    def all(self) -> tuple[Dataset, ...]:
        """In the order of their ids."""
        return (self.corpus,) if self.probes is None else (self.corpus, self.probes)

    @property
    def shards(self) -> list[Shard]:
        return [shard for dataset in self.all for shard in dataset.shards]

    @property
    def rows(self) -> int:
        return sum(dataset.rows for dataset in self.all)

    def by_role(self, side: str) -> dict[str, Dataset]:
        """What each is to the stage that reads it, in that order."""
        found = {side: self.corpus, probes_of(side): self.probes}
        return {role: dataset for role, dataset in found.items() if dataset is not None}


def open_side(folders: SideFolders, kind: Kind) -> SideDatasets:
    probes = None if folders.probes is None else open_dataset(folders.probes, kind)
    return SideDatasets(open_dataset(folders.corpus, kind), probes)


def side_of(reader: Dataset, side: str, kind: Kind) -> SideDatasets:
    """The datasets of a side that another was made of."""
    found = {
        given.role: open_dataset(reader.input_url(given), kind)
        for given in reader.manifest.request.inputs
        if given.role in (side, probes_of(side))
    }
    return SideDatasets(found[side], found.get(probes_of(side)))
