"""A token counter: words between spaces."""

import re
from collections.abc import Sequence

from raptor_core import Settings


class Words:
    """Counter that counts each word as one token."""

    fingerprint = "words-between-spaces-1"

    def __init__(self, settings: Settings) -> None:
        """Take the settings."""

    def count(self, texts: Sequence[str]) -> list[int]:
        """Return the number of words of each text."""
        return [len(text.split()) for text in texts]

    def token_spans(self, text: str) -> list[tuple[int, int]]:
        """Return the start and end of each word."""
        return [match.span() for match in re.finditer(r"\S+", text)]
