"""Detection of collages: texts that consist of pieces of other texts, like extractive summaries."""

import re
from collections.abc import Sequence
from functools import lru_cache

from raptor_core.identity import normalize_text
from raptor_core.text.sentence_ends import CLOSERS, MARKS, WIDE_MARKS
from raptor_core.text.words import words

MIN_PIECE_CHARS = 8
# Clauses are units, too, because a collage may omit the rest of a sentence.
_UNIT_END = re.compile(rf"\n|[{MARKS}{WIDE_MARKS}:;：；][{CLOSERS}]*\s*")


def is_collage(text: str, children: Sequence[str], min_piece_chars: int = MIN_PIECE_CHARS) -> bool:
    """Return whether ``text`` consists of pieces of the texts ``children``.

    A piece has at least ``min_piece_chars`` letters, or is a complete line or sentence.
    """
    if not children:
        return False
    sources = [_letters_only(child) for child in children]
    units: set[str] = set()
    rest = _letters_only(text)
    while rest:
        length = max(_longest_prefix_chars(rest, source) for source in sources)
        if length < min(min_piece_chars, len(rest)):
            units = units or {
                _letters_only(unit) for text in children for unit in _UNIT_END.split(text)
            }
            length = max((n for n in range(1, length + 1) if rest[:n] in units), default=0)
        if not length:
            return False
        rest = rest[length:]
    return True


def fold_case_and_spaces(text: str) -> str:
    """Return ``text`` in lower case with single spaces, so that equal words compare equal."""
    return normalize_text(text).casefold()


def _longest_prefix_chars(text: str, source: str) -> int:
    """Return the length of the longest prefix of ``text`` that ``source`` contains."""
    low, high = 0, len(text)
    while low < high:
        middle = (low + high + 1) // 2
        low, high = (middle, high) if text[:middle] in source else (low, middle - 1)
    return low


@lru_cache(maxsize=4096)  # because a child is compared with every sentence of its parents
def _letters_only(text: str) -> str:
    return "".join(words(fold_case_and_spaces(text)))
