"""Interface of a token counter, and the counter of words."""

import re
from collections.abc import Iterable, Sequence
from typing import Protocol

from raptor_core.identity import fingerprint
from raptor_formats.text import IDEOGRAPHIC, SYLLABIC, UNSPACED


class TokenCounter(Protocol):
    """Counter of the tokens that a model would read, without special tokens."""

    @property
    def fingerprint(self) -> str:
        """Fingerprint of the vocabulary and its rules."""

    def count(self, texts: Sequence[str]) -> list[int]:
        """Return the number of tokens of each text, in order."""

    def token_spans(self, text: str) -> Iterable[tuple[int, int]]:
        """Return character offsets ``(start, end)`` of each token, in order, end exclusive.

        Offsets lie on character boundaries; a token inside a character repeats its span.
        """


MAX_CHARS = 32
"""Longest run without a space that counts as one word."""
UNSPACED_CHARS = (2, 4)
"""Characters that count as one word: in Chinese and Japanese, and in Thai, Lao, Burmese, Khmer."""
# Tokens cover everything but white space, so they differ from ``text.words``.
_WORD = re.compile(
    f"[{IDEOGRAPHIC}]{{1,{UNSPACED_CHARS[0]}}}|[{SYLLABIC}]{{1,{UNSPACED_CHARS[1]}}}"
    rf"|[^\s{UNSPACED}]{{1,{MAX_CHARS}}}"
)


class WordCounter:
    """Counter of words between spaces; in scripts without spaces it counts characters."""

    @property
    def fingerprint(self) -> str:
        """Fingerprint of the rule."""
        return fingerprint("words", {"max_chars": MAX_CHARS, "unspaced_chars": UNSPACED_CHARS})

    def count(self, texts: Sequence[str]) -> list[int]:
        """Return the number of words of each text, in order."""
        return [len(_WORD.findall(text)) for text in texts]

    def token_spans(self, text: str) -> list[tuple[int, int]]:
        """Return character offsets of each word; see ``TokenCounter.token_spans``."""
        return [match.span() for match in _WORD.finditer(text)]
