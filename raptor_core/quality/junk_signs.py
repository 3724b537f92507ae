"""Signs that a text is no summary: its shape, and phrases of errors, refusals, pages, prompts.

Precision comes first, since junk blocks publishing: a phrase must stand where a model or a client
puts it (at the start, or as the whole text), and ``find_junk`` then asks whether the children say
the same.
"""

from __future__ import annotations

import json
import re
import unicodedata
from collections import Counter
from collections.abc import Callable, Sequence
from functools import cache
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from raptor_core.phrases import read_phrases

MIN_LETTERS = 0.35
"""Share of letters, marks and digits of words below which a text is no text."""
MIN_CHILD_LETTERS = 0.5
"""The same for a child, more readily: a summary of such children may look like them."""

_MAX_REPLACED = 0.02
_MAX_PERIOD = 48
_MIN_REPEATS = 4
_MIN_LOOP = 0.25
_INVISIBLE = frozenset({"Zs", "Zl", "Zp", "Cc", "Cf", "Cs", "Co", "Cn"})
_SCANNED_CHARS = 20_000
_LONG_CHARS = 24

_NOTICE = re.compile(
    r"[\[(<]\s*(?:output|text|content)?\s*(?:truncated|cut off)\s*[\])>]\W*$", re.IGNORECASE
)
_OPEN_END = re.compile(
    r"(?:[,(\[{«“،、，]|\s[-–—&]|\b(?:and|or|the|a|an|of|to|in|for|with|by|from|that|which|is|are|was"
    r"|were|as|at|on|its|their|und|oder|der|die|das|et|ou|le|la|les|des|du|y|el|los|las|que))$"
)
_SENTENCE_END = re.compile(r"[.!?…][\"'”’)\]]*\s+")
_CLOSED = re.compile(r"[.!?…。！？؟۔।॥։።:;：；)\]}>\"'”’»」』`*_|%]\s*$")
_LIST_ITEM = re.compile(r"^\s*(?:[-*•+–#|>]|\d+[.)]|[a-z][.)]|```)\s*", re.IGNORECASE)
_MIN_FRAGMENT_WORDS = 4
_UNSTOPPED = re.compile(r"[\u0e00-\u0eff]")
"""Thai and Lao, which end a sentence with a space."""


def empty(text: str) -> str | None:
    """A word for ``text`` that shows nothing: white space, control and format characters."""
    if all(unicodedata.category(c) in _INVISIBLE for c in text):
        return "no visible character"
    return None


def truncated(text: str) -> str | None:
    """The end of a ``text`` that stops in mid sentence, or None.

    A missing full stop alone is no sign: list items, headings and scripts without one are
    fine. A comma, an opening bracket or a function word at the end is; so is an unfinished
    clause of four words or more after two finished sentences of the same line.
    """
    bare = text.rstrip()
    if not bare:
        return None
    end = bare[-60:]
    if _NOTICE.search(bare) or _OPEN_END.search(end):
        return end
    line = bare.rsplit("\n", 1)[-1]
    if _is_complete(line):
        return None
    unfinished = len(last_fragment(line).split()) >= _MIN_FRAGMENT_WORDS
    return end if unfinished and len(_SENTENCE_END.findall(line)) > 1 else None


def open_end(text: str) -> str | None:
    """The end of a ``text`` whose last line neither ends a sentence nor is a list item, or None.

    Far weaker than ``truncated``: headings end so too. Scripts without full stops give none.
    """
    bare = text.rstrip()
    if not bare or _UNSTOPPED.search(bare[-1]):
        return None
    return None if _is_complete(bare.rsplit("\n", 1)[-1]) else bare[-60:]


def _is_complete(line: str) -> bool:
    return bool(_CLOSED.search(line) or _LIST_ITEM.match(line))


def last_fragment(line: str) -> str:
    """What follows the last end of a sentence that text follows; all of a line without one."""
    return _SENTENCE_END.split(line)[-1]


def loop(text: str) -> str | None:
    """The piece that ``text`` repeats at least four times in a row, or None.

    The repetition must be a quarter of the text and eight words, or 24 characters, long.
    """
    words = text.casefold().split()
    period = _period(_codes(words), at_least=8)
    if period:
        return _spoken(" ".join(words[period[0] : period[0] + period[1]]))
    if max(map(len, words), default=0) < _LONG_CHARS:  # a loop of spaced words was found above
        return None
    chars = "".join(words)[:_SCANNED_CHARS]
    period = _period(
        np.frombuffer(chars.encode("utf-32-le", "surrogatepass"), np.uint32), _LONG_CHARS
    )
    return _spoken(chars[period[0] : period[0] + period[1]]) if period else None


def _spoken(piece: str) -> str | None:
    """A repeated piece that is words; ruled lines and leaders are layout."""
    return piece if any(c.isalnum() for c in piece) else None


def letterless(text: str, bound: float = MIN_LETTERS) -> str | None:
    """Why ``text`` is hardly written in letters, or None; ``bound`` is a share of them."""
    counts = Counter(text[:_SCANNED_CHARS])
    n_chars = sum(n for c, n in counts.items() if not c.isspace())
    if not n_chars:
        return None
    if text.count("\ufffd") > max(1, _MAX_REPLACED * n_chars):
        return "unreadable characters"
    share = sum(n for c, n in counts.items() if unicodedata.category(c)[0] in "LM") / n_chars
    return f"{share:.0%} letters" if share < bound else None


def _codes(words: Sequence[str]) -> NDArray[np.uint32]:
    numbers: dict[str, int] = {}
    return np.array([numbers.setdefault(w, len(numbers)) for w in words], dtype=np.uint32)


def _period(codes: NDArray[np.uint32], at_least: int) -> tuple[int, int] | None:
    """Start and period of the shortest-period loop in ``codes``, shape ``(n,)``, or None."""
    needed = max(at_least, _MIN_LOOP * len(codes))
    for period in range(1, min(_MAX_PERIOD, len(codes) // _MIN_REPEATS) + 1):
        equal = codes[period:] == codes[:-period]
        wanted = max(needed, _MIN_REPEATS * period) - period
        if np.count_nonzero(equal) < wanted:
            continue
        breaks = np.flatnonzero(np.concatenate(([True], ~equal, [True])))
        runs = np.diff(breaks) - 1
        longest = int(runs.argmax())
        if runs[longest] >= wanted:
            return int(breaks[longest]), period
    return None


_LEAD = (
    r"^[\s\"'“”‘’*_#>`\[(-]{0,12}(?:(?:summary|answer|response|output|result)\s*:\s*)?"
    r"[\s\"'“*]{0,6}"
)
"""Wrappers that a model may put before its answer."""

_AROUND = {
    "whole errors": (_LEAD, r"[\s\"'”*_`]*$"),
    "pages": (r"^\s*(?:```\w*\s*)?", ""),
    "echoes": ("", ""),
}
"""What stands before and after a phrase, by section of the file; in all others ``_LEAD`` before."""

_SHORT_WORDS = 48
_PHRASES = read_phrases(Path(__file__).with_name("junk_phrases.txt"))


@cache
def _pattern(section: str) -> re.Pattern[str]:
    """Compiled when it is first used: all of them take a tenth of a second."""
    before, after = _AROUND.get(section, (_LEAD, ""))
    phrases = "|".join(_PHRASES[section]).replace(" ", r"\s+")
    return re.compile(f"{before}(?P<found>{phrases}){after}", re.IGNORECASE | re.DOTALL)


def _find(section: str, text: str) -> str | None:
    """The phrase of a section that stands in ``text``, or None."""
    match = _pattern(section).search(text)
    return match["found"] if match else None


def error(text: str) -> str | None:
    """The phrase that makes ``text`` an error message or a placeholder, or None."""
    phrase = _find("errors", text) or _find("whole errors", text)
    if phrase is None and len(text.split(maxsplit=_SHORT_WORDS)) <= _SHORT_WORDS:
        phrase = _find("short errors", text)
    return phrase


def page(text: str) -> str | None:
    """The start of ``text`` when it is an HTML, XML or JSON answer, or None."""
    return _find("pages", text) or (text.strip()[:40] if _is_json(text) else None)


def _is_json(text: str) -> bool:
    bare = text.strip()
    if not (bare.startswith("{") and bare.endswith("}")):
        return False
    try:
        return isinstance(json.loads(bare), dict)
    except ValueError:
        return False


SIGNS: dict[str, Callable[[str], str | None]] = {
    "empty": empty,
    "truncated": truncated,
    "loop": loop,
    "letterless": letterless,
    "error": error,
    "refusal": lambda text: _find("refusals", text),
    "page": page,
    "prompt_echo": lambda text: _find("echoes", text) or _find("leading echoes", text),
}
"""What a sign finds in a text, or None; in the order in which they are looked for."""
