"""Cleaning of text: invisible characters, white space, and how numbers are written."""

import math
import re

IDEOGRAPHIC = (
    "\u3040-\u30ff\u31f0-\u31ff\u3400-\u4dbf\u4e00-\u9fff\uf900-\ufaff\U00020000-\U0003ffff"
)
"""Chinese and Japanese letters, as the inside of a character class, like the next ones."""
SYLLABIC = (
    "\u0e00-\u0eff\u1000-\u109f\u1780-\u17ff\u1950-\u19df\u1a20-\u1aaf\u1b00-\u1b7f\ua980-\ua9ff"
    "\uaa60-\uaa7f"
)
"""Thai, Lao, Burmese, Khmer and related scripts."""
UNSPACED = f"{IDEOGRAPHIC}{SYLLABIC}"
"""Scripts without spaces between words."""

_TO_CLEAN = re.compile(r"[\x00-\x08\x0b-\x1f\x7f-\x9f\xad\u200b\u2060-\u2064\ufeff\ud800-\udfff]")
_ZERO_WIDTH = r"[\xad\u200b\u2060-\u2064\ufeff]"
_INVISIBLE = re.compile(  # longer runs stay, for the check of injections
    rf"(?<![{SYLLABIC}])(?<!{_ZERO_WIDTH}){_ZERO_WIDTH}{{1,7}}(?!{_ZERO_WIDTH})"
    r"|\x1b\[[0-9;?]*[A-Za-z]"  # colours of a terminal
)
_CONTROL = re.compile(r"[\x00-\x08\x0b-\x1f\x7f-\x9f]")
_SURROGATE = re.compile(r"[\ud800-\udfff]")
_SIGNS = str.maketrans("", "", "%$€£¥ \xa0\u202f',.()")


def clean_text(text: str) -> str:
    r"""Normalize newlines to ``\n``, and remove invisible characters.

    A byte order mark, soft hyphens and zero-width spaces are removed, but between letters of Thai,
    Lao, Burmese and Khmer, zero-width spaces stay. Other control characters except ``\n`` and
    ``\t`` become spaces, and lone surrogates U+FFFD.
    """
    if not _TO_CLEAN.search(text):
        return text
    text = text.removeprefix("\ufeff")
    if "\r" in text:
        text = text.replace("\r\n", "\n").replace("\r", "\n")
    text = _INVISIBLE.sub("", text)
    return _SURROGATE.sub("\ufffd", _CONTROL.sub(" ", text))


def control_character_share(text: str) -> float:
    """Return the share of control characters that are not white space, 0 to 1."""
    white = sum(text.count(char) for char in "\r\f\v\x85")
    return (len(_CONTROL.findall(text)) - white) / max(1, len(text))


def one_line(text: str) -> str:
    """Clean a text, fold white space to single spaces, and strip it."""
    return " ".join(clean_text(text).split())


def parse_exact_number(text: str) -> float | str:
    """Return a number, or the text if the number would be written differently, such as "1.10".

    A number that is too large for a float becomes infinite.
    """
    number = float(text)
    return number if math.isinf(number) or repr(number) == text else text


def is_number(cell: str) -> bool:
    """Return whether a cell is a number, possibly with signs and currency symbols."""
    return cell.strip("+- ").translate(_SIGNS).isdigit()
