"""Token counts of any span of a text, from one tokenization of the whole."""

from __future__ import annotations

import re

import numpy as np
from numpy.typing import NDArray

from raptor_core.tokens.base import TokenCounter

# A token longer than this is an unknown word to its tokenizer. It weighs one more for every
# further 32 characters, so that a word of 100,000 characters does not pass for one token.
LONG_TOKEN_CHARS = 32

_WORD = re.compile(r"\S")


class Measure:
    """Weights, in tokens, of spans of one text.

    The weight of a span is the number of tokens that begin in it, white space at a token's
    head left out. It equals the count of the span's own text but where a tokenizer reads across
    the span's ends, so limits are verified on the text itself.
    """

    def __init__(self, text: str, counter: TokenCounter) -> None:
        anchors: list[int] = []
        added: list[int] = []
        for start, end in counter.token_spans(text):
            anchor = _anchor(text, start, end)
            anchors.append(anchor)
            more = range(anchor + LONG_TOKEN_CHARS, end, LONG_TOKEN_CHARS)
            anchors += more
            added += more
        self._anchors: NDArray[np.int64] = np.maximum.accumulate(np.array(anchors, dtype=np.int64))
        self._added: NDArray[np.int64] = np.array(added, dtype=np.int64)

    def weights(self, starts: list[int], ends: list[int]) -> list[int]:
        """Weight of each span, in tokens."""
        first, last = np.searchsorted(self._anchors, starts), np.searchsorted(self._anchors, ends)
        found: list[int] = (last - first).tolist()
        return found

    def places(self, start: int, end: int) -> list[int]:
        """Characters of the span at which a unit of weight begins, ascending, repeats included."""
        first, last = np.searchsorted(self._anchors, [start, end])
        found: list[int] = self._anchors[first:last].tolist()
        return found

    def has_long_tokens(self, start: int, end: int) -> bool:
        """Whether a token of the span weighs more than one."""
        first, last = np.searchsorted(self._added, [start, end])
        return bool(last > first)


def _anchor(text: str, start: int, end: int) -> int:
    """First character of a token that is not white space; its start where there is none."""
    if end > start and text[start].isspace():
        found = _WORD.search(text, start, end)
        return found.start() if found else start
    return start
