"""Packed text of Dagster's events in SQLite: an eighth of its JSON, by zlib with a dictionary.

The dictionary holds the JSON that all events share. Events that Dagster writes itself are plain.
"""

import zlib
from pathlib import Path

_DICTIONARY = Path(__file__).with_suffix(".txt").read_bytes().rstrip(b"\n")
"""Dictionary that must never change: packed events can be read only with it."""


def pack(text: str) -> bytes:
    """Pack an event's JSON."""
    packer = zlib.compressobj(zdict=_DICTIONARY)
    return packer.compress(text.encode()) + packer.flush()


def unpack(kept: bytes | str) -> str:
    """Unpack an event's JSON, or raise zlib.error if it is damaged."""
    if isinstance(kept, str):
        return kept
    return zlib.decompressobj(zdict=_DICTIONARY).decompress(kept).decode()
