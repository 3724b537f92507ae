"""MDX: imports, exports, comments and tags of JSX, which are no text, are blanked before reading.

A tag inside a line of text stays, because a sentence goes on around it. Read ``markdown`` next.
"""

import re
from collections.abc import Iterable, Iterator

Span = tuple[int, int]

_BRACES = r"\{(?:[^{}]++|\{(?:[^{}]++|\{[^{}]*+\})*+\})*+\}"
_ATTRIBUTE = (
    rf"""\s+(?:[\w:.-]+(?:\s*=\s*(?:"[^"]{{0,999}}"|'[^']{{0,999}}'|{_BRACES}))?|{_BRACES})"""
)
_PART = re.compile(
    r"(?P<code>^[ \t]*(?P<fence>`{3,}|~{3,})[^\n]*\n.*?(?:^[ \t]*(?P=fence)[`~]*[ \t]*$|\Z)"
    r"|(?<!`)(?P<ticks>`++)[^\n]{0,999}?(?<!`)(?P=ticks)(?!`))"
    r"|(?P<comment>\{\s*/\*(?:(?!/\*).)*?\*/\s*\})"
    r"|(?P<module>^(?:import\s+(?:[\w*{][^;\"']{0,999}?\sfrom\s+)?[\"'][^\n]*$"
    r"|export\s+(?:default|const|let|var|function|async|class|\{|\*)))"
    rf"|(?P<tag><(?:/?[A-Za-z][\w.:-]*(?:{_ATTRIBUTE})*\s*/?|/?)>)",
    re.DOTALL | re.MULTILINE,
)
_BLANK_LINE = re.compile(r"\n[ \t]*(?:\n|\Z)")
_BEFORE_TAG = re.compile(r"[ \t>]*(?:(?:[-*+]|\d{1,9}[.)])[ \t]+)?\Z")
_SHOWN = re.compile(r"[^\n]")


def blank_mdx(text: str, start: int) -> tuple[str, list[Span]]:
    """Return the text with spaces for what is no text, from ``start`` on, and these spans."""
    holes: list[Span] = []
    tags: list[Span] = []
    at = start
    while part := _PART.search(text, at):
        at = part.end()
        if part["module"]:
            at = _end_of_module(text, part.end())
            holes.append((part.start(), at))
        elif part["comment"]:
            holes.append(part.span())
        elif part["tag"]:
            tags.append(part.span())
    holes = sorted({*holes, *_at_line_start(text, tags, holes), *_at_line_end(text, tags)})
    return _blanked(text, holes), holes


def _end_of_module(text: str, at: int) -> int:
    """Return the end of an import or export: a blank line outside of braces."""
    end = start = at
    while True:
        blank = _BLANK_LINE.search(text, end)
        if blank is None:
            return len(text)
        code = text[text.rfind("\n", 0, start) + 1 : blank.start()]
        if code.count("{") <= code.count("}"):
            return blank.start()
        end = blank.start() + 1


def _at_line_start(text: str, tags: Iterable[Span], holes: Iterable[Span]) -> Iterator[Span]:
    """Yield the tags before which their line holds only tags, comments or the mark of an item."""
    ends = {end for _, end in holes}
    last = -1
    for start, end in tags:
        begin = max(text.rfind("\n", 0, start) + 1, last)
        prefix = text[begin:start]
        if _BEFORE_TAG.match(prefix) or begin + len(prefix.rstrip()) in ends:
            last = end
            yield start, end


def _at_line_end(text: str, tags: list[Span]) -> Iterator[Span]:
    """Yield the tags after which their line holds only tags."""
    first = len(text) + 1
    for start, end in reversed(tags):
        line_end = text.find("\n", end)
        stop = min(len(text) if line_end < 0 else line_end, first)
        if not text[end:stop].strip():
            first = start
            yield start, end


def _blanked(text: str, holes: Iterable[Span]) -> str:
    parts: list[str] = []
    at = 0
    for start, end in holes:
        parts += [text[at:start], _SHOWN.sub(" ", text[start:end])]
        at = max(at, end)
    return "".join([*parts, text[at:]])
