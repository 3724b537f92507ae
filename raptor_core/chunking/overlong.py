"""Cutting a sentence that is over the limit."""

from __future__ import annotations

import re
import unicodedata

from raptor_core.chunking.measure import Measure

_CLAUSE_MARKS = ";:,—–،؛、，；：)]"
_NO_SPACE_NEEDED = "、，；：،؛—"
_JOINER = "\u200d"
_REGIONAL = re.compile("[\U0001f1e6-\U0001f1ff]*\\Z")
# A cut is looked for in this last share of what fits.
_SHARE = 0.5


def cut_sentence(text: str, start: int, end: int, measure: Measure, limit: int) -> list[int]:
    """Characters at which the span is cut, ascending, so that each part weighs at most ``limit``.

    The best kind of place wins: after clause punctuation, then at white space, then between
    tokens; within a kind, the last that fits. A character and what combines with it stay whole.
    """
    places = _places(text, start, end, measure)
    cuts: list[int] = []
    at, since = 0, start
    while at < len(places):
        stop = _last_that_fits(places, at, since, end, measure, limit)
        if stop is None:
            break
        best = _best(text, places, at, stop)
        cuts.append(places[best])
        since, at = places[best], best + 1
    return cuts


def _places(text: str, start: int, end: int, measure: Measure) -> list[int]:
    """Characters between ``start`` and ``end`` where a cut does no harm, ascending."""
    found = dict.fromkeys(measure.places(start, end))
    return [place for place in found if start < place and _is_whole(text, place)]


def _last_that_fits(
    places: list[int], at: int, since: int, end: int, measure: Measure, limit: int
) -> int | None:
    """Index of the last place before which the part weighs ``limit``; None if all fits."""
    window = [*places[at : at + limit + 1], end]
    weights = measure.weights([since] * len(window), window)
    fitting = sum(weight <= limit for weight in weights)
    if fitting == len(window):
        return None
    return max(at, at + fitting - 1)


def _best(text: str, places: list[int], at: int, stop: int) -> int:
    """Index of the place to cut at, among the last that fit."""
    low = at + int((stop - at) * _SHARE)
    return max(range(low, stop + 1), key=lambda i: (_strength(text, places[i]), i))


def _strength(text: str, place: int) -> int:
    before = text[place - 1]
    if before in _NO_SPACE_NEEDED:
        return 2
    if not before.isspace():
        return 0
    mark = text[max(0, place - 8) : place].rstrip()[-1:]
    return 2 if mark and mark in _CLAUSE_MARKS else 1


def _is_whole(text: str, place: int) -> bool:
    """Whether a cut before ``place`` leaves characters and what combines with them whole."""
    here, before = text[place], text[place - 1]
    if _JOINER in (before, here) or "\U0001f3fb" <= here <= "\U0001f3ff":
        return False
    if before == "\r" and here == "\n":
        return False
    if unicodedata.category(here).startswith("M"):
        return False
    if "\U0001f1e6" <= here <= "\U0001f1ff":
        run = _REGIONAL.search(text, max(0, place - 64), place)
        return run is None or len(run.group()) % 2 == 0
    return True
