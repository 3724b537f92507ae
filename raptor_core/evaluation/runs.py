"""Runs of four words: what evidence and context are compared by."""

from __future__ import annotations

import re

from raptor_core.identity import normalize_text

RUN_WORDS = 4
_WORD = re.compile(r"\w+")

Runs = frozenset[tuple[str, ...]]


def words(text: str) -> list[str]:
    """The words of a text in order, case folded."""
    return _WORD.findall(normalize_text(text).casefold())


def runs(text: str, n_words: int = RUN_WORDS) -> Runs:
    """Runs of ``n_words`` words of a text; all of it as one run where it is shorter."""
    all_words = words(text)
    if len(all_words) <= n_words:
        return frozenset({tuple(all_words)} if all_words else ())
    return frozenset(zip(*(all_words[start:] for start in range(n_words)), strict=False))


def held(wanted: Runs, text: str) -> Runs:
    """Those of the wanted runs, of any length, that stand in a text."""
    lengths = {len(run) for run in wanted}
    there: Runs = frozenset().union(*(runs(text, length) for length in lengths))
    return wanted & there
