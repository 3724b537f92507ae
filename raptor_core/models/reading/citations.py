"""Finds the citations in an answer and numbers them anew, from 1 without gaps."""

from __future__ import annotations

import re
from dataclasses import dataclass

_CITATION = re.compile(r"(?P<space>[ \t]?)\[(?P<numbers>\d+(?:\s*[,;–-]\s*\d+)*)\]")
_RANGE = re.compile(r"(\d+)\s*[–-]\s*(\d+)|(\d+)")


@dataclass(frozen=True, slots=True)
class Cited:
    """An answer with its citations numbered anew.

    ``numbers`` are the cited passages, from 1, in the order of the new numbers in ``text``.
    """

    text: str
    numbers: tuple[int, ...]
    n_unknown: int


def renumber(text: str, n_passages: int) -> Cited:
    """Reads ``[2]``, ``[1, 4]`` and ``[1-3]``; drops numbers above ``n_passages``, and 0."""
    new: dict[int, int] = {}
    n_unknown = 0

    def replace(match: re.Match[str]) -> str:
        nonlocal n_unknown
        cited = _numbers(match["numbers"], n_passages)
        known = [n for n in cited if 1 <= n <= n_passages]
        n_unknown += len(cited) - len(known)
        marks = [f"[{new.setdefault(n, len(new) + 1)}]" for n in dict.fromkeys(known)]
        return match["space"] + "".join(marks) if marks else ""

    replaced = _CITATION.sub(replace, text)
    return Cited(replaced, tuple(new), n_unknown)


def _numbers(listed: str, n_passages: int) -> list[int]:
    """The numbers of one bracket; a range that is no range of passages counts as its ends."""
    numbers: list[int] = []
    for first, last, single in _RANGE.findall(listed):
        if single:
            numbers.append(int(single))
        elif int(first) <= int(last) <= n_passages:
            numbers += range(int(first), int(last) + 1)
        else:
            numbers += [int(first), int(last)]
    return numbers
