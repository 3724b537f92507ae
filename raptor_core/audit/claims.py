"""What can be counted about a sentence and the passages that should support it."""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass, fields
from functools import lru_cache

import numpy as np

from raptor_core.audit.needs import Needs, lacking, needs_of
from raptor_core.audit.opposites import opposites
from raptor_core.audit.terms import MAX_CAPITALS, Terms, Word, terms, union, words
from raptor_core.vectors import Vectors

N_NEAREST = 5
_N_SIMILAR = 3
_FAR, _VERY_FAR = 0.6, 0.45
_ALIKE, _SAME = 0.55, 0.7
_UNCOVERED = 0.6
_MOST = 2.0
_SCOPE = 3
_NEGATION = re.compile(
    r"\b(?:not|no|never|none|nor|without|cannot|neither|nobody|nothing|hardly|unable)\b|n['’]t\b",
    re.IGNORECASE,
)
_ABSOLUTES = frozenset(
    {
        *("all", "always", "certainly", "completely", "entirely", "every", "exclusively"),
        *("impossible", "must", "never", "no", "none", "only", "solely"),
    }
)


@dataclass(frozen=True, slots=True)
class Doubts:
    """Reasons to doubt a sentence, each 0 where there is none.

    Attributes:
        far, very_far: how much the mean cosine of the nearest three passages is under 0.6, under
            0.45; of fewer where there are under twelve.
        uncovered: how much the share of content words that a passage holds is under 0.6.
        numbers, names: how many stand in no passage; at most 2, as all counts.
        negations: how many negate what no passage negates. These and the following count the
            more, the more similar the nearest passage is: fully from a cosine of 0.7 on.
        opposites: words whose opposite, and not they, stands in the nearest passages.
        absolutes: words such as "always" that the nearest passages do not hold.
    """

    far: float
    very_far: float
    uncovered: float
    numbers: float
    names: float
    negations: float
    opposites: float
    absolutes: float


DOUBTS = tuple(field.name for field in fields(Doubts))


@dataclass(frozen=True, slots=True)
class Claim:
    """A sentence weighed against the passages.

    ``missing`` are its numbers and names, then its words, that no passage holds; ``broken`` says
    that a number or a name is among them. ``nearest`` is the row of the most similar passage.
    """

    doubts: Doubts
    missing: tuple[str, ...]
    broken: bool
    nearest: int


class Passages:
    """Sentences of a summary's children, with their vectors row for row."""

    def __init__(self, texts: Sequence[str], vectors: Vectors) -> None:
        self.texts = texts
        self._vectors = vectors
        self._terms = [terms(text) for text in texts]
        self._held = union(self._terms)
        self._negated = [frozenset(_stems(text)) for text in texts if _NEGATION.search(text)]

    def weigh(self, sentence: str, vector: Vectors) -> Claim:
        """Doubts about a sentence; there is at least one passage. ``vector``: shape (n_dims,)."""
        needs = needs_of(sentence, with_names=self._held.capitals <= MAX_CAPITALS)
        similarity = self._vectors @ vector
        order = np.argsort(-similarity, kind="stable")[:N_NEAREST]
        near = union([self._terms[row] for row in order])
        n_similar = max(1, min(_N_SIMILAR, len(self.texts) // 4))
        closeness = float(similarity[order[:n_similar]].mean())
        same = _share(float(similarity[order[0]]), _ALIKE, _SAME)
        wanting = lacking(needs.content, self._held)
        no_number = lacking(needs.numbers, self._held)
        no_name = lacking(needs.names, self._held)
        covered = 1 - len(wanting) / len(needs.content) if needs.content else 1.0
        doubts = Doubts(
            far=max(0.0, _FAR - closeness),
            very_far=max(0.0, _VERY_FAR - closeness),
            uncovered=max(0.0, _UNCOVERED - covered),
            numbers=min(_MOST, len(no_number)),
            names=min(_MOST, len(no_name)),
            negations=same * min(_MOST, self._unmatched_negations(needs)),
            opposites=same * min(_MOST, _n_opposites(needs.words, near)),
            absolutes=same * min(_MOST, _n_absolutes(needs.words, near)),
        )
        exact = [*no_number, *no_name]
        missing = tuple(dict.fromkeys([*exact, *wanting]))
        return Claim(doubts, missing, bool(exact), int(order[0]))

    def _unmatched_negations(self, needs: Needs) -> int:
        """Negations whose next content words no negated passage holds, but for one of them."""
        n_unmatched = 0
        for match in _NEGATION.finditer(needs.text):
            scope = [w.stem for w in needs.words if w.start >= match.end() and not w.is_function]
            wanted = frozenset(scope[:_SCOPE])
            least = max(1, len(wanted) - 1)
            n_unmatched += not any(len(wanted & held) >= least for held in self._negated)
        return n_unmatched


def _share(value: float, least: float, most: float) -> float:
    """0 up to ``least``, 1 from ``most`` on, and a straight line between them."""
    return min(1.0, max(0.0, (value - least) / (most - least)))


def _n_opposites(found: Sequence[Word], near: Terms) -> int:
    known = opposites()
    stems = {word.stem for word in found} - near.forms
    return sum(not known.get(stem, frozenset()).isdisjoint(near.forms) for stem in stems)


def _n_absolutes(found: Sequence[Word], near: Terms) -> int:
    told = {word.stem for word in found if word.text.casefold() in _ABSOLUTES}
    return len(told - near.forms)


@lru_cache(maxsize=1024)
def _stems(text: str) -> tuple[str, ...]:
    return tuple(word.stem for word in words(text))
