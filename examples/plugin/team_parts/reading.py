"""A reader, which answers questions: it quotes the best passage."""

from collections.abc import Sequence

from raptor_core import Settings
from raptor_core.models.reading import Answer, Passage


class BestPassage:
    """Reader that answers with the passage that shares most words with the question."""

    def __init__(self, settings: Settings) -> None:
        """Take the settings."""

    def read(self, question: str, passages: Sequence[Passage]) -> Answer:
        """Return the best passage as an answer that cites it."""
        asked = set(question.casefold().split())
        best = max(passages, key=lambda each: len(asked & set(each.text.casefold().split())))
        return Answer(f"{best.text} [1]", (best,))
