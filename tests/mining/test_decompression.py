"""Every byte before the damage of an archive is given out."""

import bz2
import gzip
import io
import lzma

import pytest
import zstandard
from hypothesis import given, settings
from hypothesis import strategies as st

from mining.decompression import Damaged, Decompressed

COMPRESS = {"gz": gzip.compress, "bz2": bz2.compress, "xz": lzma.compress, "zst": zstandard.compress}
TEXT = b"".join(b"%d %x\n" % (i, i * 2654435761 % 2**32) for i in range(3000))
codecs = pytest.mark.parametrize("codec", COMPRESS)


def content(data: bytes, codec: str) -> tuple[bytes, str]:
    """What can be read, and the damage after it."""
    stream, found = Decompressed(io.BytesIO(data), codec), b""
    try:
        while piece := stream.read(1000):
            found += piece
    except Damaged as damage:
        return found, str(damage)
    return found, ""


@codecs
@settings(max_examples=20)
@given(pieces=st.lists(st.binary(max_size=5000), min_size=1, max_size=4), padding=st.sampled_from([b"", bytes(8)]))
def test_members_and_padding(codec: str, pieces: list[bytes], padding: bytes) -> None:
    data = b"".join(COMPRESS[codec](piece) + padding for piece in pieces)
    assert content(data, codec) == (b"".join(pieces), "")


@codecs
@pytest.mark.parametrize("missing", [1, 5])
def test_a_cut_in_the_trailer_loses_nothing(codec: str, missing: int) -> None:
    found, damage = content(COMPRESS[codec](TEXT)[:-missing], codec)
    assert damage == "the file is cut off"
    if codec in ("gz", "xz"):  # the blocks of the others come whole or not at all
        assert found == TEXT
    assert content(b"", codec) == (b"", "the file is cut off")


def test_what_is_before_a_wrong_byte_is_given_out() -> None:
    data = bytearray(gzip.compress(TEXT, mtime=0))
    data[-8] ^= 1  # the check sum
    found, damage = content(bytes(data), "gz")
    assert damage
    assert found == TEXT[: len(found)]
    assert len(found) > len(TEXT) - 6000


@codecs
def test_garbage(codec: str) -> None:
    for data in (b"plain text\n" * 50, COMPRESS[codec](TEXT) + b"garbage at the end"):
        assert content(data, codec)[1]
