"""Places in a text as browsers count them."""

from __future__ import annotations

from collections.abc import Collection

_LAST_OF_ONE_UNIT = "\uffff"


def utf16_offsets(text: str, places: Collection[int]) -> dict[int, int]:
    """For each place, counted in characters from 0 to ``len(text)``, the same in UTF-16 units.

    A script in a browser counts an emoji, or a rare Chinese character, as two.
    """
    if text.isascii() or max(text, default="") <= _LAST_OF_ONE_UNIT:
        return {place: place for place in places}
    found: dict[int, int] = {}
    at = units = 0
    for place in sorted(places):
        part = text[at:place]
        units += len(part) + sum(char > _LAST_OF_ONE_UNIT for char in part)
        found[place] = units
        at = place
    return found
