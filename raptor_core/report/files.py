"""Names of files for names of trees and partitions."""

from __future__ import annotations

import unicodedata

from raptor_core.identity import bounded, percent_encoded

_PLAIN = frozenset(" -_.,()=@+")


def safe_name(name: str) -> str:
    """A name of a folder, or of a file but for its ending, that no other name has.

    Letters, digits and a few marks stay, in any script; all else is percent-encoded, "%" and a
    leading point too.
    """
    safe = "".join(char if _is_safe(char) else percent_encoded(char) for char in name) or "%"
    if safe[0] in ". ":
        safe = percent_encoded(safe[0]) + safe[1:]
    return bounded(safe, "report", name)


def _is_safe(char: str) -> bool:
    return char in _PLAIN or unicodedata.category(char)[0] in "LNM"
