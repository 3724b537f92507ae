"""Which sentences share a chunk: a packing whose every decision is local.

Greedy packing over a document shifts everything behind an edit. Here a paragraph over the limit
is cut by itself, and two pieces of neighbouring paragraphs are joined in two rounds:

1. *Ruler.* A piece of ``w`` tokens has a place ``[x, x + w)`` on a ruler as long as a chunk; ``x``
   is drawn from the piece's own text. Two neighbours join when the right one's place lies behind
   the left one's. So the decision reads these two alone, and no run of joins is over the limit.
2. *Pairs.* Every piece is left or right by its own text; two neighbouring groups join when all
   of the one is left, all of the other right, and both fit a chunk. Headings join what follows
   them before anything else does.

An edit changes its own paragraph's pieces, hence round 1 only at that paragraph's two borders.
Round 2 can then differ for the group at that border and its far end alone; a pair that fits
would fit all the more with less of its left group's head or its right group's tail, so on
either side at most one chunk changes: law 2.
"""

from __future__ import annotations

import hashlib
from collections.abc import Sequence
from dataclasses import dataclass

# Left free on the ruler, so that a heading finds room before the first group of its section.
HEADING_SHARE = 0.06
# Pieces above this share of the limit are drawn to one of the ruler's ends, where two of them
# can fit side by side; smaller ones are drawn to any place.
END_SHARE = 0.2
# Paragraphs of more chunks than this are cut where their text says so, not evenly.
EVEN_CHUNKS = 4
# Share of the limit from which such a text-defined cut is taken.
WINDOW_SHARE = 0.6


@dataclass(frozen=True, slots=True)
class Piece:
    """Sentences of one paragraph that stay together.

    ``key`` is drawn from their text; ``first`` and ``last`` say whether the paragraph begins
    and ends with them, ``section`` whether a section begins here.
    """

    start: int
    end: int
    weight: int
    key: int
    heading: bool = False
    first: bool = True
    last: bool = True
    section: bool = False


def key_of(text: str) -> int:
    """64 bits drawn from a text; white space is folded."""
    folded = " ".join(text.split()).encode("utf-8", "surrogatepass")
    return int.from_bytes(hashlib.blake2b(folded, digest_size=8).digest(), "big")


def cut_evenly(weights: Sequence[int], limit: int) -> list[int]:
    """Ends (indices, exclusive) of runs of sentences, each of at most ``limit`` tokens."""
    ends: list[int] = []
    rest, at = sum(weights), 0
    while at < len(weights):
        target = rest / max(1, -(-rest // limit))
        taken, end = weights[at], at + 1
        while end < len(weights) and _goes_on(taken, weights[end], target, limit):
            taken += weights[end]
            end += 1
        ends.append(end)
        rest, at = rest - taken, end
    return ends


def _goes_on(taken: int, following: int, target: float, limit: int) -> bool:
    """Whether one more sentence fits and brings the run nearer to the target."""
    return taken + following <= limit and target - taken > following / 2


def cut_by_text(weights: Sequence[int], keys: Sequence[int], limit: int) -> list[int]:
    """As ``cut_evenly``, at the greatest key in reach: an edit is forgotten soon behind it.

    ``keys[i]`` is the rank of a cut before sentence ``i``.
    """
    ends: list[int] = []
    at, rest = 0, sum(weights)
    while rest > EVEN_CHUNKS * limit:
        end, best, taken, best_taken = at + 1, at + 1, weights[at], weights[at]
        while end < len(weights) and taken <= limit:
            old = best_taken < WINDOW_SHARE * limit
            if old or keys[end] >= keys[best]:
                best, best_taken = end, taken
            taken += weights[end]
            end += 1
        ends.append(best)
        at, rest = best, rest - best_taken
    return ends + [at + end for end in cut_evenly(weights[at:], limit)]


def join(pieces: Sequence[Piece], limit: int) -> list[list[Piece]]:
    """Groups of neighbouring pieces that share a chunk."""
    groups: list[list[Piece]] = []
    for piece in pieces:
        if groups and _joins_on_ruler(groups[-1][-1], piece, limit):
            groups[-1].append(piece)
        else:
            groups.append([piece])
    return _pair(groups, limit)


def _place(piece: Piece, limit: int) -> int:
    """Where the piece begins on the ruler."""
    room = int(limit * (1 - HEADING_SHARE)) - piece.weight
    if room <= 0:
        return 0
    if not piece.first:
        return 0
    if not piece.last:
        return room
    draw = piece.key >> 8
    if piece.weight > END_SHARE * limit:
        return room if draw % 2 else 0
    return draw % (room + 1)


def _joins_on_ruler(left: Piece, right: Piece, limit: int) -> bool:
    if not (left.last and right.first) or left.heading != right.heading:
        return False
    if right.section and not left.heading:
        return False
    behind = _place(right, limit) >= _place(left, limit) + left.weight
    return behind and right.weight + left.weight <= limit


def _pair(groups: list[list[Piece]], limit: int) -> list[list[Piece]]:
    """Second round: joins pairs of groups; a group joins one other at the most."""
    found: list[list[Piece]] = []
    at = 0
    while at < len(groups):
        if at + 1 < len(groups) and _joins_as_pair(groups[at], groups[at + 1], limit):
            found.append([*groups[at], *groups[at + 1]])
            at += 2
        else:
            found.append(groups[at])
            at += 1
    return found


def _joins_as_pair(left: list[Piece], right: list[Piece], limit: int) -> bool:
    if not (left[-1].last and right[0].first) or right[0].heading:
        return False
    if sum(p.weight for p in left) + sum(p.weight for p in right) > limit:
        return False
    if left[0].heading:
        return True
    if right[0].section:
        return False
    return all(map(_is_left, left)) and not any(map(_is_left, right))


def _is_left(piece: Piece) -> bool:
    """Whether the piece joins what follows, else what precedes it."""
    if piece.first != piece.last:
        return piece.last
    return piece.key % 2 == 0
