"""Which sentences share a chunk: greedily, or by a packing that an edit does not shift for long.

Greedy packing fills chunks well and never comes back into step behind an edit. Here every border
has a price drawn from the sentence behind it, as in content-defined chunking (Xia et al. 2016,
FastCDC), and chunks have a least and a greatest size. FastCDC takes the best border in the window
behind the last one; this takes the borders whose prices, with that of each chunk, add up to
least in the whole stretch (a shortest path). Two ways to begin, one before an edit and one
behind it, soon meet in a border that is cheap for both, and go on alike.

Stretches are packed each for itself: sections, where they are large enough to stand alone.
"""

from __future__ import annotations

import hashlib
from collections import deque
from collections.abc import Callable, Sequence
from enum import IntEnum
from itertools import accumulate, pairwise
from typing import NamedTuple

# Price of a chunk, and so the unit of all prices: whole numbers, exact on every machine.
CHUNK_PRICE = 1 << 20
# A border costs between the two, in chunks: the wider, the shorter an edit's wake and the chunks;
# the lower at paragraphs and sections, the fewer of them are cut. docs/benchmarks.md has figures.
BORDER_PRICES = ((1.0, 3.0), (0.0, 2.0), (0.0, 0.2))
# What parts a heading from its text costs, and a chunk under the least size.
BARE_HEADING_PRICE = 5.0
SMALL_PRICE = 0.5
# Least size of a chunk, and of a section that stands alone, as shares of the limit.
LEAST_SHARE = 0.25
SECTION_SHARE = 0.5


class Opens(IntEnum):
    """What begins with a sentence; its place in ``BORDER_PRICES``."""

    NOTHING = 0
    PARAGRAPH = 1
    SECTION = 2


class Sentence(NamedTuple):
    """What is never cut: a span of ``weight`` tokens, at most the limit.

    ``key`` is drawn from its text; ``level`` is how deep a heading is, 0 for text.
    """

    start: int
    end: int
    weight: int = 0
    key: int = 0
    opens: Opens = Opens.NOTHING
    level: int = 0


Packing = Callable[[Sequence[Sentence], int], list[int]]
"""Sentences and the limit in tokens to the ends (indices, exclusive) of chunks."""


def pack_greedily(sentences: Sequence[Sentence], limit: int) -> list[int]:
    """Chunks filled one after the other, as in the paper; an edit shifts all behind it."""
    ends: list[int] = []
    taken = 0
    for at, sentence in enumerate(sentences):
        if at and taken + sentence.weight > limit:
            ends.append(at)
            taken = 0
        taken += sentence.weight
    return [*ends, len(sentences)] if sentences else []


def pack_stably(sentences: Sequence[Sentence], limit: int) -> list[int]:
    """Chunks of the least price in each stretch; an edit shifts few behind or before it."""
    weights = [sentence.weight for sentence in sentences]
    prices = [0, *(_price(*pair) for pair in pairwise(sentences))]
    return [
        start + end
        for start, stop in pairwise(stretches(sentences, limit))
        for end in cheapest(weights[start:stop], prices[start:stop], limit)
    ]


def stretches(sentences: Sequence[Sentence], limit: int) -> list[int]:
    """Borders (indices) of what is packed each for itself, the first and the last included.

    Sections of at least ``SECTION_SHARE`` of the limit stand alone; smaller ones are one with
    the next, and the last ones with those before. So no edit in a section that stands alone is
    seen beyond its end, but for a small last one.
    """
    n, least = len(sentences), SECTION_SHARE * limit
    starts = [0, *(i for i in range(1, n) if sentences[i].opens is Opens.SECTION), n]
    borders, weight, before = [0], 0, 0
    for start, stop in pairwise(starts):
        section = sum(sentence.weight for sentence in sentences[start:stop])
        if weight >= least and max(section, before) >= least:
            borders.append(start)
            weight = 0
        weight += section
        before = section
    return [*(borders if weight >= least else borders[:-1] or [0]), n]


def cheapest(weights: Sequence[int], prices: Sequence[int], limit: int) -> list[int]:
    """Ends (indices, exclusive) of runs of least price; linear time, whatever the limit.

    ``prices[i]`` is that of a border before ``i``. A run weighs at most ``limit`` and, where that
    can be had, at least ``LEAST_SHARE`` of it. Candidates for the border before a run wait in a
    queue in which every later one is dearer (a sliding minimum).
    """
    least, small = LEAST_SHARE * limit, int(SMALL_PRICE * CHUNK_PRICE)
    total = [0, *accumulate(weights)]
    costs, begins = [0], [0]
    queue: deque[int] = deque()
    first = queued = 0
    for end, price in enumerate([*prices[1:], 0], 1):
        while total[end] - total[first] > limit:
            first += 1
        while total[end] - total[queued] >= least and queued < end:
            while queue and costs[queue[-1]] >= costs[queued]:
                queue.pop()
            queue.append(queued)
            queued += 1
        while queue and queue[0] < first:
            queue.popleft()
        begin = queue[0] if queue else first
        costs.append(costs[begin] + CHUNK_PRICE + price + (0 if queue else small))
        begins.append(begin)
    ends = []
    end = len(weights)
    while end:
        ends.append(end)
        end = begins[end]
    return ends[::-1]


def _price(before: Sentence, sentence: Sentence) -> int:
    """Price of a border between the two."""
    if before.level and (sentence.opens is not Opens.SECTION or sentence.level > before.level):
        return int(BARE_HEADING_PRICE * CHUNK_PRICE)
    least, most = BORDER_PRICES[sentence.opens]
    return int(least * CHUNK_PRICE + (most - least) * (sentence.key % CHUNK_PRICE))


def key_of(text: str) -> int:
    """64 bits drawn from a text; white space is folded."""
    folded = " ".join(text.split()).encode("utf-8", "surrogatepass")
    return int.from_bytes(hashlib.blake2b(folded, digest_size=8).digest(), "big")
