"""A reranker: passages that share more words with the question come first."""

from collections.abc import Sequence

from raptor_core.settings.retrieval import RerankerSettings


class Overlap:
    """Reranker that counts the words of the question in each passage."""

    def __init__(self, settings: RerankerSettings) -> None:
        """Take the settings of ``[retrieval.reranker]``."""

    def scores(self, question: str, texts: Sequence[str]) -> Sequence[float]:
        """Return the number of shared words of each text."""
        asked = set(question.casefold().split())
        return [float(len(asked & set(text.casefold().split()))) for text in texts]
