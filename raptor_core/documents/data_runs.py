"""Detection of runs of data in a text: encoded files and minified code.

They contain no words that a model could use, but cost as many tokens as pages of prose. Chunks omit
them, and the check ``document_text`` names documents that contain some.
"""

import re
from collections.abc import Iterator
from functools import lru_cache

Span = tuple[int, int]

MIN_RUN_CHARS = 160
"""Minimum length of an encoded run without ``data:``; hashes and keys in prose are shorter."""

_MIN_URI_CHARS = 48
_LONG_CHARS = 1000
_MIN_ALTERNATION = 0.33
"""Minimum share of characters whose kind differs from the one before (lower case, upper case,
digit); Base64 has 0.6, names have 0.2."""
_MAX_WHITE = 0.05
_MIN_SYMBOLS = 0.08
"""Maximum share of white space and minimum share of code symbols in a minified line. Prose has 0.15
and 0.02, minified code 0.03 and 0.2."""

_HEAD = r"data:[\w.+-]*(?:/[\w.+-]+)?(?:;[\w.=+-]+)*,"
_URI = re.compile(rf"""(?<="){_HEAD}[^"\n]+|(?<='){_HEAD}[^'\n]+|{_HEAD}[^\s"'()<>\]]+""")
_ENCODED = re.compile(
    r"(?<![A-Za-z0-9+/_=-])[A-Za-z0-9+/_-]{48,}={0,2}"
    r"(?:[ \t]*\n[ \t>]*[A-Za-z0-9+/_-]{48,}={0,2})*"
    r"(?:[ \t]*\n[ \t>]*(?:[A-Za-z0-9+/]{4})*[A-Za-z0-9+/]{2}(?:[A-Za-z0-9+/]=|==|[A-Z0-9+/]{2}))?"
    r"(?![A-Za-z0-9+/_=-])"
)
_LONG_LINE = re.compile(r"^[^\n]{500,}$", re.MULTILINE)
_SYMBOL = re.compile(r"[{}();=\"'&|<>]")
_ALTERNATION = re.compile(r"(?<=[a-z])[A-Z0-9]|(?<=[A-Z])[a-z0-9]|(?<=[0-9])[A-Za-z]")
_BRACKETS_BEFORE = re.compile(r"[\s(<{\"'=]*(?:0x|\\x)?\Z")
_BRACKETS_AFTER = re.compile(r"[\s)>\]}\"',;/]*")


@lru_cache(maxsize=1)
def find_data_runs(text: str) -> tuple[Span, ...]:
    """Return the spans of runs of data with the brackets around them, in order and disjoint.

    The last result is cached, because the chunker and a check ask for the same text in turn.
    """
    merged: list[Span] = []
    for start, end in sorted(_extend_to_brackets(text, *span) for span in _find_runs(text)):
        if merged and start <= merged[-1][1]:
            merged[-1] = merged[-1][0], max(end, merged[-1][1])
        else:
            merged.append((start, end))
    return tuple(merged)


def _find_runs(text: str) -> Iterator[Span]:
    yield from (m.span() for m in _URI.finditer(text) if len(m[0]) >= _MIN_URI_CHARS)
    yield from (m.span() for m in _ENCODED.finditer(text) if _is_encoded(m[0]))
    yield from (m.span() for m in _LONG_LINE.finditer(text) if _is_minified(m[0]))


def _is_encoded(run: str) -> bool:
    """Return whether a run is Base64 or hexadecimal, and not a path, a name or a long word."""
    n_chars = len(run)
    is_word = run.islower() and not any(map(str.isdigit, run))
    if n_chars < MIN_RUN_CHARS or is_word:
        return False
    return n_chars >= _LONG_CHARS or len(_ALTERNATION.findall(run)) >= _MIN_ALTERNATION * n_chars


def _is_minified(line: str) -> bool:
    """Return whether a line has hardly any white space and many code symbols."""
    n_white = len(line) - sum(map(len, line.split()))
    is_dense = n_white <= _MAX_WHITE * len(line) and any(map(str.isalnum, line))
    return is_dense and len(_SYMBOL.findall(line)) >= _MIN_SYMBOLS * len(line)


def _extend_to_brackets(text: str, start: int, end: int) -> Span:
    opening = _BRACKETS_BEFORE.search(text, max(0, start - 16), start)
    closing = _BRACKETS_AFTER.match(text, end)
    return (opening.start() if opening else start), (closing.end() if closing else end)
