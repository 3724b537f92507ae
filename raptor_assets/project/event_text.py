"""The text of Dagster's events as it is kept in SQLite: deflated, to an eighth of its JSON.

Most of an event's JSON is the same in all of them: a dictionary that holds it does more than the
method. Whoever reads the tables by SQL unpacks; what Dagster writes by itself is plain text.
"""

from __future__ import annotations

import zlib
from pathlib import Path

_DICTIONARY = Path(__file__).with_suffix(".txt").read_bytes().rstrip(b"\n")
"""Never to be changed: what was packed with it can be read with it alone."""


def pack(text: str) -> bytes:
    """An event's JSON as it is kept."""
    packer = zlib.compressobj(zdict=_DICTIONARY)
    return packer.compress(text.encode()) + packer.flush()


def unpack(kept: bytes | str) -> str:
    """An event's JSON, given what is kept.

    Raises:
        zlib.error: it is damaged.
    """
    if isinstance(kept, str):
        return kept
    return zlib.decompressobj(zdict=_DICTIONARY).decompress(kept).decode()
