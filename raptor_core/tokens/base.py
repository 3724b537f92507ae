"""The seam for token counters."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Protocol


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
