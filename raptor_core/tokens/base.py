"""The seam for token counters, and the counter of words."""

from __future__ import annotations

import re
from collections.abc import Sequence
from typing import Protocol

from raptor_core.identity import fingerprint


class TokenCounter(Protocol):
    """Counts the tokens that a model would read, special tokens left out."""

    @property
    def fingerprint(self) -> str:
        """Fingerprint of the vocabulary and its rules."""

    def count(self, texts: Sequence[str]) -> list[int]:
        """Number of tokens of each text, in order."""

    def token_spans(self, text: str) -> list[tuple[int, int]]:
        """Character offsets ``(start, end)`` of each token of ``text``, in order, end exclusive.

        Offsets lie on character boundaries; a token inside a character repeats its span.
        """


MAX_CHARS = 32
"""A longer run without a space counts as several words; scripts without spaces are such runs."""

_WORD = re.compile(rf"\S{{1,{MAX_CHARS}}}")


class WordCounter:
    """Words are what stands between spaces."""

    @property
    def fingerprint(self) -> str:
        """Fingerprint of the rule."""
        return fingerprint("words", {"max_chars": MAX_CHARS})

    def count(self, texts: Sequence[str]) -> list[int]:
        """Number of words of each text, in order."""
        return [len(_WORD.findall(text)) for text in texts]

    def token_spans(self, text: str) -> list[tuple[int, int]]:
        """Character offsets of each word; see ``TokenCounter.token_spans``."""
        return [match.span() for match in _WORD.finditer(text)]
