"""Plain text: the file as it is."""

from __future__ import annotations

from raptor_core.documents.formats.encoding import decode
from raptor_core.documents.formats.parsed import Parsed, clean_text


def parse_text(data: bytes) -> Parsed:
    """The text unchanged but for newlines and control characters; no title, no sections.

    Raises:
        UnreadableError: binary data, or an unknown encoding.
    """
    return Parsed(clean_text(decode(data)))
