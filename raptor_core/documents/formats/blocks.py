"""Puts extracted text together, block by block, and notes where the headings are."""

from __future__ import annotations

import re

from raptor_core.documents.formats.parsed import Heading, clean_text

_WHITE = re.compile(r"[ \t\n\r\f\xa0]+")
_SPACES = re.compile(r" {2,}")
_BREAKS = re.compile(r"\n{3,}")
_AROUND_BREAK = re.compile(r" ?\n ?")
_CELL = " | "


class Blocks:
    """Blocks of text in order, joined by a blank line; rows and items of one run by a newline.

    Text arrives in pieces; ``end`` closes the block that is open. White space folds to one
    space except in preformatted text. Everything is linear in the number of characters.
    """

    def __init__(self) -> None:
        self._parts: list[str] = []
        self._n_chars = 0
        self._last_kind = ""
        self._pieces: list[str] = []
        self._pre = False
        self._kind = ""  # "item" and "row" are tight, "h1" and so on are headings
        self._marker = ""
        self._n_cells = 0
        self._headings: list[Heading] = []

    def text(self, data: str) -> None:
        """Add running text."""
        if self._pre:
            self.end()
        self._pieces.append(_WHITE.sub(" ", data))

    def text_with_breaks(self, data: str) -> None:
        """Add running text whose newlines are line breaks."""
        for number, line in enumerate(data.split("\n")):
            if number:
                self.line_break()
            self.text(line)

    def preformatted(self, data: str) -> None:
        """Add text whose white space counts."""
        if not self._pre and self._kind in {"", "item"}:
            self.end()
            self._pre = True
        self._pieces.append(data)

    def line_break(self) -> None:
        """A line ends within the block."""
        self._pieces.append("\n")

    def begin_heading(self, rank: int) -> None:
        """The next block is a heading; rank 1 is the outermost."""
        self._kind = f"h{rank}"

    def begin_item(self, marker: str) -> None:
        """The next block is an item of a list."""
        self._kind, self._marker = "item", marker

    def begin_row(self) -> None:
        """The next block is a row of a table."""
        self._kind = "row"

    def cell(self) -> None:
        """A cell of a row begins."""
        if self._pre:
            self.end()
        self._kind = self._kind or "row"
        self._pieces.append(_CELL if self._n_cells else "")
        self._n_cells += 1

    def end(self) -> None:
        """Close the open block. One without text leaves no trace but the kind of the next."""
        if not self._pieces:
            return
        body = self._body()
        kind, pre = self._kind, self._pre
        self._pieces, self._pre, self._n_cells = [], False, 0
        if not body:
            return
        self._kind = ""
        if kind == "item":
            body, self._marker = self._marker + body, ""
        tight = kind in {"item", "row"} and kind == self._last_kind
        gap = "" if not self._parts else "\n" if tight else "\n\n"
        start = self._n_chars + len(gap)
        if kind.startswith("h") and not pre:
            body = body.replace("\n", " ")
            self._headings.append(Heading(body, int(kind[1:]), start))
        self._parts += [gap, body]
        self._n_chars = start + len(body)
        self._last_kind = kind

    def leave(self) -> None:
        """Close the open block, and the heading, item or row that it was to be."""
        self.end()
        self._kind = self._marker = ""

    def finish(self) -> tuple[str, list[Heading]]:
        """The whole text, and its headings by start."""
        self.end()
        return "".join(self._parts), self._headings

    def _body(self) -> str:
        joined = clean_text("".join(self._pieces))
        if self._pre:
            return "\n".join(line.rstrip() for line in joined.split("\n")).strip("\n")
        folded = _AROUND_BREAK.sub("\n", _SPACES.sub(" ", joined)).strip()
        if self._kind == "row":
            folded = folded.replace("\n", " ")
            return folded if folded.strip(" |") else ""
        return _BREAKS.sub("\n\n", folded)
