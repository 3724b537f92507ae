"""A digest of a whole Parquet file, kept in its own footer: what tells that a byte of it changed.

Parquet's own checks cover neither footer nor, as they are written by default, pages: most single
changed bytes give other rows without an error.
"""

from __future__ import annotations

import hashlib

from raptor_core.errors import DamagedTableError

SEAL = "raptor-seal"
"""Name of the entry in the footer that holds the digest, behind ``_MARK``."""

_MARK = b"raptor-sha256:"
_N_HEX = 64
EMPTY = _MARK.decode() + "0" * _N_HEX
"""What stands there until ``seal`` writes the digest."""


def seal(data: bytes) -> bytes:
    """A file whose footer holds ``EMPTY``, with the digest of its other bytes in that place."""
    at = _place(data)
    if at is None:
        raise AssertionError("the footer has a place for the digest")
    return data[:at] + _digest(data, at) + data[at + _N_HEX :]


def check_seal(data: bytes, path: str) -> None:
    """Refuse a file that is not as it was written; one without a digest passes.

    Raises:
        DamagedTableError: naming ``path``.
    """
    at = _place(data)
    if at is not None and data[at : at + _N_HEX] != _digest(data, at):
        raise damaged(path, "its bytes are not those that were written")


def damaged(path: str, reason: object) -> DamagedTableError:
    """The error for a table that cannot be used, with the remedy."""
    return DamagedTableError(
        f"the table {path} is damaged: {reason}. Materialize its asset again (`raptor build "
        "--force` does): finished summaries and vectors are taken from the vector store"
    )


def _place(data: bytes) -> int | None:
    """Where the digest stands: after the last mark, which is in the footer."""
    mark_at = data.rfind(_MARK)
    at = mark_at + len(_MARK)
    return at if mark_at >= 0 and at + _N_HEX <= len(data) else None


def _digest(data: bytes, at: int) -> bytes:
    view = memoryview(data)
    hashed = hashlib.sha256(view[:at])
    hashed.update(view[at + _N_HEX :])
    return hashed.hexdigest().encode()
