"""Decoding of text: by byte order mark, declared encoding, UTF-8, and last by its letters.

Invalid bytes become U+FFFD and are counted. ``code_pages`` detects the code page of 8-bit texts
that declare nothing.
"""

import codecs
import re
from collections import Counter
from collections.abc import Iterator
from dataclasses import dataclass

from raptor_formats.base import DOUBT, ENCODING, MetadataValue, UnreadableError
from raptor_formats.encoding.code_pages import guess_code_page
from raptor_formats.text import control_character_share

MAX_CONTROL_SHARE = 0.1
"""Share of control characters above which text is rejected as binary data."""

_MARKS = (  # UTF-32 first: its little-endian mark begins with that of UTF-16
    (codecs.BOM_UTF32_LE, "utf-32"),
    (codecs.BOM_UTF32_BE, "utf-32"),
    (codecs.BOM_UTF8, "utf-8-sig"),
    (codecs.BOM_UTF16_LE, "utf-16"),
    (codecs.BOM_UTF16_BE, "utf-16"),
)
_NEVER_DECLARED = ("utf-16", "utf-32", "utf-7", "idna", "punycode")
_DECLARED = re.compile(
    rb"""<meta[^>]*?charset\s*=\s*["']?\s*([\w.:-]+)|"""
    rb"""\A\s*<\?xml[^>]*?encoding\s*=\s*["']([\w.:-]+)|"""
    rb"""\A(?:[^\n]*\n)?[^\n]*coding[:=][ \t]*([\w.-]+)""",
    re.IGNORECASE,
)
_DECLARED_WITHIN_BYTES = 1024  # as in the HTML standard
_WIDER = {  # as browsers read them
    "ascii": "",
    "iso8859-1": "cp1252",
    "iso8859-9": "cp1254",
    "iso8859-11": "cp874",
    "tis-620": "cp874",
    "gb2312": "gb18030",
    "gbk": "gb18030",
    "big5": "big5hkscs",
    "shift_jis": "cp932",
    "euc_kr": "cp949",
}
_PAGE_NUMBER = re.compile(r"(?i)^(?:(?:ms|cs)[-_]?)?(?:windows|win|cp|ibm|dos)[-_ ]?(?=\d{3,5}$)")
_UNMARKED = ("utf-32-le", "utf-32-be", "utf-16-le", "utf-16-be")
_EAST_ASIAN = frozenset([0x00, 0x20, 0x30, *range(0x4E, 0xA0), 0xFF])
_HANGUL = frozenset([0x00, 0x20, 0x30, *range(0xAC, 0xD8), 0xFF])
_MIN_COMMON = 0.9
_MAX_INVALID = 0.1


@dataclass(frozen=True, slots=True)
class Decoded:
    """Text, with ``encoding`` if it was guessed and ``doubt`` in words; both may be empty."""

    text: str
    encoding: str = ""
    doubt: str = ""

    @property
    def metadata(self) -> dict[str, MetadataValue]:
        """Metadata of the document; empty if the decoding is certain."""
        values = {ENCODING: self.encoding, DOUBT: self.doubt}
        return {key: value for key, value in values.items() if value}


def find_declared_encoding(data: bytes) -> str:
    """Return the encoding that a text declares in a meta element, XML, or a coding comment."""
    match = _DECLARED.search(data[:_DECLARED_WITHIN_BYTES])
    declared = next(filter(None, match.groups()), b"").decode("ascii", "ignore") if match else ""
    # A declaration in ASCII bytes proves that the file is neither UTF-16 nor UTF-32.
    return "" if _is_utf16_or_utf32(declared) else declared


def _is_utf16_or_utf32(declared: str) -> bool:
    try:
        return codecs.lookup(declared).name.startswith(_NEVER_DECLARED)
    except LookupError:
        return False


def decode(data: bytes, declared: str = "") -> str:
    """Decode bytes, or raise UnreadableError for binary data; see ``decode_with_doubts``."""
    return decode_with_doubts(data, declared).text


def decode_with_doubts(data: bytes, declared: str = "", forced: str = "") -> Decoded:
    """Decode bytes and note doubts, or raise UnreadableError for binary data.

    ``declared`` is used if the bytes are valid in it; ``forced`` unless they begin with a byte
    order mark.
    """
    decoded = next(filter(None, _try_encodings(data, find_codec(declared), forced)))
    if control_character_share(decoded.text) > MAX_CONTROL_SHARE:
        raise UnreadableError("contains binary data, not text")
    return decoded


def convert_to_utf8(data: bytes, forced: str = "") -> tuple[bytes, dict[str, MetadataValue]]:
    """Convert a text file to UTF-8, with metadata if its bytes had to be changed."""
    is_narrow = b"\0" not in data and b"\x1b$" not in data
    if not forced and is_narrow and _decode_strictly(data, "utf-8"):
        return data, {}
    decoded = decode_with_doubts(data, find_declared_encoding(data), forced)
    return codecs.BOM_UTF8 + decoded.text.encode("utf-8", "replace"), decoded.metadata


def _try_encodings(data: bytes, declared: str, forced: str) -> Iterator[Decoded | None]:
    """Yield possible readings, the most certain first; the last one is not None."""
    yield _decode_by_byte_order_mark(data)
    yield _decode_replacing_invalid(data, forced) if forced else None
    if not data.isascii():
        yield _decode_strictly(data, "utf-8")
    yield _decode_strictly(data, declared) if declared else None
    if b"\x1b$" in data:
        yield _decode_strictly(data, "iso2022_jp_2") or _decode_strictly(data, "iso2022_kr")
    if b"\0" in data:
        yield _decode_unmarked_utf16_or_32(data)
    yield _decode_strictly(data, "utf-8")
    yield _decode_nearly_valid_utf8(data)
    if b"\0" in data:
        raise UnreadableError("contains binary data, not text")
    yield _decode_if_nearly_valid(data, declared) if declared else None
    yield _decode_by_guess(data)


def find_codec(declared: str) -> str:
    """Return the codec of a declared name, widened as browsers do; "" if the name is unknown."""
    name = re.sub(r"(?i)^(?:x-)+(?=\w)|(?<=8859-\d)-[ie]$", "", declared.strip())
    name = _PAGE_NUMBER.sub("cp", name)
    try:
        "a".encode(name or "ascii")
        codec = codecs.lookup(name or "ascii").name
    except (LookupError, UnicodeError, ValueError):
        return ""
    return _WIDER.get(codec, codec)


def _decode_by_byte_order_mark(data: bytes) -> Decoded | None:
    for mark, encoding in _MARKS:
        if data.startswith(mark):
            decoded = _decode_replacing_invalid(data, encoding)
            n_invalid = decoded.text.count("\ufffd")
            if decoded.doubt and n_invalid > _MAX_INVALID * len(decoded.text):
                raise UnreadableError(
                    f"begins with the byte order mark of {encoding} but is not valid in it "
                    f"({n_invalid} of {len(decoded.text)} characters)"
                )
            return decoded
    return None


def _decode_strictly(data: bytes, encoding: str) -> Decoded | None:
    try:
        return Decoded(data.decode(encoding))
    except (UnicodeError, LookupError):
        return None


def _decode_replacing_invalid(data: bytes, encoding: str) -> Decoded:
    return _decode_strictly(data, encoding) or _note_invalid_chars(
        data.decode(encoding, "replace"), encoding
    )


def _note_invalid_chars(text: str, encoding: str) -> Decoded:
    n_invalid = text.count("\ufffd")
    n_special = sum(not char.isascii() for char in text)
    doubt = f"{n_invalid} of {n_special} characters beyond ASCII are not valid in {encoding}"
    return Decoded(text, doubt=doubt)


def _decode_unmarked_utf16_or_32(data: bytes) -> Decoded | None:
    """Decode UTF-16 or UTF-32 without a byte order mark, if its letters are of one script."""
    shares = {}
    for encoding in _UNMARKED:
        decoded = _decode_strictly(data, encoding)
        if decoded and decoded.text:
            shares[_share_in_one_script(decoded.text, data)] = decoded
    best = max(shares, default=0.0)
    return shares[best] if best >= _MIN_COMMON else None


def _share_in_one_script(text: str, data: bytes) -> float:
    """Return the share of characters in the Unicode blocks of one script, 0 to 1."""
    blocks = Counter(ord(char) >> 8 for char in text if ord(char) > 0x1F or char in "\t\n\r\f")
    plain = {0x00, 0x20, *(block for block, _ in blocks.most_common(2) if block < 0x20)}
    scripts: list[frozenset[int] | set[int]] = [plain]
    if sum(byte > 0x7F or 0 < byte < 9 for byte in data) > len(data) / 5:  # else Latin letters
        scripts += [_EAST_ASIAN, _HANGUL]
    return max(sum(blocks[block] for block in script) for script in scripts) / len(text)


def _decode_nearly_valid_utf8(data: bytes) -> Decoded | None:
    """Decode a text in which most multibyte sequences are valid UTF-8."""
    text = data.decode("utf-8", "replace")
    n_invalid = text.count("\ufffd")
    n_valid = sum(not char.isascii() for char in text) - n_invalid
    return _note_invalid_chars(text, "UTF-8") if n_valid >= n_invalid else None


def _decode_if_nearly_valid(data: bytes, encoding: str) -> Decoded | None:
    text = data.decode(encoding, "replace")
    n_high = sum(byte > 0x7F for byte in data)
    is_near = text.count("\ufffd") <= _MAX_INVALID * n_high
    return _note_invalid_chars(text, encoding) if is_near else None


def _decode_by_guess(data: bytes) -> Decoded:
    page = guess_code_page(data)
    decoded = _decode_replacing_invalid(data, page.encoding)
    if decoded.text.count("\ufffd") > _MAX_INVALID * len(decoded.text):
        raise UnreadableError(
            "its encoding cannot be detected; save it as UTF-8, or set source.encoding"
        )
    doubt = decoded.doubt
    if not page.is_unambiguous:
        doubt = doubt or f"read as {page.encoding}, which neither the file nor its letters prove"
    return Decoded(decoded.text, page.encoding, doubt)
