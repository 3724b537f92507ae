"""Writer that composes a text from pieces, for formats that mark their blocks."""

import re
from collections.abc import Iterable, Mapping

from raptor_formats.base import MetadataValue, Parsed
from raptor_formats.blocks import Block, is_horizontal_rule, join_column_names, pack_blocks
from raptor_formats.metadata import clean_metadata
from raptor_formats.sections import Heading, nest_headings
from raptor_formats.text import clean_text, is_number, one_line

_WHITE = re.compile(r"[ \t\n\r\f\xa0]+")
_SPACES = re.compile(r" {2,}")
_BREAKS = re.compile(r"\n{3,}")
_AROUND_BREAK = re.compile(r" ?\n ?")
_CELL = " | "


class BlockWriter:
    """Writer of blocks, with a blank line between them, or a newline between rows and list items.

    Text arrives in pieces; ``end_block`` closes the open block. Runs of white space become one
    space, except in preformatted text.
    """

    def __init__(self) -> None:
        self._parts: list[str] = []
        self._n_chars = 0
        self._last_kind = ""
        self._pieces: list[str] = []
        self._pre = False
        self._kind = ""  # "item", "row", "h1" and so on
        self._marker = ""
        self._n_cells = 0
        self._n_named = 0  # cells that name a column
        self._begins_table = False
        self._headings: list[Heading] = []
        self._blocks: list[Block] = []

    def add_text(self, data: str) -> None:
        """Add running text."""
        if self._pre:
            self.end_block()
        self._pieces.append(_WHITE.sub(" ", data))

    def write_paragraph(self, data: str) -> None:
        """Write a paragraph whose newlines are line breaks, and close the block."""
        for number, line in enumerate(data.split("\n")):
            if number:
                self.break_line()
            self.add_text(line)
        self.end_block_and_kind()

    def add_preformatted(self, data: str) -> None:
        """Add text whose white space is kept."""
        if not self._pre and self._kind in {"", "item"}:
            self.end_block()
            self._pre = True
        self._pieces.append(data)

    def break_line(self) -> None:
        """Begin a new line within the block."""
        self._pieces.append("\n")

    def begin_heading(self, rank: int) -> None:
        """Make the next block a heading; rank 1 is the outermost."""
        self._kind = f"h{rank}"

    def begin_item(self, marker: str) -> None:
        """Make the next block a list item."""
        self._kind, self._marker = "item", marker

    def begin_table(self) -> None:
        """Make the next row the first of a table."""
        self._begins_table = True

    def begin_row(self) -> None:
        """Make the next block a table row."""
        self._kind = "row"

    def write_row(self, cells: Iterable[str], *, may_name: bool = True) -> None:
        """Write a table row; the first one may name the columns, if it contains no number."""
        texts = list(cells)
        filled = [text for text in texts if text.strip()]
        names = may_name and len(filled) > 1 and not any(map(is_number, filled))
        has_corner = may_name and len(filled) > 1 and not texts[0].strip()
        self.begin_row()
        for text in texts:
            self.begin_cell(names_column=names or has_corner)
            self.add_text(text)
        self.end_block_and_kind()

    def begin_cell(self, *, names_column: bool = False) -> None:
        """Begin a cell of the row."""
        if self._pre:
            self.end_block()
        self._kind = self._kind or "row"
        self._pieces.append(_CELL if self._n_cells else "")
        self._n_cells += 1
        self._n_named += names_column

    def end_block(self) -> None:
        """Close the open block; if it is empty, the next block gets its kind."""
        if not self._pieces:
            return
        body = self._join_pieces()
        kind, pre = self._kind, self._pre
        is_named = 1 < self._n_cells == self._n_named
        self._pieces, self._pre, self._n_cells, self._n_named = [], False, 0, 0
        if not body:
            return
        self._kind = ""
        if kind == "item":
            body, self._marker = self._marker + body, ""
        begins_table = kind == "row" and (self._begins_table or self._last_kind != "row")
        tight = kind in {"item", "row"} and kind == self._last_kind and not begins_table
        gap = "" if not self._parts else "\n" if tight else "\n\n"
        start = self._n_chars + len(gap)
        block = Block("paragraph", start, start + len(body))
        if pre:
            block = block._replace(kind="code")
        elif kind.startswith("h"):
            body = body.replace("\n", " ")
            self._headings.append(Heading(body, int(kind[1:]), start))
            block = block._replace(kind="heading", depth=int(kind[1:]))
        elif kind == "row" and begins_table and is_named:
            block = block._replace(kind="names", label=join_column_names(body.split("|")))
        elif kind:
            block = block._replace(kind="row" if kind == "row" else "item")
        self._blocks.append(block._replace(kind="rule") if is_horizontal_rule(body) else block)
        self._begins_table = self._begins_table and kind != "row"
        self._parts += [gap, body]
        self._n_chars = start + len(body)
        self._last_kind = kind

    def end_block_and_kind(self) -> None:
        """Close the open block, and forget its kind."""
        self.end_block()
        self._kind = self._marker = ""

    @property
    def n_headings(self) -> int:
        """Number of completed headings."""
        return len(self._headings)

    def to_parsed(
        self, title: str = "", metadata: Mapping[str, MetadataValue] | None = None
    ) -> Parsed:
        """Return the text with its sections; without a title, use the first heading."""
        self.end_block()
        text, headings = "".join(self._parts), self._headings
        name = one_line(title) or next((h.title for h in headings if h.title), "")
        sections = nest_headings(headings, len(text))
        return Parsed(
            text,
            name,
            sections,
            clean_metadata(metadata or {}),
            packed_blocks=pack_blocks(self._blocks),
        )

    def _join_pieces(self) -> str:
        joined = clean_text("".join(self._pieces))
        if self._pre:
            return "\n".join(line.rstrip() for line in joined.split("\n")).strip("\n")
        folded = _AROUND_BREAK.sub("\n", _SPACES.sub(" ", joined)).strip()
        if self._kind == "row":
            folded = folded.replace("\n", " ")
            return folded if folded.strip(" |") else ""
        return _BREAKS.sub("\n\n", folded)
