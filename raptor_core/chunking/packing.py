"""Packing of sentences into chunks, stably: an edit shifts only few chunks.

After an edit, the borders of greedy packing never realign with the old ones. Here each border has a
price that is derived from the sentence after it, as in content-defined chunking (Xia et al. 2016,
FastCDC). The borders with the lowest total price are chosen (a shortest path), so the new packing
soon realigns with the old one. Each stretch is packed separately: a section, if it is large enough.
"""

import hashlib
from collections import deque
from collections.abc import Sequence
from enum import IntEnum
from itertools import accumulate, pairwise
from typing import NamedTuple

# Price of a chunk, and so the unit of all prices: whole numbers, exact on every machine.
CHUNK_PRICE = 1 << 20
# Lowest and highest price of a border, in chunks, by ``BegunUnit``. In a wider range, edits shift
# fewer chunks, but chunks get shorter. Lower prices at paragraphs and sections cut fewer of
# them. docs/research.md has figures.
BORDER_PRICES = ((1.0, 3.0), (0.0, 2.0), (0.0, 0.2))
# Prices of a border after a heading or another lead-in, and of a chunk below the smallest size.
LEAD_PRICE = 5.0
SMALL_PRICE = 0.5
# Smallest size of a chunk, and of a section that stands alone, as shares of the limit.
LEAST_SHARE = 0.25
SECTION_SHARE = 0.5


class BegunUnit(IntEnum):
    """Unit of text that begins with a sentence; an index into ``BORDER_PRICES``."""

    NOTHING = 0
    PARAGRAPH = 1
    SECTION = 2


class SentenceSpan(NamedTuple):
    """Span of ``weight`` tokens that is never cut; the weight is at most the limit.

    ``text_hash`` ignores white space. ``level`` is the depth of a heading, 0 for other text. A span
    with ``introduces_next`` introduces the next one.
    """

    start: int
    end: int
    weight: int = 0
    text_hash: int = 0
    begun_unit: BegunUnit = BegunUnit.NOTHING
    level: int = 0
    introduces_next: bool = False


def stable_chunk_ends(sentences: Sequence[SentenceSpan], limit: int) -> list[int]:
    """Return the ends (indices, exclusive) of chunks of at most ``limit`` tokens.

    Each stretch is packed into chunks of the lowest total price.
    """
    weights = [sentence.weight for sentence in sentences]
    prices = [0, *(_border_price(*pair) for pair in pairwise(sentences))]
    return [
        start + end
        for start, stop in pairwise(merged_section_borders(sentences, limit))
        for end in cheapest_run_ends(weights[start:stop], prices[start:stop], limit)
    ]


def merged_section_borders(sentences: Sequence[SentenceSpan], limit: int) -> list[int]:
    """Return the borders (indices) of the stretches, including the first and the last.

    Sections of at least ``SECTION_SHARE`` of the limit stand alone. A smaller section joins the
    next one, and small sections at the end join the one before them. So an edit in a section that
    stands alone changes no chunk beyond its end, except in a small last section.
    """
    n, least = len(sentences), SECTION_SHARE * limit
    starts = [0, *(i for i in range(1, n) if sentences[i].begun_unit is BegunUnit.SECTION), n]
    borders, weight, previous = [0], 0, 0
    for start, stop in pairwise(starts):
        section = sum(sentence.weight for sentence in sentences[start:stop])
        if weight >= least and max(section, previous) >= least:
            borders.append(start)
            weight = 0
        weight += section
        previous = section
    return [*(borders if weight >= least else borders[:-1] or [0]), n]


def cheapest_run_ends(weights: Sequence[int], prices: Sequence[int], limit: int) -> list[int]:
    """Return the ends (indices, exclusive) of runs of lowest price, in linear time for any limit.

    ``prices[i]`` is the price of a border before ``i``. A run weighs at most ``limit`` and, if
    possible, at least ``LEAST_SHARE`` of it. Candidates for the border before a run wait in a queue
    of increasing costs (a sliding minimum).
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


def _border_price(previous: SentenceSpan, sentence: SentenceSpan) -> int:
    """Return the price of a border between two sentences."""
    is_deeper = sentence.level > previous.level > 0
    if previous.introduces_next and (sentence.begun_unit is not BegunUnit.SECTION or is_deeper):
        return int(LEAD_PRICE * CHUNK_PRICE)
    least, most = BORDER_PRICES[sentence.begun_unit]
    return int(least * CHUNK_PRICE + (most - least) * (sentence.text_hash % CHUNK_PRICE))


def hash_ignoring_spaces(text: str) -> int:
    """Hash a text to 64 bits, ignoring differences in white space."""
    folded = " ".join(text.split()).encode("utf-8", "surrogatepass")
    return int.from_bytes(hashlib.blake2b(folded, digest_size=8).digest(), "big")
