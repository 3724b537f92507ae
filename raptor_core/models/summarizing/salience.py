"""Choice of the sentences that say most about a cluster, by word coverage.

A set of sentences gains something for each content word in it. A word gains more if it is frequent
in the cluster, and less each time it is repeated (submodular coverage: Lin and Bilmes, ACL 2011;
Gillick and Favre, 2009). For such a function, greedy choice is near the optimum, and diminishing
returns avoid redundancy. No step compares all pairs of sentences.
"""

from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from raptor_core.models.summarizing.sentence import SummarySentence
from raptor_core.threads import one_blas_thread

MAX_TERMS = 2048
"""Maximum number of terms of a cluster, the most frequent; it limits the memory."""
REPEAT = 0.5
"""Factor of a word's gain each time that it is repeated."""
SPREAD = 0.5
"""Penalty on a child's other sentences for each sentence taken from it."""
COST_POWER = 0.8
"""Exponent of the tokens that divide a sentence's gain: 0 favours long, 1 short sentences."""
DEPENDENT_WEIGHT = 0.7
"""Weight of a sentence that depends on the one before it, if that is not in the summary."""
DUPLICATE_OVERLAP = 0.7
"""Minimum share of common terms in the shorter of two sentences that are duplicates."""
Floats = NDArray[np.float64]


@dataclass(frozen=True, slots=True)
class CandidateSentence:
    """A sentence of the cluster, with its child's row and its position among all sentences."""

    sentence: SummarySentence
    child_row: int
    order: int
    centrality: float


@dataclass(frozen=True, slots=True)
class LengthBudget:
    """Desired and maximum length of a summary, in tokens."""

    target: float
    limit: float

    def accepts(self, used: float, costs: Floats) -> NDArray[np.bool_]:
        """Return for each cost whether it is within the limit and brings the target nearer."""
        within: NDArray[np.bool_] = used + costs <= self.limit
        return within if used == 0 else within & (used + costs / 2 <= self.target)


@one_blas_thread
def pick_sentences(
    candidates: Sequence[CandidateSentence], budget: LengthBudget
) -> list[CandidateSentence]:
    """Return the sentences to use, best first; none if none is within the limit."""
    return _GreedyChoice(candidates).choose_sentences(budget)


class _GreedyChoice:
    """The state of a greedy choice."""

    def __init__(self, candidates: Sequence[CandidateSentence]) -> None:
        sentences = [c.sentence for c in candidates]
        self._candidates = candidates
        self._children = np.array([c.child_row for c in candidates])
        self._contains, self._worth = _weigh_terms(sentences, self._children)
        self._costs = np.array([s.n_tokens for s in sentences])
        weights = np.array([c.sentence.weight * c.centrality**2 for c in candidates])
        dependence = np.array([DEPENDENT_WEIGHT if s.needs_context else 1.0 for s in sentences])
        self._scale = weights * dependence / self._costs**COST_POWER
        self._sizes = np.maximum(self._contains.sum(axis=1), 1.0)
        self._open = np.ones(len(candidates), dtype=bool)
        self._covered = np.zeros(self._contains.shape[1])
        self._from_child = np.zeros(int(self._children[-1]) + 1)

    def choose_sentences(self, budget: LengthBudget) -> list[CandidateSentence]:
        picked: list[CandidateSentence] = []
        used = 0.0
        while (fits := self._open & budget.accepts(used, self._costs)).any():
            best = int(np.where(fits, self._gain_per_token(), -1.0).argmax())
            picked.append(self._candidates[best])
            used += float(self._costs[best])
            self._take_sentence(best)
        return picked

    def _gain_per_token(self) -> Floats:
        """Return the gain of each sentence divided by its cost, shape ``(n_sentences,)``."""
        gains = self._contains @ (REPEAT**self._covered * self._worth)
        spread = 1.0 + SPREAD * self._from_child[self._children]
        # Rounded so that all machines choose the same; the addition ranks sentences without
        # content words by their form.
        rounded: Floats = ((gains + 1e-3) * self._scale / spread).round(9)
        return rounded

    def _take_sentence(self, row: int) -> None:
        self._open[row] = False
        self._covered += self._contains[row]
        self._from_child[self._children[row]] += 1
        following = self._candidates[row + 1] if row + 1 < len(self._candidates) else None
        if following and following.order == self._candidates[row].order + 1:
            self._scale[row + 1] /= DEPENDENT_WEIGHT if following.sentence.needs_context else 1.0
        shared = self._contains @ self._contains[row]
        smaller = np.minimum(self._sizes, self._sizes[row])
        self._open &= (shared < DUPLICATE_OVERLAP * smaller) | (smaller < 3)


def _weigh_terms(
    sentences: Sequence[SummarySentence], children: NDArray[np.int64]
) -> tuple[Floats, Floats]:
    """Return which terms each sentence contains, ``(n_sentences, n_terms)``, and their worth.

    ``children`` is the child of each sentence, ascending. The worth of a term grows with the number
    of sentences and children that contain it, and with its length, because common words are short
    in any language. Names and numbers are worth more.
    """
    terms = _most_frequent(sentences)
    column = {term: place for place, term in enumerate(terms)}
    rows = [row for row, s in enumerate(sentences) for term in s.terms if term in column]
    columns = [column[term] for s in sentences for term in s.terms if term in column]
    contains = np.zeros((len(sentences), len(terms)))
    contains[rows, columns] = 1.0
    starts = np.flatnonzero(np.diff(children, prepend=-1))
    n_children = np.maximum.reduceat(contains, starts, axis=0).sum(axis=0)
    names = frozenset().union(*(s.names for s in sentences))
    length = np.array([min(len(term), 8) if term.isascii() else 8 for term in terms]) / 8
    spread = (n_children + 0.3 * (contains.sum(axis=0) - n_children)) ** 1.3
    named = np.array([1.3 if term in names else 1.0 for term in terms])
    return contains, spread * (0.4 + 0.6 * length) * named


def _most_frequent(sentences: Sequence[SummarySentence]) -> list[str]:
    """Return the ``MAX_TERMS`` most frequent terms, in an order that does not depend on hashes."""
    counts = Counter(term for sentence in sentences for term in sentence.terms)
    if len(counts) <= MAX_TERMS:
        return sorted(counts)
    return sorted(counts, key=lambda term: (-counts[term], term))[:MAX_TERMS]
