"""Corpus readers: one small module for each format, all behind `read_block`."""

from pipelines.prepare.readers.blocks import Block, ReadSettings, RowBatch
from pipelines.prepare.readers.formats import cut_file, document_format, read_block

__all__ = ["Block", "ReadSettings", "RowBatch", "cut_file", "document_format", "read_block"]
