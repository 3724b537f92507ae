"""Decoding of bytes by byte order mark, declared encoding, strict UTF-8, then detection."""

from __future__ import annotations

import codecs

from raptor_core.documents.formats.parsed import UnreadableError, control_share

MAX_CONTROL_SHARE = 0.1
"""Share of control characters above which text counts as binary data."""

_MARKS = (  # UTF-32 first: its little-endian mark begins with that of UTF-16
    (codecs.BOM_UTF32_LE, "utf-32"),
    (codecs.BOM_UTF32_BE, "utf-32"),
    (codecs.BOM_UTF8, "utf-8-sig"),
    (codecs.BOM_UTF16_LE, "utf-16"),
    (codecs.BOM_UTF16_BE, "utf-16"),
)
_NEVER_DECLARED = ("utf-16", "utf16", "utf-32", "utf32", "utf-7", "utf7", "idna", "punycode")
_WESTERN = "cp1252"


def decode(data: bytes, declared: str = "") -> str:
    """Return the text of a file, or raise UnreadableError for binary data.

    ``declared`` is the encoding that the file itself names.
    """
    text = _decode_marked(data)
    # A declaration in ASCII bytes proves that the file is neither UTF-16 nor UTF-32.
    usable = "" if declared.lower().startswith(_NEVER_DECLARED) else declared
    for encoding in (usable, _unmarked_utf16(data), "utf-8"):
        if text is None and encoding:
            text = _try_decode(data, encoding)
    if text is None:
        text = _detect(data)
    if control_share(text) > MAX_CONTROL_SHARE:
        raise UnreadableError("holds binary data, not text")
    return text


def _decode_marked(data: bytes) -> str | None:
    for mark, encoding in _MARKS:
        if data.startswith(mark):
            try:
                return data.decode(encoding)
            except UnicodeDecodeError as error:
                raise UnreadableError(
                    f"begins with the mark of {encoding} and is not valid in it "
                    f"(byte {error.start}: {error.reason})"
                ) from error
    return None


def _try_decode(data: bytes, encoding: str) -> str | None:
    try:
        return data.decode(encoding)
    except (UnicodeError, LookupError):
        return None


def _unmarked_utf16(data: bytes) -> str:
    """Return "utf-16-le" or "-be" for Latin text whose alternate bytes are zero, else ""."""
    half = max(1, len(data) // 2)
    even, odd = data[0::2].count(0) / half, data[1::2].count(0) / half
    if odd > 0.4 and even < 0.05:
        return "utf-16-le"
    return "utf-16-be" if even > 0.4 and odd < 0.05 else ""


def _detect(data: bytes) -> str:
    from charset_normalizer import from_bytes

    if b"\0" in data:
        raise UnreadableError("holds binary data, not text")
    matches = list(from_bytes(data))
    if not matches:
        raise UnreadableError("its encoding cannot be detected; save it as UTF-8")
    best = matches[0]
    for match in matches:
        # Short western texts fit a dozen code pages equally well; the most common is used.
        is_worse = match.chaos > best.chaos or match.coherence < best.coherence
        if _WESTERN in match.could_be_from_charset and not is_worse:
            western = _try_decode(data, _WESTERN)
            if western is not None:
                return western
    return str(best)
