"""Sentences of a text, block by block, and cuts of sentences over the token limit.

A paragraph is divided by ``raptor_core.text.sentence_ends``; no sentence spans two blocks.
"""

import re
import unicodedata
from array import array
from collections.abc import Sequence

import numpy as np
from numpy.typing import NDArray

from raptor_core.text.sentence_ends import sentence_ends
from raptor_core.tokens.base import TokenCounter
from raptor_formats.blocks import Block, split_at_bounds
from raptor_formats.markup.plain import read_plain_blocks

Span = tuple[int, int]

_LINE = re.compile(r"[^\n\r]+")
_WORD = re.compile(r"\S")


def find_sentence_spans(text: str) -> list[Span]:
    """Return the spans of all sentences of a plain text, in order.

    They cover everything but white space and lines that only draw a rule.
    """
    blocks = (block for block in read_plain_blocks(text) if block.kind != "rule")
    return [span for block in blocks for span in block_sentence_spans(text, block)]


def block_sentence_spans(text: str, block: Block) -> list[Span]:
    """Return the stripped spans of a block's sentences, or of its lines of code."""
    if block.kind in ("heading", "names", "row"):
        return [(block.start, block.end)]
    if block.kind == "code":
        lines = _LINE.finditer(text, block.start, block.end)
        return [span for line in lines for span in split_at_bounds(text, line.span())]
    cuts = sentence_ends(text, block.start, block.end)
    return list(split_at_bounds(text, [block.start, *cuts, block.end]))


class SpanWeights:
    """Weights, in tokens, of spans of one text between two characters.

    The weight of a span is the number of tokens that begin in it, ignoring white space at the start
    of a token. It can differ from the token count of the span's own text if a token extends over
    the ends of the span. So limits are verified on the text itself.
    """

    def __init__(self, text: str, counter: TokenCounter, first: int, last: int) -> None:
        piece = text[first:last]
        anchors = (
            _first_visible_offset(piece, start, end) for start, end in counter.token_spans(piece)
        )
        starts = np.fromiter(anchors, dtype=np.int32)
        self._anchors = np.maximum.accumulate(starts) + np.int32(first)

    def weights(self, starts: list[int], ends: list[int]) -> list[int]:
        """Return the weight of each span, in tokens."""
        first, last = np.searchsorted(self._anchors, starts), np.searchsorted(self._anchors, ends)
        counts: list[int] = (last - first).tolist()
        return counts

    def weight_unit_starts(self, start: int, end: int) -> NDArray[np.int32]:
        """Return the characters at which a unit of weight begins, ascending, with repeats."""
        first, last = np.searchsorted(self._anchors, [start, end])
        return self._anchors[first:last]


def _first_visible_offset(text: str, start: int, end: int) -> int:
    """Return the first character of a token that is not white space; its start if all are."""
    if end > start and text[start].isspace():
        word = _WORD.search(text, start, end)
        return word.start() if word else start
    return start


_CLAUSE_MARKS = ";:,—–،؛、，；：)]၊"
_NO_SPACE_NEEDED = "、，；：،؛—၊་"
_JOINER = "\u200d"
_TAKES_NEXT = "เแโใไເແໂໃໄ\u1039\u17d2"
_TAKES_PREVIOUS = "ะาำๅๆฯະາຳໆ"
"""Thai and Lao vowels that are letters, and signs that stack the next letter of their script."""
_REGIONAL = re.compile("[\U0001f1e6-\U0001f1ff]*\\Z")
# Only this last share of the places that fit is searched for a good cut.
_SHARE = 0.5


def find_sentence_cuts(
    text: str, start: int, end: int, measure: SpanWeights, limit: int
) -> list[int]:
    """Return the characters at which to cut the span, so that each part weighs at most ``limit``.

    They are ascending. The best kind of place wins: after clause punctuation, then at white space,
    then between tokens; within a kind, the last place that fits. A character stays together with
    its combining marks.
    """
    starts = measure.weight_unit_starts(start, end)
    distinct = map(int, starts[np.diff(starts, prepend=-1) > 0])
    borders = (place for place in distinct if start < place and _keeps_combining_marks(text, place))
    places = array("q", borders)  # a sheet without a full stop is a sentence of a million tokens
    cuts: list[int] = []
    at, since = 0, start
    while at < len(places):
        stop = _last_fitting_index(places, at, since, end, measure, limit)
        if stop is None:
            break
        best = _best_cut_index(text, places, at, stop)
        cuts.append(places[best])
        since, at = places[best], best + 1
    return cuts


def _last_fitting_index(
    places: Sequence[int], at: int, since: int, end: int, measure: SpanWeights, limit: int
) -> int | None:
    """Return the index of the last place up to which the part fits, or None if all fits."""
    window = [*places[at : at + limit + 1], end]
    weights = measure.weights([since] * len(window), window)
    fitting = sum(weight <= limit for weight in weights)
    return None if fitting == len(window) else max(at, at + fitting - 1)


def _best_cut_index(text: str, places: Sequence[int], at: int, stop: int) -> int:
    """Return the index of the place to cut at, among the last that fit."""
    low = at + int((stop - at) * _SHARE)
    return max(range(low, stop + 1), key=lambda i: (_cut_strength(text, places[i]), i))


def _cut_strength(text: str, place: int) -> int:
    previous = text[place - 1]
    if previous in _NO_SPACE_NEEDED:
        return 2
    if not previous.isspace():
        return 0
    mark = text[max(0, place - 8) : place].rstrip()[-1:]
    return 2 if mark and mark in _CLAUSE_MARKS else 1


def _keeps_combining_marks(text: str, place: int) -> bool:
    """Return whether a cut before ``place`` keeps every character with its combining marks."""
    current, previous = text[place], text[place - 1]
    if _JOINER in (previous, current) or "\U0001f3fb" <= current <= "\U0001f3ff":
        return False
    if previous == "\r" and current == "\n":
        return False
    if unicodedata.category(current).startswith("M") or current in _TAKES_PREVIOUS:
        return False
    if previous in _TAKES_NEXT:
        return False
    if "\U0001f1e6" <= current <= "\U0001f1ff":
        run = _REGIONAL.search(text, max(0, place - 64), place)
        return run is None or len(run.group()) % 2 == 0
    return True
