"""Markdown: the source text unchanged, with sections from its headings (CommonMark)."""

import html
import re
from collections.abc import Iterator
from functools import cache
from itertools import accumulate
from typing import Any

from raptor_core.documents.base import MetadataValue
from raptor_core.documents.formats.encoding import decode
from raptor_core.documents.formats.parsed import (
    Heading,
    Parsed,
    clean_text,
    nest,
    number_as_written,
    one_line,
)

MAX_TITLE_CHARS = 300
"""Maximum length of a title; the rest of a heading is dropped."""

_PLAIN_LINE = re.compile(r"^([ \t]*(?:[-*+] +)?)[^\s#>\-*+_=\d`~<\[][^<>\n]*$", re.MULTILINE)
_INLINE_MARKUP = re.compile(r"[\\`*_\[\]<&!]")
_HTML_HEADING = re.compile(r"\s*<h([1-6])\b[^>]*>(.*?)</h\1\s*>", re.DOTALL | re.IGNORECASE)
_KINDS = frozenset({"heading_open", "html_block"})
_ATTRIBUTES = re.compile(r"\s*\{\s*[:#.][^{}]*\}\s*\Z")
_TAG = re.compile(r"<[^>]*>")


def parse_markdown(data: bytes) -> Parsed:
    """Parse Markdown; the text is unchanged, so that spans resolve to the file.

    Sections begin at ATX and setext headings, and at an HTML heading that begins a block, but not
    in code, comments, quotes and lists. The title is the front matter's, else the first heading.
    """
    text = clean_text(decode(data))
    metadata, body = read_front_matter(text)
    headings = list(_headings(text, body))
    title = one_line(str(metadata.pop("title", ""))) or next((h.title for h in headings), "")
    return Parsed(text, title, nest(headings, len(text)), metadata)


def _headings(text: str, body: int) -> Iterator[Heading]:
    lines = text.split("\n")
    starts = [0, *accumulate(len(line) + 1 for line in lines)]
    skeleton, rows = _skeleton(text, body)
    tokens = _block_parser().parse("\n".join(skeleton))
    for number, token in enumerate(tokens):
        if token.level != 0 or token.map is None or token.type not in _KINDS:
            continue
        first, last = rows[token.map[0]], rows[token.map[1] - 1]
        source = "\n".join(lines[first : last + 1])
        start = starts[first] + len(source) - len(source.lstrip())
        if token.type == "heading_open":
            is_atx = token.markup.startswith("#")
            raw = tokens[number + 1].content if is_atx else source.rpartition("\n")[0]
            yield Heading(_plain(raw), int(token.tag[1]), start)
        elif heading := _HTML_HEADING.match(source):
            title = one_line(html.unescape(_TAG.sub(" ", heading[2])))
            yield Heading(title, int(heading[1]), start)


def _skeleton(text: str, body: int) -> tuple[list[str], list[int]]:
    """Return the lines that decide the block structure, and their rows in the text.

    That makes the parser many times faster. A line that begins no block and has no angle bracket
    becomes "x". Runs of equal lines keep their first and their last line.
    """
    front = "\n" * text.count("\n", 0, body)
    lines = (front + _PLAIN_LINE.sub(r"\1x", text[body:])).split("\n")
    last = len(lines) - 1
    rows = [
        row
        for row, line in enumerate(lines)
        if row in (0, last) or not lines[row - 1] == line == lines[row + 1]
    ]
    return [lines[row] for row in rows], rows


@cache
def _block_parser() -> Any:
    """Return markdown-it for blocks only."""
    from markdown_it import MarkdownIt

    parser = MarkdownIt("commonmark")
    parser.core.ruler.enableOnly(["normalize", "block"])
    return parser


@cache
def _inline_parser() -> Any:
    from markdown_it import MarkdownIt

    return MarkdownIt("commonmark")


def _plain(raw: str) -> str:
    """Return the text of a heading without inline markup and a trailing ``{#anchor .class}``."""
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


_BLOCK = re.compile(r"---[ \t]*\n(.*?)^(?:---|\.\.\.)[ \t]*(?:\n|\Z)", re.DOTALL | re.MULTILINE)
_PAIR = re.compile(r"^([A-Za-z_][\w .-]*?)[ \t]*:[ \t]+(\S.*?)[ \t]*$", re.MULTILINE)
_COMMENT = re.compile(r"[ \t]#.*\Z")
_NESTED = ("[", "{", "|", ">", "&", "*", "!")
_INTEGER = re.compile(r"[-+]?(?:0|[1-9]\d{0,17})\Z")
_FLOAT = re.compile(r"[-+]?\d+\.\d*(?:[eE][-+]?\d+)?\Z")


def read_front_matter(text: str) -> tuple[dict[str, MetadataValue], int]:
    """Return the single values in the front matter, and its length in characters."""
    block = _BLOCK.match(text)
    if block is None:
        return {}, 0
    pairs = _PAIR.findall(block.group(1))
    values = {key: _scalar(raw) for key, raw in pairs if not raw.startswith(_NESTED)}
    return values, block.end()


def _scalar(raw: str) -> MetadataValue:
    if len(raw) >= 2 and raw[0] == raw[-1] and raw[0] in "'\"":
        return raw[1:-1]
    value = _COMMENT.sub("", raw).strip()
    if value.lower() in {"true", "false"}:
        return value.lower() == "true"
    if _INTEGER.match(value):
        return int(value)
    return number_as_written(value) if _FLOAT.match(value) else value
