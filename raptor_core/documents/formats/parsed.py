"""Result of a parser, and the tools of all parsers: cleaning, sections, blocks of text."""

import math
import re
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field

from raptor_core.documents.base import MEGABYTE, Document, MetadataValue, Section
from raptor_core.documents.blocks import Block, is_rule, join_cells, pack, unpack
from raptor_core.documents.formats.plain import read_plain, title_starts
from raptor_core.text.words import SYLLABIC

_TO_CLEAN = re.compile(r"[\x00-\x08\x0b-\x1f\x7f-\x9f\xad\u200b\u2060-\u2064\ufeff\ud800-\udfff]")
_ZERO_WIDTH = r"[\xad\u200b\u2060-\u2064\ufeff]"
_INVISIBLE = re.compile(  # longer runs hide a message, which the check of injections finds
    rf"(?<![{SYLLABIC}])(?<!{_ZERO_WIDTH}){_ZERO_WIDTH}{{1,7}}(?!{_ZERO_WIDTH})"
    r"|\x1b\[[0-9;?]*[A-Za-z]"  # colours of a terminal
)
_CONTROL = re.compile(r"[\x00-\x08\x0b-\x1f\x7f-\x9f]")
_SURROGATE = re.compile(r"[\ud800-\udfff]")


class UnreadableError(Exception):
    """A file or record cannot be read, for the reason in the message; it becomes ``Skipped``.

    ``readers`` are those that it declares; see ``Skipped``.
    """

    def __init__(self, message: str, readers: tuple[str, ...] | None = None) -> None:
        super().__init__(message)
        self.readers = readers


class EmptyFileError(UnreadableError):
    """A file was read and holds no text."""


def check_size(n_bytes: int, max_file_mb: float, expansion: int = 1) -> None:
    """Raise UnreadableError for more than ``expansion`` times ``max_file_mb``."""
    size, bound = f"{n_bytes / MEGABYTE:.1f} MB", "source.max_file_mb"
    if expansion > 1:
        size, bound = f"{n_bytes / MEGABYTE:.0f} MB uncompressed", f"{expansion} x {bound}"
    most_mb = expansion * max_file_mb
    if n_bytes > most_mb * MEGABYTE:
        raise UnreadableError(f"{size} is over the limit of {most_mb:g} MB ({bound})")


@dataclass(frozen=True, slots=True)
class Parsed:
    """Text of a document; ``title`` is empty if unknown, ``pages`` are the starts of pages.

    ``blocks`` and ``readers`` are as in ``Document``; without blocks it is a plain text.
    """

    text: str
    title: str = ""
    sections: tuple[Section, ...] = ()
    metadata: Mapping[str, MetadataValue] = field(default_factory=dict)
    pages: tuple[int, ...] = ()
    blocks: str = ""
    readers: tuple[str, ...] | None = None

    def document(self, name: str, source: str, metadata: Mapping[str, MetadataValue]) -> Document:
        """Return the document with this content."""
        return Document(
            id=name,
            text=self.text,
            title=self.title,
            source=source,
            sections=self.sections,
            metadata=metadata,
            pages=self.pages,
            blocks=self.blocks or pack(self.list_blocks()),
            readers=self.readers,
        )

    def list_blocks(self) -> list[Block]:
        """Return the blocks; those of plain text if its reader gave none."""
        if self.blocks:
            return unpack(self.blocks)
        return list(read_plain(self.text, title_starts(self.text, self.sections)))


def clean_text(text: str) -> str:
    r"""Return the text with newlines as ``\n``, and without a byte order mark.

    Soft hyphens and zero-width spaces are removed; between words of Thai, Lao, Burmese and Khmer
    the latter stay. Other control characters but ``\n`` and ``\t`` become spaces, and lone
    surrogates U+FFFD.
    """
    if not _TO_CLEAN.search(text):
        return text
    text = text.removeprefix("\ufeff")
    if "\r" in text:
        text = text.replace("\r\n", "\n").replace("\r", "\n")
    text = _INVISIBLE.sub("", text)
    return _SURROGATE.sub("\ufffd", _CONTROL.sub(" ", text))


def control_share(text: str) -> float:
    """Return the share of control characters that are no white space, 0 to 1."""
    white = sum(text.count(char) for char in "\r\f\v\x85")
    return (len(_CONTROL.findall(text)) - white) / max(1, len(text))


def one_line(text: str) -> str:
    """Return clean text with runs of white space folded to one space, stripped."""
    return " ".join(clean_text(text).split())


def number_as_written(text: str) -> float | str:
    """Return a number, or its text where the number would be written in another way: "1.10".

    A number too large for a float stays one, and is infinite.
    """
    number = float(text)
    return number if math.isinf(number) or repr(number) == text else text


def clean_metadata(metadata: Mapping[str, MetadataValue]) -> dict[str, MetadataValue]:
    """Return metadata with each text in one line, without blank texts and empty lists."""
    clean = {key: _clean_value(value) for key, value in metadata.items()}
    return {key: value for key, value in clean.items() if value not in ("", ())}


def _clean_value(value: MetadataValue) -> MetadataValue:
    if isinstance(value, tuple):
        items = (one_line(item) if isinstance(item, str) else item for item in value)
        return tuple(item for item in items if item != "")
    return one_line(value) if isinstance(value, str) else value


@dataclass(frozen=True, slots=True)
class Heading:
    """Heading with its start and its rank in the format, 1 for the outermost."""

    title: str
    rank: int
    start: int


def nest(headings: Sequence[Heading], n_chars: int) -> tuple[Section, ...]:
    """Return the sections of a text of ``n_chars`` characters from its headings, both in order.

    A section ends at the next heading of the same or an outer rank. Its level is its depth of
    nesting, from 1, so that levels have no gap. Headings without a title are ignored.
    """
    kept = [heading for heading in headings if heading.title]
    ends = [n_chars] * len(kept)
    levels = [1] * len(kept)
    open_rows: list[int] = []
    for row, heading in enumerate(kept):
        while open_rows and kept[open_rows[-1]].rank >= heading.rank:
            ends[open_rows.pop()] = heading.start
        open_rows.append(row)
        levels[row] = len(open_rows)
    return tuple(
        Section(heading.title, level, heading.start, end)
        for heading, level, end in zip(kept, levels, ends, strict=True)
    )


def join(parts: Iterable[Parsed]) -> Parsed:
    """Return parts as one text with their sections, a blank line between them."""
    headings: list[Heading] = []
    blocks: list[Block] = []
    texts: list[str] = []
    start = 0
    for part in parts:
        headings += [Heading(s.title, s.level, start + s.start) for s in part.sections]
        blocks += _moved(part.list_blocks(), start)
        texts.append(part.text)
        start += len(part.text) + len(_GAP)
    text = _GAP.join(texts)
    return Parsed(text, sections=nest(headings, len(text)), blocks=pack(blocks))


def _moved(blocks: Iterable[Block], start: int) -> Iterator[Block]:
    for block in blocks:
        yield block._replace(start=block.start + start, end=block.end + start)


def head(title: str, part: Parsed) -> Parsed:
    """Return a part under a heading, with its own sections below it."""
    start = len(title) + len(_GAP)
    inner = [Heading(s.title, s.level + 1, start + s.start) for s in part.sections]
    text = f"{title}{_GAP}{part.text}"
    blocks = pack([Block("heading", 0, len(title), 1), *_moved(part.list_blocks(), start)])
    return Parsed(text, sections=nest([Heading(title, 1, 0), *inner], len(text)), blocks=blocks)


_GAP = "\n\n"
_SIGNS = str.maketrans("", "", "%$€£¥ \xa0\u202f',.()")
_WHITE = re.compile(r"[ \t\n\r\f\xa0]+")
_SPACES = re.compile(r" {2,}")
_BREAKS = re.compile(r"\n{3,}")
_AROUND_BREAK = re.compile(r" ?\n ?")
_CELL = " | "


def is_number(cell: str) -> bool:
    """Return whether the text of a cell is a number, with its signs and units of money."""
    return cell.strip("+- ").translate(_SIGNS).isdigit()


class Blocks:
    """Blocks of text with a blank line between them, or a newline between rows and list items.

    Text arrives in pieces; ``end`` closes the open block. White space folds to one space, except
    in preformatted text.
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
        self._n_named = 0  # cells that name a column
        self._begins_table = False
        self._headings: list[Heading] = []
        self._blocks: list[Block] = []

    def text(self, data: str) -> None:
        """Add running text."""
        if self._pre:
            self.end()
        self._pieces.append(_WHITE.sub(" ", data))

    def paragraph(self, data: str) -> None:
        """Write a paragraph whose newlines are line breaks, and close the block."""
        for number, line in enumerate(data.split("\n")):
            if number:
                self.line_break()
            self.text(line)
        self.leave()

    def preformatted(self, data: str) -> None:
        """Add text whose white space counts."""
        if not self._pre and self._kind in {"", "item"}:
            self.end()
            self._pre = True
        self._pieces.append(data)

    def line_break(self) -> None:
        """End a line within the block."""
        self._pieces.append("\n")

    def begin_heading(self, rank: int) -> None:
        """Make the next block a heading; rank 1 is the outermost."""
        self._kind = f"h{rank}"

    def begin_item(self, marker: str) -> None:
        """Make the next block an item of a list."""
        self._kind, self._marker = "item", marker

    def begin_table(self) -> None:
        """Let a table begin with the next row."""
        self._begins_table = True

    def begin_row(self) -> None:
        """Make the next block a row of a table."""
        self._kind = "row"

    def row(self, cells: Iterable[str], *, may_name: bool = True) -> None:
        """Write a row of a table; the first may name the columns, if it has no number."""
        texts = list(cells)
        filled = [text for text in texts if text.strip()]
        names = may_name and len(filled) > 1 and not any(map(is_number, filled))
        has_corner = may_name and len(filled) > 1 and not texts[0].strip()
        self.begin_row()
        for text in texts:
            self.cell(names_column=names or has_corner)
            self.text(text)
        self.leave()

    def cell(self, *, names_column: bool = False) -> None:
        """Begin a cell of a row."""
        if self._pre:
            self.end()
        self._kind = self._kind or "row"
        self._pieces.append(_CELL if self._n_cells else "")
        self._n_cells += 1
        self._n_named += names_column

    def end(self) -> None:
        """Close the open block; without text it only passes its kind to the next block."""
        if not self._pieces:
            return
        body = self._body()
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
            block = block._replace(kind="names", label=join_cells(body.split("|")))
        elif kind:
            block = block._replace(kind="row" if kind == "row" else "item")
        self._blocks.append(block._replace(kind="rule") if is_rule(body) else block)
        self._begins_table = self._begins_table and kind != "row"
        self._parts += [gap, body]
        self._n_chars = start + len(body)
        self._last_kind = kind

    def leave(self) -> None:
        """Close the open block, and forget its kind."""
        self.end()
        self._kind = self._marker = ""

    @property
    def n_headings(self) -> int:
        """Number of headings read so far, without one that is still open."""
        return len(self._headings)

    def parsed(
        self, title: str = "", metadata: Mapping[str, MetadataValue] | None = None
    ) -> Parsed:
        """Return the text with its sections; the first heading replaces a missing title."""
        self.end()
        text, headings = "".join(self._parts), self._headings
        name = one_line(title) or next((h.title for h in headings if h.title), "")
        sections = nest(headings, len(text))
        return Parsed(
            text, name, sections, clean_metadata(metadata or {}), blocks=pack(self._blocks)
        )

    def _body(self) -> str:
        joined = clean_text("".join(self._pieces))
        if self._pre:
            return "\n".join(line.rstrip() for line in joined.split("\n")).strip("\n")
        folded = _AROUND_BREAK.sub("\n", _SPACES.sub(" ", joined)).strip()
        if self._kind == "row":
            folded = folded.replace("\n", " ")
            return folded if folded.strip(" |") else ""
        return _BREAKS.sub("\n\n", folded)
