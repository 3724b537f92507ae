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
        self._text = text
        spans = np.array(counter.token_spans(text), dtype=np.int64).reshape(-1, 2)
        self.anchors: NDArray[np.int64] = _anchors(text, spans)
        extra = np.maximum(spans[:, 1] - self.anchors - 1, 0) // LONG_TOKEN_CHARS
        self._extra = np.concatenate([[0], np.cumsum(extra)])
        self._total = np.concatenate([[0], np.cumsum(1 + extra)])
        self.ends: NDArray[np.int64] = spans[:, 1]

    def weights(self, starts: list[int], ends: list[int]) -> list[int]:
        """Weight of each span, in tokens."""
        first = np.searchsorted(self.anchors, starts)
        last = np.searchsorted(self.anchors, ends)
        found: list[int] = (self._total[last] - self._total[first]).tolist()
        return found

    def has_long_tokens(self, start: int, end: int) -> bool:
        """Whether a token of the span weighs more than one."""
        first, last = np.searchsorted(self.anchors, [start, end])
        return bool(self._extra[last] > self._extra[first])


def _anchors(text: str, spans: NDArray[np.int64]) -> NDArray[np.int64]:
    """First character of each token that is not white space; its start where there is none."""
    anchors = spans[:, 0].copy()
    for row, (start, end) in enumerate(spans.tolist()):
        if end > start and text[start].isspace():
            found = _WORD.search(text, start, end)
            if found is not None:
                anchors[row] = found.start()
    return np.maximum.accumulate(anchors) if len(anchors) else anchors
