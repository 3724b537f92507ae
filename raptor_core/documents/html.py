"""HTML: readable text with its block structure, and sections from h1 to h6.

Nothing in a page is ever run or fetched.
"""

from __future__ import annotations

import re
from collections import Counter

from raptor_core.documents.base import MetadataValue
from raptor_core.documents.blocks import Blocks
from raptor_core.documents.encoding import decode
from raptor_core.documents.parsed import Parsed, clean_text, one_line
from raptor_core.documents.sections import nest
from raptor_core.documents.tags import Tag, read_tags

_CHARSET = re.compile(rb"""<meta[^>]*?charset\s*=\s*["']?\s*([\w.:-]+)""", re.IGNORECASE)
_DECLARED_WITHIN_BYTES = 1024  # as in the HTML standard

_VOID = frozenset(
    "area base br col embed hr img input link meta param source track wbr".split()  # noqa: SIM905
)
_DROPPED = frozenset(
    [
        "script",
        "style",
        "noscript",
        "template",
        "nav",
        "svg",
        "math",
        "iframe",
        "object",
        "canvas",
        "button",
        "select",
        "datalist",
        "textarea",
        "audio",
        "video",
    ]
)
_BLOCK = frozenset(
    [
        "address",
        "article",
        "aside",
        "blockquote",
        "body",
        "caption",
        "center",
        "dd",
        "details",
        "dialog",
        "div",
        "dl",
        "dt",
        "fieldset",
        "figcaption",
        "figure",
        "footer",
        "form",
        "h1",
        "h2",
        "h3",
        "h4",
        "h5",
        "h6",
        "header",
        "hgroup",
        "hr",
        "html",
        "legend",
        "li",
        "main",
        "menu",
        "ol",
        "p",
        "pre",
        "section",
        "summary",
        "table",
        "tbody",
        "tfoot",
        "thead",
        "tr",
        "ul",
    ]
)
_HEADINGS = {f"h{rank}": rank for rank in range(1, 7)}
_CLOSED_BY = {  # an element whose end tag may be left out, and the start tags that end it
    "p": _BLOCK,
    "li": frozenset({"li"}),
    "dt": frozenset({"dt", "dd"}),
    "dd": frozenset({"dt", "dd"}),
    "td": frozenset({"td", "th", "tr", "tbody", "tfoot"}),
    "th": frozenset({"td", "th", "tr", "tbody", "tfoot"}),
    "tr": frozenset({"tr", "tbody", "tfoot"}),
}
_ROOTS = frozenset({"html", "body", "main"})
_META = frozenset({"author", "date", "description", "keywords"})


def parse_html(data: bytes) -> Parsed:
    """Readable text of a page: paragraphs apart by a blank line, headings on their own lines.

    Scripts, styles, navigation, controls and hidden elements are left out. List items and table
    rows have a line each, cells are parted by " | ", preformatted text is kept as it is. The
    title is ``<title>``, else the first heading.

    Raises:
        UnreadableError: binary data, or an unknown encoding.
    """
    declared = _CHARSET.search(data[:_DECLARED_WITHIN_BYTES])
    page = _Page()
    page.read(clean_text(decode(data, declared.group(1).decode("ascii") if declared else "")))
    text, headings = page.blocks.finish()
    title = one_line("".join(page.title)) or next((h.title for h in headings if h.title), "")
    return Parsed(text, title, nest(headings, len(text)), page.metadata)


class _Page:
    """Turns tags into blocks; keeps the open elements on a stack, never recurses."""

    def __init__(self) -> None:
        self.blocks = Blocks()
        self.title: list[str] = []
        self.metadata: dict[str, MetadataValue] = {}
        self._open: list[str] = []
        self._count: Counter[str] = Counter()
        self._dropped_from: int | None = None
        self._lists: list[int | None] = []  # next number of an ordered list; None for bullets
        self._title_open = False

    def read(self, page: str) -> None:
        for item in read_tags(page):
            if isinstance(item, str):
                self._text(item)
            elif not item.is_end:
                self._start_tag(item)
            elif self._count[item.name]:
                while self._pop() != item.name:
                    pass
            elif item.name in _BLOCK and self._dropped_from is None:
                self.blocks.end()  # an end tag without a start still parts blocks

    def _start_tag(self, tag: Tag) -> None:
        name = tag.name
        while self._open and name in _CLOSED_BY.get(self._open[-1], ()):
            self._pop()
        if name == "meta":
            self._meta(tag.values())
        if name == "title" and not self._count["svg"]:
            self._title_open = not self.title
        self._leave_open_nav(name)
        if self._dropped_from is None:
            if name not in _VOID and (name in _DROPPED or _is_hidden(tag)):
                self._dropped_from = len(self._open)
            else:
                self._start(name)
        if name not in _VOID:
            self._open.append(name)
            self._count[name] += 1

    def _text(self, data: str) -> None:
        if self._title_open:
            self.title.append(data)
        elif self._dropped_from is None and not self._count["title"]:
            if self._count["pre"]:
                self.blocks.preformatted(data)
            else:
                self.blocks.text(data)

    def _leave_open_nav(self, tag: str) -> None:
        """A navigation whose end tag was forgotten must not swallow the page."""
        dropped = self._dropped_from
        if tag in {"main", "article"} and dropped is not None and self._open[dropped] == "nav":
            self._dropped_from = None

    def _pop(self) -> str:
        tag = self._open.pop()
        self._count[tag] -= 1
        if tag == "title":
            self._title_open = False
        if self._dropped_from is None:
            self._end(tag)
        elif len(self._open) <= self._dropped_from:
            self._dropped_from = None
        return tag

    def _start(self, tag: str) -> None:
        if tag == "br":
            self.blocks.line_break()
        elif tag in {"td", "th"}:
            self.blocks.cell()
        elif tag in _BLOCK:
            self.blocks.end()
        if tag in _HEADINGS:
            self.blocks.begin_heading(_HEADINGS[tag])
        elif tag == "tr":
            self.blocks.begin_row()
        elif tag in {"ol", "ul", "menu"}:
            self._lists.append(1 if tag == "ol" else None)
        elif tag == "li":
            self.blocks.begin_item(self._marker())

    def _end(self, tag: str) -> None:
        if tag in _HEADINGS or tag in {"li", "tr"}:
            self.blocks.leave()
        elif tag in _BLOCK:
            self.blocks.end()
        if tag in {"ol", "ul", "menu"} and self._lists:
            self._lists.pop()

    def _marker(self) -> str:
        number = self._lists[-1] if self._lists else None
        if number is None:
            return "- "
        self._lists[-1] = number + 1
        return f"{number}. "

    def _meta(self, values: dict[str, str]) -> None:
        name = values.get("name", "").lower()
        content = one_line(values.get("content", ""))
        if name in _META and content:
            self.metadata.setdefault(name, content)


def _is_hidden(tag: Tag) -> bool:
    return "hidden" in tag.attributes and tag.name not in _ROOTS and "hidden" in tag.values()
