"""Structure around the blocks of a document: section starts, lead-ins, columns, heading paths.

The parsers of the formats find the blocks; see ``raptor_formats.blocks``. Sentences inside a block
are found in ``sentences`` and packed in ``packing``.
"""

import re
from bisect import bisect_left, bisect_right
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from itertools import pairwise

from raptor_core.chunking.base import Chunk
from raptor_core.chunking.packing import BegunUnit
from raptor_core.documents.base import Document
from raptor_core.text.sentence_ends import ends_sentence
from raptor_core.tokens.base import TokenCounter
from raptor_formats.blocks import Block, unpack_blocks
from raptor_formats.markup.markdown import read_markdown
from raptor_formats.markup.plain import WRAP_CHARS, find_title_starts

MAX_TITLE_CHARS = 120
"""Longest paragraph that can be the title of the table below it, in characters."""

MAX_DEPTH = 6
"""Greatest depth of a heading that begins a section."""

_BLANK_LINE = re.compile(r"\n[^\S\n]*\n")
_CLOSERS = "*_`\"'”’»)]"
_COLONS = (":", "：")
_ROWS = ("names", "row")

Parts = tuple[tuple[int, int], ...]
"""First character of each paragraph of which a chunk contains text, and the tokens of that text."""


@dataclass(frozen=True, slots=True)
class OutlineBlock:
    """Block in its document.

    Attributes:
        block: the block; never a rule.
        begun_unit: unit of text that begins with it.
        level: depth of a heading, 1 to 7; 0 for other blocks.
        introduces_next: whether it introduces the next block and says little without it.
    """

    block: Block
    begun_unit: BegunUnit
    level: int
    introduces_next: bool


def document_blocks(document: Document) -> list[Block]:
    """Return the blocks of a document without rules; text of unknown format is read as Markdown."""
    if document.blocks:
        blocks = unpack_blocks(document.blocks)
    else:
        blocks = read_markdown(document.text, find_title_starts(document.text, document.sections))
    return [block for block in blocks if block.kind != "rule"]


def outline_blocks(document: Document) -> Iterator[OutlineBlock]:
    """Yield the blocks of a document in order."""
    text, paths, blocks = document.text, SectionPaths(document), document_blocks(document)
    starts = sorted({section.start for section in document.sections})
    previous: Block | None = None
    for block, following in pairwise([*blocks, None]):
        if block is None:
            break
        level = 0
        if block.kind == "heading":
            level = min(max(1, len(paths.path_at(block.start)) or block.depth), 7)
        first = previous.end if previous else 0
        begins_section = bisect_left(starts, first) < bisect_left(starts, block.start + 1)
        opens = BegunUnit.SECTION if begins_section or level else BegunUnit.PARAGRAPH
        if (
            opens is BegunUnit.PARAGRAPH
            and previous
            and _continues_list_or_table(text, previous, block)
        ):
            opens = BegunUnit.NOTHING
        yield OutlineBlock(block, opens, level, _introduces_next(text, block, following))
        previous = block


def _continues_list_or_table(text: str, previous: Block, block: Block) -> bool:
    """Return whether a block continues a list or a table, without a blank line in between."""
    if _BLANK_LINE.search(text, previous.end, block.start):
        return False
    if block.kind in _ROWS:
        return previous.kind in _ROWS
    if block.kind != "item" or previous.kind not in ("item", "paragraph", "quote"):
        return False
    line_start = text.rfind("\n", previous.start, previous.end) + 1
    line_end = text.find("\n", block.start, block.end)
    last_line_chars = previous.end - max(line_start, previous.start)
    first_line_chars = (line_end if line_end > 0 else block.end) - block.start
    return max(last_line_chars, first_line_chars) <= WRAP_CHARS


def _introduces_next(text: str, block: Block, following: Block | None) -> bool:
    """Return whether a block introduces the next: a heading, or a line that ends with a colon."""
    if block.kind in ("heading", "directive", "names"):
        return True
    if block.kind in ("code", "row", "chunk") or following is None:
        return False
    if block.kind == "item" and following.kind in ("code", "directive"):
        return True
    return text[max(block.start, block.end - 8) : block.end].rstrip(_CLOSERS).endswith(_COLONS)


@dataclass(frozen=True, slots=True)
class TableRows:
    """Rows of a table from ``start`` to ``end``, and its title with the names of its columns."""

    start: int
    end: int
    header: str


def find_tables(document: Document) -> list[TableRows]:
    """Return the rows of tables with column names or a title, in order."""
    text, tables = document.text, list[TableRows]()
    title, names, previous = "", "", Block("paragraph", 0, 0)
    for block in document_blocks(document):
        if block.kind in _ROWS:
            if previous.kind != "names" and not _continues_list_or_table(text, previous, block):
                title, names = _table_title(text, previous), ""
            if block.kind == "names":
                names = " | ".join(filter(None, (names, block.label)))
            label = ": ".join(filter(None, (title, names)))
            if block.kind == "row" and tables and tables[-1].end == previous.end:
                tables[-1] = TableRows(tables[-1].start, block.end, label)
            elif block.kind == "row" and label:
                tables.append(TableRows(block.start, block.end, label))
        previous = block
    return tables


def _table_title(text: str, block: Block) -> str:
    """Return the title of a table from the block above it; its section names a heading."""
    shown = " ".join((block.label or text[block.start : block.end]).split())
    if block.kind == "directive":
        return block.label
    is_title = block.kind == "paragraph" or (block.kind == "heading" and block.depth > MAX_DEPTH)
    if not is_title or len(shown) > MAX_TITLE_CHARS or ends_sentence(shown):
        return ""
    return shown.rstrip(":：")


def continued_table_header(tables: Sequence[TableRows], start: int) -> str:
    """Return the label of the table whose rows continue at a character, or ""."""
    at = bisect_right(tables, start, key=lambda rows: rows.start) - 1
    return tables[at].header if at >= 0 and start < tables[at].end else ""


def paragraph_parts(
    document: Document, chunks: Sequence[Chunk], counter: TokenCounter
) -> list[Parts]:
    """Return each chunk's parts of paragraphs; what introduces a paragraph is part of it."""
    starts, begins = list[int](), True
    for part in outline_blocks(document):
        if begins and (part.begun_unit is not BegunUnit.NOTHING or not starts):
            starts.append(part.block.start)
        begins = not part.introduces_next
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
        _add_token_counts(inner, chunk.n_tokens, counts)
        for chunk, inner in zip(chunks, within, strict=True)
    ]


def _add_token_counts(starts: Sequence[int], n_tokens: int, counts: Iterator[int]) -> Parts:
    """Add token counts to the parts; their sum is at least the tokens of the chunk."""
    if len(starts) == 1:
        return ((starts[0], n_tokens),)
    counted = [next(counts) for _ in starts]
    counted[-1] += max(0, n_tokens - sum(counted))
    return tuple(zip(starts, counted, strict=True))


class SectionPaths:
    """Paths of headings by character, found by binary search."""

    def __init__(self, document: Document) -> None:
        marks = {0} | {s.start for s in document.sections} | {s.end for s in document.sections}
        self._marks = sorted(marks)
        self._paths = list(_paths_between(document, self._marks))

    def path_at(self, character: int) -> tuple[str, ...]:
        """Return the titles of the sections around the character, outermost first."""
        return self._paths[bisect_right(self._marks, character) - 1]


def _paths_between(document: Document, marks: list[int]) -> list[tuple[str, ...]]:
    """Return the path from each mark to the next; sections are nested and sorted by start."""
    paths: list[tuple[str, ...]] = []
    opened: list[tuple[int, str]] = []
    at = 0
    for mark in marks:
        opened = [(end, title) for end, title in opened if mark < end]
        while at < len(document.sections) and document.sections[at].start <= mark:
            section = document.sections[at]
            if mark < section.end:
                opened.append((section.end, section.title))
            at += 1
        paths.append(tuple(title for _, title in opened))
    return paths
