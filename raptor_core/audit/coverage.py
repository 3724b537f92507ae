"""Coverage: how much of each child its summary contains.

Words are weighted by rarity among the siblings, so that topic words, which all of them share, count
little. A model may paraphrase, so few common words suffice.
"""

import math
from collections import Counter
from collections.abc import Sequence

from raptor_core.audit.base import sentence_texts
from raptor_core.audit.collage import folded
from raptor_core.models.summarizing.sentence import content_terms

COVERED_SHARE = 0.1
"""Minimum share of a child's weighted words in its summary to count as covered."""


def word_shares(summary: str, children: Sequence[str]) -> list[float]:
    """Return the weighted share of each child's content words that are in the summary.

    The share of a child without content words is 1.
    """
    terms = [content_terms(child) for child in children]
    counts = Counter(term for of_child in terms for term in of_child)
    weights = {term: math.log((len(children) + 1) / (n + 0.5)) for term, n in counts.items()}
    written = content_terms(summary)

    def weigh(some: frozenset[str]) -> float:
        return math.fsum(weights[term] for term in some)  # exact in any order

    return [weigh(each & written) / weigh(each) if each else 1.0 for each in terms]


COPY_SHARE = 0.8
"""Minimum share of a summary, and of a child, in common sentences for the summary to be a copy."""


def copied_child(summary: str, children: Sequence[str]) -> int | None:
    """Return the index of the child that the summary repeats sentence by sentence, or None."""
    pieces = [folded(sentence) for sentence in sentence_texts(summary)]
    n_chars = sum(map(len, pieces))
    for row, child in enumerate(map(folded, children)):
        n_shared = sum(len(piece) for piece in pieces if piece in child)
        if n_shared >= COPY_SHARE * max(n_chars, len(child)):
            return row
    return None
