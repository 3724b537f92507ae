"""Which pieces of paragraphs share a chunk: a packing whose every decision is local.

Greedy packing over a document shifts everything behind an edit. Here pieces are cut by their
paragraph's own text, and neighbouring pieces are joined in two rounds:

1. *Groups.* Each piece has a place ``[x, x + w)`` on a ruler as long as a chunk, ``x`` drawn from
   its own text. Two neighbours join when the right one's place lies behind the left one's, so no
   run of joins is over the limit. Headings join the deeper heading that follows.
2. *Wishes.* A group whose left border is closed by its own text (the tail of a paragraph that
   is cut, a heading, the beginning of a section) wishes for the group on its right; the head of
   a paragraph that is cut wishes for the one on its left; and two groups wish for each other
   when all of the one is left, all of the other right, by their own texts. A chain of wishes has
   four groups at most, since none goes on past a closed border or past a left and right pair.
   It becomes one chunk if it fits, else the wishes of closed groups alone are granted, those
   from the left first.

Law 2 holds because every border between two chunks is one by the text of these two chunks, and
stays one when either is extended beyond its far end. Round 1 reads the two pieces at a border. A
wish that is missing, or does not fit, stays so when its groups get longer. A wish that is not
granted lies in a chain that does not fit, and all of that chain lies in the two chunks. So an
edit moves, adds or takes away the last border before its paragraph and the first behind, and
leaves all others.

Last, a heading left alone because what follows does not fit takes that paragraph's first
sentences. This moves the border behind it into that paragraph, to a place that the last heading
and the paragraph define, whatever precedes them.
"""

from __future__ import annotations

import hashlib
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from itertools import pairwise

# Pieces above this share of the limit are drawn to one of the ruler's ends, where two of them
# can fit side by side; smaller ones are drawn to any place.
END_SHARE = 0.2
# Headings join deeper ones up to this share of the limit each, which leaves room for text
# behind any but the deepest chain.
HEADING_SHARE = 0.125

Part = tuple[int, int, int]
Span = tuple[int, int]


@dataclass(frozen=True, slots=True)
class Piece:
    """Sentences of one paragraph that stay together.

    ``parts`` are the start, end and weight of each sentence; ``key`` is drawn from their text;
    ``first`` and ``last`` say whether the paragraph begins and ends with them, ``level`` how
    deep a heading is (0 for text), ``section`` whether a section begins here.
    """

    parts: tuple[Part, ...]
    weight: int
    key: int
    level: int = 0
    first: bool = True
    last: bool = True
    section: bool = False


@dataclass(slots=True)
class _Group:
    pieces: list[Piece]
    weight: int

    @property
    def starts(self) -> bool:
        """Whether its left border is closed by its own text."""
        first = self.pieces[0]
        return not first.first or first.level > 0 or first.section

    @property
    def ends(self) -> bool:
        """Whether its right border is closed by its own text."""
        return not self.pieces[-1].last


def key_of(text: str) -> int:
    """64 bits drawn from a text; white space is folded."""
    folded = " ".join(text.split()).encode("utf-8", "surrogatepass")
    return int.from_bytes(hashlib.blake2b(folded, digest_size=8).digest(), "big")


def pack(pieces: Sequence[Piece], limit: int) -> list[Span]:
    """Spans of the chunks, in order."""
    chunks = [
        [piece for group in chunk for piece in group.pieces]
        for chain in _chains(_groups(pieces, limit), limit)
        for chunk in _granted(chain, limit)
    ]
    starts = [chunk[0].parts[0][0] for chunk in chunks]
    ends = [chunk[-1].parts[-1][1] for chunk in chunks]
    for at, (chunk, behind) in enumerate(pairwise(chunks)):
        if chunk[-1].level and not (behind[0].level or behind[0].section):
            taken = _taken_by_heading(chunk[-1], behind[0], limit)
            if taken:
                ends[at] = behind[0].parts[taken - 1][1]
                starts[at + 1] = behind[0].parts[taken][0]
    return list(zip(starts, ends, strict=True))


def _groups(pieces: Sequence[Piece], limit: int) -> list[_Group]:
    """First round: runs of pieces that stay together, whatever is around them."""
    groups: list[_Group] = []
    for piece in pieces:
        if groups and _stays(groups[-1].pieces[-1], piece, limit):
            groups[-1].pieces.append(piece)
            groups[-1].weight += piece.weight
        else:
            groups.append(_Group([piece], piece.weight))
    return groups


def _stays(left: Piece, right: Piece, limit: int) -> bool:
    if left.level or right.level:
        short = max(left.weight, right.weight) <= HEADING_SHARE * limit
        return short and 0 < left.level < right.level
    if right.section:
        return False
    behind = _place(right, limit) >= _place(left, limit) + left.weight
    return behind and left.weight + right.weight <= limit


def _place(piece: Piece, limit: int) -> int:
    """Where the piece begins on the ruler."""
    room = limit - piece.weight
    if room <= 0 or not piece.last:
        return 0
    if not piece.first or piece.section:
        return room
    draw = piece.key >> 8
    if piece.weight > END_SHARE * limit:
        return room if draw % 2 else 0
    return draw % (room + 1)


def _chains(groups: list[_Group], limit: int) -> Iterator[list[_Group]]:
    """Second round: longest runs of groups each of which is wished for by a neighbour."""
    chain: list[_Group] = []
    for group in groups:
        if chain and not _wish(chain[-1], group, limit):
            yield chain
            chain = []
        chain.append(group)
    if chain:
        yield chain


def _wish(left: _Group, right: _Group, limit: int) -> bool:
    if left.ends or right.starts or left.weight + right.weight > limit:
        return False
    if left.starts or right.ends:
        return True
    return all(p.key % 2 == 0 for p in left.pieces) and all(p.key % 2 for p in right.pieces)


def _granted(chain: list[_Group], limit: int) -> list[list[_Group]]:
    """The chain as one chunk or, if that is over the limit, as two."""
    if sum(group.weight for group in chain) <= limit:
        return [chain]
    middle = 2 if chain[0].starts else 1
    return [chain[:middle], chain[middle:]]


def _taken_by_heading(heading: Piece, behind: Piece, limit: int) -> int:
    """How many of the sentences behind it a heading takes: about half, and never all.

    It leaves room for the longest chain of headings before it, so that they do not matter.
    """
    taken, weight = 0, heading.weight
    half = (weight + behind.weight) / 2
    room = limit * (1 - HEADING_SHARE * (heading.level - 1))
    for _, _, more in behind.parts[:-1]:
        if weight + more > room or weight >= half:
            break
        weight += more
        taken += 1
    return taken
