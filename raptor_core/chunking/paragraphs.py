"""Paragraphs of plain text and Markdown: start, end and kind of each block.

The kind and extent of a block depend only on its own lines and the next line, so an edit changes
no other block. The only exception is a code fence, which Markdown reads up to its closing fence.
Sentences within a paragraph are in ``sentences``.
"""

import re
from bisect import bisect_left, bisect_right
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from itertools import pairwise
from typing import Literal

from raptor_core.chunking.base import Chunk
from raptor_core.chunking.sections import heading_starts
from raptor_core.documents.base import Document
from raptor_core.tokens.base import TokenCounter

Kind = Literal["prose", "heading", "lines"]

# A longer line is a paragraph by itself: text with such lines is not wrapped.
WRAP_CHARS = 120

_LINE = re.compile(r"[^\n\r\f\x85\u2028\u2029]*(?:\r\n|[\n\r\f\x85\u2028\u2029]|\Z)")
_FENCE = re.compile(r" {0,3}(`{3,}|~{3,})")
_HEADING = re.compile(r" {0,3}#{1,6}(?:\s|$)")
_UNDERLINE = re.compile(r" {0,3}(?:=+|-{2,})\s*$")
_RULE = re.compile(r" {0,3}([-*_])(?:[ \t]*\1){2,}\s*$")
_TABLE = re.compile(r"\s*\|.*\|\s*$")
_INDENTED = re.compile(r"(?: {4}|\t)\s*\S")
_CODE = re.compile(r"[{}<>=;]|\w\(|^\s*(?:[$#@]|//|import |return\b|def |class )")


@dataclass(frozen=True, slots=True)
class Paragraph:
    """Block of text from character ``start`` to ``end``, without white space around it.

    Kind "prose" is cut into sentences, kind "lines" (code, tables) into lines; a "heading" is not
    cut.
    """

    start: int
    end: int
    kind: Kind


@dataclass(frozen=True, slots=True)
class _Line:
    start: int
    text: str


Parts = tuple[tuple[int, int], ...]
"""First character of each paragraph that a chunk has text of, and the tokens of that text."""


def paragraphs_of(document: Document) -> list[Paragraph]:
    """Return the paragraphs of a document, headings included."""
    return paragraphs(document.text, heading_starts(document)[0])


def parts_of(document: Document, chunks: Sequence[Chunk], counter: TokenCounter) -> list[Parts]:
    """Return each chunk's parts of paragraphs; a heading is part of the paragraph below it."""
    starts, begins = [], True
    for block in paragraphs_of(document):
        if begins:
            starts.append(block.start)
        begins = block.kind != "heading"
    within = [
        starts[max(0, bisect_right(starts, chunk.start) - 1) : bisect_left(starts, chunk.end)]
        for chunk in chunks
    ]
    texts = [
        document.text[max(a, chunk.start) : b].rstrip()
        for chunk, inner in zip(chunks, within, strict=True)
        for a, b in pairwise([*inner, chunk.end])
        if len(inner) > 1
    ]
    counts = iter(counter.count(texts))
    return [
        _with_tokens(inner, chunk.n_tokens, counts)
        for chunk, inner in zip(chunks, within, strict=True)
    ]


def _with_tokens(starts: Sequence[int], n_tokens: int, counts: Iterator[int]) -> Parts:
    """Add tokens to the parts; their sum is at least the tokens of the chunk."""
    if len(starts) == 1:
        return ((starts[0], n_tokens),)
    counted = [next(counts) for _ in starts]
    counted[-1] += max(0, n_tokens - sum(counted))
    return tuple(zip(starts, counted, strict=True))


def paragraphs(text: str, headings: Sequence[int] = ()) -> list[Paragraph]:
    """Return the paragraphs of ``text`` in order, covering all but white space.

    ``headings`` are the characters at which sections begin, ascending. A line there is a heading
    even without a mark.
    """
    lines = [_Line(match.start(), match[0]) for match in _LINE.finditer(text) if match[0]]
    sections = set(headings)
    fences = _fences(lines)
    blocks: list[Paragraph] = []
    block: list[_Line] = []
    kind: Kind | None
    at = 0
    while at < len(lines):
        end, kind = at + 1, None
        if at in fences:
            end, kind = fences[at] + 1, "lines"
        elif _is_heading(lines, at, sections):
            end, kind = at + (2 if _is_underlined(lines, at) else 1), "heading"
        if kind or not lines[at].text.strip() or _breaks(lines, at):
            blocks += _close(block)
            block = []
        if kind:
            blocks += _trim(lines[at:end], kind)
        else:
            block.append(lines[at])
        at = end
    return [*blocks, *_close(block)]


def _fences(lines: list[_Line]) -> dict[int, int]:
    """Map the first line of each closed code fence to its last line."""
    fences: dict[int, int] = {}
    opened, mark = -1, ""
    for at, line in enumerate(lines):
        match = _FENCE.match(line.text)
        if match is None:
            continue
        if opened < 0:
            opened, mark = at, match.group(1)
        elif match.group(1).startswith(mark) and not line.text[match.end() :].strip():
            fences[opened] = at
            opened = -1
    return fences


def _is_heading(lines: list[_Line], at: int, sections: set[int]) -> bool:
    line = lines[at]
    if not line.text.strip():
        return False
    indent = len(line.text) - len(line.text.lstrip())
    named = any(start in sections for start in range(line.start, line.start + indent + 1))
    return named or bool(_HEADING.match(line.text)) or _is_underlined(lines, at)


def _is_underlined(lines: list[_Line], at: int) -> bool:
    """Return whether the next line underlines this one as a heading; it must begin a block."""
    if at + 1 >= len(lines) or not _UNDERLINE.match(lines[at + 1].text):
        return False
    first = at == 0 or not lines[at - 1].text.strip()
    text = lines[at].text
    return first and bool(text.strip()) and len(text) <= WRAP_CHARS and not _RULE.match(text)


def _breaks(lines: list[_Line], at: int) -> bool:
    """Return whether a new paragraph begins with this line although no blank line precedes it."""
    if at == 0:
        return False
    line, previous = lines[at].text, lines[at - 1].text
    if max(len(line), len(previous)) > WRAP_CHARS:
        return True
    return bool(_TABLE.match(line)) != bool(_TABLE.match(previous))


def _close(block: list[_Line]) -> list[Paragraph]:
    """Return the open block as prose, or as lines if it looks like code or a table."""
    filled = [line.text for line in block if line.text.strip()]
    if not filled:
        return []
    table = all(_TABLE.match(line) for line in filled)
    code = all(_INDENTED.match(line) for line in filled) and 2 * sum(
        bool(_CODE.search(line)) for line in filled
    ) >= len(filled)
    return _trim(block, "lines" if table or code else "prose")


def strip_spans(text: str, bounds: Iterable[int]) -> Iterator[tuple[int, int]]:
    """Yield the spans between the bounds without white space around them; skip empty ones."""
    for start, end in pairwise(bounds):
        part = text[start:end]
        first = start + len(part) - len(part.lstrip())
        if first < end:
            yield first, start + len(part.rstrip())


def _trim(lines: list[_Line], kind: Kind) -> list[Paragraph]:
    """Return the lines as one paragraph without white space around it, or none if it is empty."""
    joined = "".join(line.text for line in lines)
    if not joined.strip():
        return []
    start = lines[0].start + len(joined) - len(joined.lstrip())
    return [Paragraph(start, lines[0].start + len(joined.rstrip()), kind)]
