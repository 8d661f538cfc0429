"""Settings of an alignment. Nothing heavy is imported: commands derive options from them."""

from __future__ import annotations

from pydantic import BaseModel, ConfigDict, Field

from mining.alignment import BEADS, LARGEST_BEADS
from mining.document_pairs import CANDIDATES
from pipelines.mine.mine_settings import Device, SideSettings


class AlignSettings(BaseModel):
    """Everything that decides an alignment; a document of another language is refused where languages are detected."""

    model_config = ConfigDict(extra="forbid", frozen=True)

    source: SideSettings
    target: SideSettings
    encoder: str | None = Field(
        default=None,
        description="encoder: a folder, a URL, or a Hugging Face model. Default: the one that comes with twinlode",
    )
    beads: int = Field(
        default=BEADS, ge=2, lt=LARGEST_BEADS, description="sentences of a bead, both sides together, at most"
    )
    confidence: float = Field(
        default=0.5, ge=0, le=1, description="document pairs that are less likely translations are not aligned"
    )
    candidates: int = Field(default=CANDIDATES, ge=1, description="documents that are compared with each document")
    device: Device = Field(default="auto", description="auto, cpu, cuda, or cuda:1 and so on")
    threads: int | None = Field(default=None, ge=1, description="CPU threads. Default: all cores")
