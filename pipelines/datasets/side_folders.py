"""The folders of one side of a graph or a mine, by what they are."""

from __future__ import annotations

from typing import Any

from pydantic import BaseModel, ConfigDict, Field, model_validator


class SideFolders(BaseModel):
    """A corpus, and the probe pairs behind it where there are any; a folder alone is that of a corpus."""

    model_config = ConfigDict(extra="forbid", frozen=True)

    corpus: str = Field(description="the folder of a dataset")
    probes: str | None = Field(default=None, description="that of its probe pairs, whose ids follow the corpus's")

    @property
    def all(self) -> list[str]:
        """In the order of their ids."""
        return [self.corpus] if self.probes is None else [self.corpus, self.probes]

    @model_validator(mode="before")
    @classmethod
    def _by_role(cls, given: Any) -> Any:
        if isinstance(given, list):
            raise ValueError("a list of folders is written as `corpus:` and `probes:` now")
        return {"corpus": given} if isinstance(given, str) else given
