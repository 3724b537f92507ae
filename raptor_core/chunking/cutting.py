"""Cutting a paragraph that is over the limit into pieces, by its own text alone.

The pieces are as full as sentences allow but for one at the head or the tail of the paragraph,
which can then share a chunk with its neighbour; even pieces would share with nobody.
"""

from __future__ import annotations

from collections.abc import Sequence
from itertools import pairwise

# Paragraphs of more chunks than this are cut where their text says so, not from an end.
LONG_CHUNKS = 4
# Left free in a paragraph's first piece, so that a heading finds room before it.
HEADING_ROOM_SHARE = 0.06
# Share of the limit from which such a text-defined cut is taken.
WINDOW_SHARE = 0.6


def cut(weights: Sequence[int], keys: Sequence[int], limit: int) -> list[int]:
    """Ends (indices, exclusive) of runs of sentences, each of at most ``limit`` tokens.

    ``weights[i]`` is at most ``limit``; ``keys[i]`` is the rank of a cut before sentence ``i``.
    """
    ends: list[int] = []
    at, rest = 0, sum(weights)
    while rest > LONG_CHUNKS * limit:
        end = _greatest_key(weights, keys, at, limit)
        rest -= sum(weights[at:end])
        ends.append(end)
        at = end
    return ends + [at + end for end in _cut_from_an_end(weights[at:], limit)]


def _greatest_key(weights: Sequence[int], keys: Sequence[int], at: int, limit: int) -> int:
    """The cut of greatest key in reach of ``at``: an edit is forgotten soon behind it."""
    end, taken = at + 1, weights[at]
    best, best_taken = end, taken
    while end < len(weights) and taken <= limit:
        if best_taken < WINDOW_SHARE * limit or keys[end] >= keys[best]:
            best, best_taken = end, taken
        taken += weights[end]
        end += 1
    return best


def _cut_from_an_end(weights: Sequence[int], limit: int) -> list[int]:
    """Full runs from the head or from the tail, whichever leaves less at the other end."""
    n = len(weights)
    forward = _fill(weights, limit, int(limit * (1 - HEADING_ROOM_SHARE)))
    backward = [n - end for end in reversed(_fill(weights[::-1], limit, limit)[:-1])] + [n]
    return min(forward, backward, key=lambda ends: (len(ends), _least(weights, ends)))


def _fill(weights: Sequence[int], limit: int, first_limit: int) -> list[int]:
    ends: list[int] = []
    taken = 0
    for at, weight in enumerate(weights):
        if at and taken + weight > (limit if ends else first_limit):
            ends.append(at)
            taken = 0
        taken += weight
    return [*ends, len(weights)]


def _least(weights: Sequence[int], ends: list[int]) -> int:
    """Tokens of the shortest run."""
    return min(sum(weights[at:end]) for at, end in pairwise([0, *ends]))
