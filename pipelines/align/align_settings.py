"""Settings of an alignment. Nothing heavy is imported: commands derive options from them."""

from __future__ import annotations

from typing import Literal

from pydantic import BaseModel, ConfigDict, Field

from mining.alignment import BEADS, LARGEST_BEADS
from mining.document_pairs import CANDIDATES
from pipelines.mine.mine_settings import Device, SideSettings
from pipelines.prepare.readers import ReadSettings


class DocumentReadSettings(ReadSettings):
    """Documents have longer sentences than the lines of a corpus."""

    max_chars: int = Field(default=10_000, ge=1, description="longer sentences are dropped as too_long")


class DocumentSideSettings(SideSettings):
    """The documents of one language and how to read them."""

    read: DocumentReadSettings


class AlignSettings(BaseModel):
    """Everything that decides an alignment; a document of another language is refused where languages are detected."""

    model_config = ConfigDict(extra="forbid", frozen=True)

    source: DocumentSideSettings
    target: DocumentSideSettings
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
    leftovers: Literal["drop", "mine"] = Field(
        default="drop", description="mine: sentences that alignment leaves over are mined, into the same pairs"
    )
    device: Device = Field(default="auto", description="device: auto, cpu, cuda, or cuda:1 and so on")
    threads: int | None = Field(default=None, ge=1, description="CPU threads. Default: all cores")
