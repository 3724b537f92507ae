"""Blocks of a text: headings, paragraphs, list items, code and table rows.

The parser of a format finds them, so no other package needs to know the markup. Cutting and joining
blocks is the job of ``raptor_core.chunking``.
"""

import json
import re
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from itertools import pairwise
from typing import Literal, NamedTuple

Kind = Literal[
    "heading", "paragraph", "item", "quote", "code", "names", "row", "directive", "rule", "chunk"
]
_KINDS: dict[str, Kind] = {
    "h": "heading",
    "p": "paragraph",
    "i": "item",
    "q": "quote",
    "c": "code",
    "n": "names",
    "r": "row",
    "d": "directive",
    "-": "rule",
    "k": "chunk",
}
_LETTERS = {kind: letter for letter, kind in _KINDS.items()}

_RULE = re.compile(r"[\s\-=_*~+|:#^>─━═│┃┼╋╪·•]*\Z")


@dataclass(frozen=True, slots=True)
class Section:
    """Part of a text from a heading to ``end`` (exclusive), with all deeper sections.

    ``start`` and ``end`` are character offsets into ``Document.text``; the outermost level is 1.
    """

    title: str
    level: int
    start: int
    end: int


class Block(NamedTuple):
    """Block of a text from character ``start`` to ``end`` (exclusive), stripped of white space.

    Text outside all blocks is not content: comments, front matter, JSX tags. A rule is not content
    either, but may stand between the rows of a table.

    Attributes:
        kind: "names" is the row with the column names of a table, "directive" the line that
            introduces its indented body. "code" is cut at lines; rows are never cut. A "chunk" is
            neither cut nor joined; a source that supplies chunks has no other blocks.
        depth: rank of a heading, 1 for the outermost.
        label: for "names", the column names joined by " | "; for a directive, its title; for a
            chunk, its metadata as JSON text.
    """

    kind: Kind
    start: int
    end: int
    depth: int = 0
    label: str = ""


def pack_blocks(blocks: Iterable[Block]) -> str:
    """Encode blocks as JSON text; each start is relative to the preceding end."""
    rows: list[list[object]] = []
    at = 0
    for kind, start, end, depth, label in blocks:
        row: list[object] = [_LETTERS[kind], start - at, end - start]
        rows.append([*row, depth, label] if depth or label else row)
        at = end
    return json.dumps(rows, ensure_ascii=False, separators=(",", ":"))


def unpack_blocks(packed: str) -> list[Block]:
    """Decode the blocks that ``pack_blocks`` encoded."""
    blocks = []
    at = 0
    for letter, gap, length, *more in json.loads(packed):
        start, at = at + gap, at + gap + length
        blocks.append(Block(_KINDS[letter], start, at, *more))
    return blocks


def is_horizontal_rule(text: str) -> bool:
    """Return whether a text consists of characters that draw lines."""
    return _RULE.match(text) is not None


def split_at_bounds(text: str, bounds: Iterable[int]) -> Iterator[tuple[int, int]]:
    """Yield the spans between the bounds, stripped of white space; skip empty ones."""
    for start, end in pairwise(bounds):
        part = text[start:end]
        first = start + len(part) - len(part.lstrip())
        if first < end:
            yield first, start + len(part.rstrip())


def strip_block(text: str, block: Block) -> Iterator[Block]:
    """Yield the block stripped of white space, as a rule if it only draws a line."""
    for start, end in split_at_bounds(text, (block.start, block.end)):
        kind = (
            "rule" if block.kind != "code" and is_horizontal_rule(text[start:end]) else block.kind
        )
        yield block._replace(kind=kind, start=start, end=end)


def join_column_names(cells: Iterable[str]) -> str:
    """Join the names of columns with " | ", without empty ones."""
    return " | ".join(filter(None, (" ".join(cell.split()) for cell in cells)))
