"""Coverage of children by their summary: how much of each child the summary holds.

Words are weighed by rarity among the siblings, so that the words of the topic, which all of them
share, count little. A model may also write other words, so a direction near the summary's counts.
"""

import math
from collections import Counter
from collections.abc import Sequence

from raptor_core.audit.base import sentence_texts
from raptor_core.audit.collage import folded
from raptor_core.models.summarizing.sentence import content_terms

HELD_SHARE = 0.15
"""Share of a child's weighed words from which its summary holds something of it."""
HELD_COSINE = 0.65
"""Cosine of a child to its summary from which half of ``HELD_SHARE`` suffices."""


def word_shares(summary: str, children: Sequence[str]) -> list[float]:
    """Return the share of each child's weighed content words in the summary; 1 without words."""
    terms = [content_terms(child) for child in children]
    counts = Counter(term for of_child in terms for term in of_child)
    weights = {term: math.log((len(children) + 1) / (n + 0.5)) for term, n in counts.items()}
    written = content_terms(summary)

    def weigh(some: frozenset[str]) -> float:
        return math.fsum(weights[term] for term in some)  # exact in any order

    return [weigh(each & written) / weigh(each) if each else 1.0 for each in terms]


COPY_SHARE = 0.8
"""Share of a summary and of a child that sentences of both make up, from which it is a copy."""


def copied_child(summary: str, children: Sequence[str]) -> int | None:
    """Return the row of the child that the summary repeats sentence by sentence, or None."""
    pieces = [folded(sentence) for sentence in sentence_texts(summary)]
    n_chars = sum(map(len, pieces))
    for row, child in enumerate(map(folded, children)):
        n_shared = sum(len(piece) for piece in pieces if piece in child)
        if n_shared >= COPY_SHARE * max(n_chars, len(child)):
            return row
    return None


def held_children(
    summary: str, children: Sequence[str], cosines: Sequence[float] | None = None
) -> list[bool]:
    """Return for each child whether the summary holds something of it, by words and ``cosines``."""
    shares = word_shares(summary, children)
    nearness = cosines if cosines is not None else [0.0] * len(children)
    return [
        share >= HELD_SHARE or (cosine >= HELD_COSINE and share >= HELD_SHARE / 2)
        for share, cosine in zip(shares, nearness, strict=True)
    ]
