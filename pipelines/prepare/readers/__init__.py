"""Corpus readers: one small module for each format, all behind `read_block`."""

from pipelines.prepare.readers.blocks import Batch, Block, ReadSettings
from pipelines.prepare.readers.formats import cut_file, read_block

__all__ = ["Batch", "Block", "ReadSettings", "cut_file", "read_block"]
