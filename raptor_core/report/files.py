"""Names of files for names of trees and partitions."""

from __future__ import annotations

import unicodedata

from raptor_core.identity import digest

MAX_NAME_BYTES = 200
"""Longer names are cut and completed by a digest: file systems end at 255 bytes."""

_KEPT_BYTES = 150
_PLAIN = frozenset(" -_.,()=@+")


def report_file_name(name: str) -> str:
    """A file name, ending in ``.html``, that no other name has.

    Letters, digits and a few marks stay, in any script; all else is percent-encoded, "%" and a
    leading point too. A name over ``MAX_NAME_BYTES`` keeps its beginning and gets a digest.
    """
    return f"{safe_name(name)}.html"


def safe_name(name: str) -> str:
    """The same without the ending, for a folder."""
    safe = "".join(map(_safe, name)) or "%"
    if safe[0] in ". ":
        safe = f"%{ord(safe[0]):02X}{safe[1:]}"
    if len(safe.encode()) <= MAX_NAME_BYTES:
        return safe
    kept = safe.encode()[:_KEPT_BYTES].decode(errors="ignore")
    return f"{kept}%~{digest('report', name)}"


def _safe(char: str) -> str:
    if char in _PLAIN or unicodedata.category(char)[0] in "LNM":
        return char
    return "".join(f"%{byte:02X}" for byte in char.encode("utf-8", "surrogatepass"))
