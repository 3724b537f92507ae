"""Markdown: the source text unchanged, with blocks and sections (CommonMark and its tables).

Front matter is parsed in ``front_matter``.
"""

import html
import re
from collections.abc import Collection, Iterator, Sequence
from functools import cache
from itertools import accumulate, pairwise
from typing import Any, NamedTuple

from raptor_formats.base import Parsed
from raptor_formats.blocks import Block, Kind, join_column_names, pack_blocks, strip_block
from raptor_formats.encoding.decoding import decode
from raptor_formats.markup.front_matter import find_front_matter_end, read_front_matter
from raptor_formats.markup.plain import split_into_blocks
from raptor_formats.sections import Heading, nest_headings
from raptor_formats.text import clean_text, one_line

MAX_TITLE_CHARS = 300
"""Length to which a title is cut, in characters."""

_DELIMITER = r"[ \t>]*(?:[-*+][ \t]+)?\|?[ \t]*:?-+:?[ \t]*(?:\|[ \t]*:?-+:?[ \t]*)*\|?[ \t]*$"
_PLAIN_LINE = re.compile(
    rf"^([ \t]*(?:[-*+] +)?)(?!{_DELIMITER})[^\s#>\-*+_=\d`~<\[][^<>\n]*$(?!\n{_DELIMITER})",
    re.MULTILINE,
)
_UNMARKED = re.compile(r" {0,3}x\Z")
_INLINE_MARKUP = re.compile(r"[\\`*_\[\]<&!]")
_HTML_HEADING = re.compile(r"\s*<h([1-6])\b[^>]*>(.*?)</h\1\s*>", re.DOTALL | re.IGNORECASE)
_ATTRIBUTES = re.compile(r"\s*\{\s*[:#.][^{}]*\}\s*\Z")
_TAG = re.compile(r"<[^>]*>")
_COMMENT = re.compile(r"(?<!`)(?P<code>`++).*?(?<!`)(?P=code)(?!`)|<!--.*?-->", re.DOTALL)
_CELL = re.compile(r"(?<!\\)\|")
_LEAVES: dict[str, Kind] = {
    "heading_open": "heading",
    "paragraph_open": "paragraph",
    "fence": "code",
    "code_block": "code",
    "html_block": "paragraph",
    "table_open": "row",
    "hr": "rule",
}


def parse_markdown(data: bytes) -> Parsed:
    """Parse Markdown; its text is unchanged, so spans also apply to the file.

    Sections begin at ATX and setext headings and at HTML headings that begin a block, but not in
    code, comments, quotes or lists. The title comes from the front matter, else the first heading.
    """
    text = clean_text(decode(data))
    metadata, readers, body = read_front_matter(text)
    reader = _MarkdownReader(text, body)
    blocks = list(reader.read_blocks())
    title = one_line(str(metadata.get("title", "")))
    title = title or next((h.title for h in reader.headings), "")
    kept = {key: value for key, value in metadata.items() if key != "title"}
    sections = nest_headings(reader.headings, len(text))
    return Parsed(text, title, sections, kept, packed_blocks=pack_blocks(blocks), readers=readers)


def read_markdown(text: str, headings: Collection[int] = ()) -> list[Block]:
    """Find the blocks of a text that may be Markdown; see ``Document.read_blocks``.

    ``headings`` are the offsets at which sections begin; such a line is a heading.
    """
    return list(_MarkdownReader(text, find_front_matter_end(text), headings).read_blocks())


class _LeafBlock(NamedTuple):
    """Block that contains no further blocks, with its first and its last line.

    ``markdown_it_type`` is the type of its token; ``depth`` exceeds 6 inside a list or a quote.
    """

    kind: Kind
    first_line: int
    last_line: int
    markdown_it_type: str = "paragraph_open"
    depth: int = 0
    title: str = ""


class _MarkdownReader:
    """Reads a text from character ``body`` on; collects headings along with the blocks."""

    def __init__(self, text: str, body: int, starts: Collection[int] = ()) -> None:
        self.headings: list[Heading] = []
        self._text, self._body, self._section_starts = text, body, starts
        self._source = text.replace("\r", " ")  # the parser would count them as line ends
        self._lines = self._source.split("\n")
        self._starts = [*accumulate((len(line) + 1 for line in self._lines), initial=0)]

    def read_blocks(self) -> Iterator[Block]:
        """Yield the blocks in order; a line outside all blocks is a paragraph or a rule."""
        at = self._text.count("\n", 0, self._body)
        for leaf in self._find_leaf_blocks():
            yield from self._read_unclaimed_lines(at, leaf.first_line)
            yield from self._read_leaf_block(leaf)
            at = leaf.last_line + 1
        yield from self._read_unclaimed_lines(at, len(self._lines))

    def _find_leaf_blocks(self) -> Iterator[_LeafBlock]:
        skeleton, rows = self._structural_lines()
        if all(line.strip() == "" or _UNMARKED.match(line) for line in skeleton):
            yield from _plain_paragraphs(skeleton, rows)
            return
        tokens = _block_parser().parse("\n".join(skeleton))
        begins_item, n_quotes = False, 0
        for number, token in enumerate(tokens):
            begins_item |= token.type == "list_item_open"
            n_quotes += {"blockquote_open": 1, "blockquote_close": -1}.get(token.type, 0)
            if token.map is None or token.type not in _LEAVES or token.map[1] <= token.map[0]:
                continue
            kind, depth = _LEAVES[token.type], 6 if token.level else 0
            first, last = rows[token.map[0]], rows[token.map[1] - 1]
            title = ""
            if kind == "heading":
                depth += int(token.tag[1])
                source = "\n".join(self._lines[first : last + 1])
                is_atx = token.markup.startswith("#")
                title = tokens[number + 1].content if is_atx else source.rpartition("\n")[0]
            elif kind == "paragraph":
                kind = "item" if begins_item else "quote" if n_quotes else kind
            begins_item = False
            yield _LeafBlock(kind, first, last, token.type, depth, title)

    def _structural_lines(self) -> tuple[list[str], list[int]]:
        """Return the lines that decide the block structure, and their row numbers in the text.

        Fewer lines make the parser many times faster. A line that begins no block and contains no
        angle bracket becomes "x". Runs of equal lines keep only their first and last line.
        """
        front = "\n" * self._text.count("\n", 0, self._body)
        lines = (front + _PLAIN_LINE.sub(r"\1x", self._source[self._body :])).split("\n")
        last = len(lines) - 1
        rows = [
            row
            for row, line in enumerate(lines)
            if row in (0, last) or not lines[row - 1] == line == lines[row + 1]
        ]
        return [lines[row] for row in rows], rows

    def _span_of_lines(self, first: int, last: int) -> tuple[int, int]:
        return self._starts[first], self._starts[last + 1] - 1

    def _read_unclaimed_lines(self, first: int, end: int) -> Iterator[Block]:
        """Yield the lines that belong to no block, such as link definitions."""
        if first < end and any(map(str.strip, self._lines[first:end])):
            yield from self._read_prose(
                "paragraph", *self._span_of_lines(first, end - 1), only_wrap=False
            )

    def _read_leaf_block(self, leaf: _LeafBlock) -> Iterator[Block]:
        start, end = self._span_of_lines(leaf.first_line, leaf.last_line)
        source = self._source[start:end]
        if leaf.markdown_it_type in {"fence", "hr"}:
            yield from strip_block(self._source, Block(leaf.kind, start, end))
        elif leaf.kind == "row":
            yield from self._read_table(leaf)
        elif leaf.kind == "heading":
            yield from self._read_heading(_strip_inline_markup(leaf.title), leaf.depth, start, end)
        elif leaf.markdown_it_type == "html_block" and (tag := _HTML_HEADING.match(source)):
            name = one_line(html.unescape(_TAG.sub(" ", tag[2])))
            yield from self._read_heading(name, leaf.depth + int(tag[1]), start, start + tag.end())
            yield from self._read_prose(leaf.kind, start + tag.end(), end, only_wrap=False)
        else:
            only_wrap = leaf.markdown_it_type == "paragraph_open"
            yield from self._read_prose(leaf.kind, start, end, only_wrap=only_wrap)

    def _read_heading(self, title: str, depth: int, start: int, end: int) -> Iterator[Block]:
        """Yield a heading; inside a list or a quote it begins no section."""
        for block in strip_block(self._source, Block("heading", start, end, min(depth, 7))):
            if depth <= 6:
                self.headings.append(Heading(title, depth, block.start))
            yield from self._cut_out_comments(block)

    def _read_table(self, leaf: _LeafBlock) -> Iterator[Block]:
        for row in range(leaf.first_line, leaf.last_line + 1):
            line = self._lines[row]
            block = Block("row", *self._span_of_lines(row, row))
            if row == leaf.first_line:
                cells = _CELL.split(line.strip(" \t>").strip("|"))
                block = block._replace(
                    kind="names", label=join_column_names(map(_strip_inline_markup, cells))
                )
            for shown in strip_block(self._source, block):
                yield from self._cut_out_comments(shown)

    def _read_prose(self, kind: Kind, start: int, end: int, *, only_wrap: bool) -> Iterator[Block]:
        starts = self._section_starts
        for span in self._spans_between_comments(start, end):
            yield from split_into_blocks(
                self._source, *span, starts, kind=kind, only_wrap=only_wrap
            )

    def _cut_out_comments(self, block: Block) -> Iterator[Block]:
        """Yield the parts of a block between comments."""
        for start, end in self._spans_between_comments(block.start, block.end):
            yield from strip_block(self._source, block._replace(start=start, end=end))

    def _spans_between_comments(self, begin: int, stop: int) -> Iterator[tuple[int, int]]:
        """Yield the spans between comments."""
        source = self._source[begin:stop]
        bounds = [begin, stop]
        if "<!--" in source and "-->" in source:
            last = source.find("\n", source.rfind("-->"))  # an unclosed comment is text
            matches = _COMMENT.finditer(source, 0, last if last >= 0 else len(source))
            comments = (m.span() for m in matches if m["code"] is None)
            bounds[1:1] = [begin + at for comment in comments for at in comment]
        spans = zip(bounds[::2], bounds[1::2], strict=True)
        return ((start, end) for start, end in spans if start < end)


def _plain_paragraphs(skeleton: Sequence[str], rows: Sequence[int]) -> Iterator[_LeafBlock]:
    """Yield the paragraphs of a text without any markup: lines between blank lines."""
    filled = [bool(line.strip()) for line in skeleton]
    borders = [0, *(n for n in range(1, len(filled)) if filled[n] != filled[n - 1]), len(filled)]
    for first, end in pairwise(borders):
        if first < end and filled[first]:
            yield _LeafBlock("paragraph", rows[first], rows[end - 1])


@cache
def _block_parser() -> Any:
    """Return a markdown-it parser that only finds blocks."""
    from markdown_it import MarkdownIt

    parser = MarkdownIt("commonmark").enable("table")
    parser.core.ruler.enableOnly(["normalize", "block"])
    return parser


@cache
def _inline_parser() -> Any:
    from markdown_it import MarkdownIt

    return MarkdownIt("commonmark")


def _strip_inline_markup(raw: str) -> str:
    """Strip inline markup and a trailing ``{#anchor .class}`` from a heading."""
    parts: list[str] = []
    source = _ATTRIBUTES.sub("", raw[:MAX_TITLE_CHARS])
    if not _INLINE_MARKUP.search(source):
        return one_line(source)
    for token in _inline_parser().parseInline(source)[0].children or ():
        if token.type in {"softbreak", "hardbreak"}:
            parts.append(" ")
        elif token.type in {"text", "text_special", "code_inline", "image"}:
            parts.append(token.content)
    return one_line("".join(parts))
