"""The sentences of a context that are nearest to a question: evidence, no answer."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from raptor_core.chunking.sentences import sentences
from raptor_core.models.embedding.base import Embedder
from raptor_core.models.reading.reader import Passage

MIN_WORDS = 4


@dataclass(frozen=True, slots=True)
class Quote:
    """A sentence as it stands in a passage, and its cosine similarity to the question.

    ``span`` holds its first character in the document and the one after the last; None where
    the passage is a summary.
    """

    text: str
    passage: Passage
    similarity: float
    span: tuple[int, int] | None


def best_sentences(
    question: str, passages: Sequence[Passage], embedder: Embedder, most: int = 3
) -> list[Quote]:
    """The sentences nearest to the question, best first, each distinct one once.

    Needs no chat endpoint. Sentences of fewer than four words are left out.

    Raises:
        ModelError, EndpointError: as the embedder does.
    """
    quoted: dict[str, tuple[Passage, int, int]] = {}
    for passage in passages:
        for start, end in sentences(passage.text):
            text = passage.text[start:end]
            if len(text.split()) >= MIN_WORDS or passage.text.strip() == text:
                known = quoted.get(text)
                if known is None or (known[0].span is None and passage.span is not None):
                    quoted[text] = (passage, start, end)
    if not quoted:
        return []
    texts = list(quoted)
    similarity = embedder.embed(texts) @ embedder.embed_queries([question])[0]
    best = sorted(range(len(texts)), key=lambda row: (-float(similarity[row]), texts[row]))[:most]
    return [_quote(texts[row], *quoted[texts[row]], float(similarity[row])) for row in best]


def _quote(text: str, passage: Passage, start: int, end: int, similarity: float) -> Quote:
    at = passage.span[0] if passage.span else None
    span = None if at is None else (at + start, at + end)
    return Quote(text, passage, similarity, span)
