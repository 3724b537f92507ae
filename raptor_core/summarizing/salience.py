"""Which sentences of one cluster say most about it, by word coverage.

A set of sentences earns something for each content word that it holds, more for words that
much of the cluster holds, and less each further time (submodular coverage: Lin and Bilmes, ACL
2011; Gillick and Favre, 2009). Greedy choice is near the best for such a function, and the
falling returns keep out redundancy by themselves. No step compares all pairs of sentences.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from raptor_core.summarizing.sentence import Sentence

MAX_TERMS = 2048
"""Terms kept per cluster, the most frequent first; bounds memory for very large clusters."""

REPEAT = 0.5
"""What a word earns each further time, as a share of the time before."""

SPREAD = 0.5
"""How much each sentence taken from a child holds back the child's others."""

COST_POWER = 0.8
"""Gain is divided by the sentence's tokens to this power: 0 favours long, 1 short sentences."""

DUPLICATE_OVERLAP = 0.7
"""Share of the shorter sentence's terms from which two sentences say the same."""

Floats = NDArray[np.float64]


@dataclass(frozen=True, slots=True)
class Candidate:
    """A sentence of the cluster: ``child`` is its child's row, ``order`` its place in all."""

    sentence: Sentence
    child: int
    order: int
    centrality: float


@dataclass(frozen=True, slots=True)
class Budget:
    """Tokens aimed at, and tokens never passed."""

    target: float
    limit: float

    def takes(self, used: float, cost: float) -> bool:
        """Whether another ``cost`` tokens bring the total nearer to the target."""
        return used + cost <= self.limit and (used == 0 or used + cost / 2 <= self.target)


def pick(candidates: Sequence[Candidate], budget: Budget) -> list[Candidate]:
    """The sentences to keep, best first; empty when none is within the limit.

    Takes ``len(candidates) * n_terms`` steps for each sentence that it keeps.
    """
    if not candidates:
        return []
    return _Greedy(candidates).run(budget)


class _Greedy:
    """State of one greedy choice."""

    def __init__(self, candidates: Sequence[Candidate]) -> None:
        self._candidates = candidates
        self._holds, self._worth = _terms(candidates)
        self._costs = np.array([c.sentence.n_tokens for c in candidates])
        self._children = np.array([c.child for c in candidates])
        self._weights = np.array([c.sentence.weight * c.centrality**2 for c in candidates])
        self._sizes = np.maximum(self._holds.sum(axis=1), 1.0)
        self._leaning = np.array([0.7 if c.sentence.dependent else 1.0 for c in candidates])
        self._open = np.ones(len(candidates), dtype=bool)
        self._covered = np.zeros(self._holds.shape[1])
        self._from_child = np.zeros(int(self._children.max()) + 1)

    def run(self, budget: Budget) -> list[Candidate]:
        picked: list[Candidate] = []
        used = 0.0
        while self._open.any():
            best = int(np.argmax(np.where(self._open, self._gains(), -1.0)))
            self._open[best] = False
            if not budget.takes(used, self._costs[best]):
                continue
            picked.append(self._candidates[best])
            used += self._costs[best]
            self._take(best)
        return picked

    def _gains(self) -> Floats:
        """What each sentence would add, per cost, shape ``(n_sentences,)``."""
        step = REPEAT**self._covered
        gains: Floats = self._holds @ (step * self._worth)
        spread = 1.0 + SPREAD * self._from_child[self._children]
        # Rounded, so that the last bits of a vector from another machine decide nothing.
        rounded: Floats = np.round(
            (gains + 1e-3) * self._weights * self._leaning / (spread * self._costs**COST_POWER), 9
        )
        return rounded

    def _take(self, row: int) -> None:
        self._covered += self._holds[row]
        self._from_child[self._children[row]] += 1
        order = self._candidates[row].order
        if row + 1 < len(self._candidates) and self._candidates[row + 1].order == order + 1:
            self._leaning[row + 1] = 1.0  # what it leans on is there
        shared = self._holds @ self._holds[row]
        smaller = np.minimum(self._sizes, self._sizes[row])
        self._open &= (shared < DUPLICATE_OVERLAP * smaller) | (smaller < 3)


def _terms(candidates: Sequence[Candidate]) -> tuple[Floats, Floats]:
    """Which sentence holds which term, ``(n_sentences, n_terms)`` of 0 and 1, and their worth.

    A term's worth grows with the number of sentences and of children that hold it, and with
    its length (common words are short, in any language); a name or number in it adds.
    """
    counts: Counter[str] = Counter()
    children: dict[str, set[int]] = {}
    names: set[str] = set()
    for candidate in candidates:
        counts.update(candidate.sentence.terms)
        names |= candidate.sentence.names
        for term in candidate.sentence.terms:
            children.setdefault(term, set()).add(candidate.child)
    kept = sorted(counts, key=lambda t: (-len(children[t]), -counts[t], t))[:MAX_TERMS]
    columns = {term: column for column, term in enumerate(kept)}
    holds = np.zeros((len(candidates), len(kept)))
    for row, candidate in enumerate(candidates):
        holds[row, [columns[t] for t in candidate.sentence.terms if t in columns]] = 1.0
    worth = np.array([_worth(t, counts[t], len(children[t]), t in names) for t in kept])
    return holds, worth


def _worth(term: str, n_sentences: int, n_children: int, named: bool) -> float:
    spread = (n_children + 0.3 * (n_sentences - n_children)) ** 1.3
    length = 0.4 + 0.6 * (min(len(term), 8) / 8 if term.isascii() else 1.0)
    return float(spread * length * (1.3 if named else 1.0))
