"""HTML: readable text with its block structure, and sections from h1 to h6.

Nothing in a page is executed or fetched. Navigation, bars and footers are recognized by ARIA roles,
HTML elements, and the usual names of page generators (Sphinx, DocBook, MkDocs, Hugo, MediaWiki,
Bootstrap), never by their size or number of links.
"""

import re
from collections import Counter
from collections.abc import Mapping

from raptor_formats.base import MetadataValue, Parsed
from raptor_formats.declared import refuse_readers_key
from raptor_formats.encoding.decoding import decode, find_declared_encoding
from raptor_formats.markup.html_tables import TABLE_TAGS, HtmlTableWriter
from raptor_formats.markup.mathml import Formula
from raptor_formats.text import clean_text, one_line
from raptor_formats.writer import BlockWriter

_ROLES = frozenset(
    "navigation search banner contentinfo menu menubar toolbar dialog alertdialog".split()  # noqa: SIM905
)
_PARTS = re.compile(
    r"(?:(?:t|bs|md|mw|site|page|main|top|sphinx)[-_]?)?(?:nav(?:bar|header|footer)|breadcrumbs?)|"
    r"sphinxsidebar|headerlink|anchorjs-link|viewcode-link|(?:mw-)?editsection|(?:mw-)?jump-link|"
    r"skip-link|printfooter|catlinks|sitesub|contentsub|jump-to-nav|github-link|"
    r"toc|table-of-contents|list-of-(?:tables|figures|examples)"
)
_OUTER_PARTS = re.compile(
    r"(?:(?:bs|md|site|page|main|global|left|right|top)[-_])?"
    r"(?:sidebar|footer|menu|nav|navigation|pagination|copyright|toolbar|topbar)"
)
_LINKS = frozenset(
    [
        *("¶", "show source", "view source", "view page source", "edit this page"),
        *("edit on github", "improve this page", "report a bug", "back to top", "permalink"),
        *("permanent link", "skip to content", "skip to main content"),
    ]
)
_ANCHORS = frozenset({"#", "§", "🔗", "∞", "[link]"})


def is_main_element(name: str, attributes: Mapping[str, str]) -> bool:
    """Return whether an element contains the main content of its page."""
    return name in {"main", "article"} or attributes.get("role") == "main"


def is_page_furniture(name: str, attributes: Mapping[str, str], *, in_main: bool) -> bool:
    """Return whether an element is page furniture; asides and footers in the content are not."""
    role = attributes.get("role")
    is_outer = role == "complementary" or name in {"aside", "footer"}
    if name == "nav" or role in _ROLES or (is_outer and not in_main):
        return True
    parts = f"{attributes.get('class', '')} {attributes.get('id', '')}".casefold().split()
    patterns = (_PARTS,) if in_main else (_PARTS, _OUTER_PARTS)
    return any(pattern.fullmatch(part) for part in parts for pattern in patterns)


_VOID = frozenset(
    "area base br col embed hr img input link meta param source track wbr".split()  # noqa: SIM905
)
_DROPPED = frozenset(
    """
    script style noscript noframes template svg iframe object canvas button select datalist
    textarea audio video rp
    """.split()  # noqa: SIM905
)
_BLOCK = frozenset(
    """
    address article aside blockquote body caption center dd details dialog div dl dt fieldset
    figcaption figure footer form h1 h2 h3 h4 h5 h6 header hgroup hr html legend li main menu
    nav ol p pre section summary table tbody tfoot thead tr ul
    """.split()  # noqa: SIM905
)
_HIDING = re.compile(
    r"(?:^|;)\s*(?:display\s*:\s*none|visibility\s*:\s*(?:hidden|collapse)|"
    r"content-visibility\s*:\s*hidden)\b",
    re.IGNORECASE,
)
_COMMENT = re.compile(r"/\*.*?\*/", re.DOTALL)
_MATH = frozenset({"math", "m:math", "mml:math"})
_SHOWN_MATH = "mwe-math-mathml-a11y"
"""MediaWiki's class for formulas that it hides behind their pictures."""
_SECOND_MATH = "katex-html"
"""KaTeX's class for the second form of a formula."""
_HEADINGS = {f"h{rank}": rank for rank in range(1, 7)}
_ROOTS = frozenset({"html", "body", "main"})
_META = frozenset({"author", "date", "description", "keywords"})


def parse_html(data: bytes, *, is_whole: bool = False, with_pictures: bool = True) -> Parsed:
    """Parse a page without its scripts, styles, controls and hidden elements.

    Navigation, bars and footers are omitted, unless ``is_whole`` is set or the page has no other
    text. For a page without any text, the alternative texts of its pictures are used, unless
    ``with_pictures`` is False. Each list item and table row becomes a line, with " | " between
    cells. The title is ``<title>``, else the first heading.
    """
    markup = clean_text(decode(data, find_declared_encoding(data)))
    ways = [(True, False)] if is_whole else [(False, False), (True, False)]
    for whole, pictures in [*ways, (True, True)] if with_pictures else ways:
        page = _HtmlParserTarget(is_whole=whole, with_pictures=pictures)
        page.parse(markup)
        parsed = page.blocks.to_parsed("".join(page.title), page.metadata)
        if parsed.text:
            break
    return parsed


class _HtmlParserTarget:
    """Target of the parser's events; it writes blocks and keeps a stack of open elements."""

    def __init__(self, *, is_whole: bool, with_pictures: bool) -> None:
        self.blocks = BlockWriter()
        self.title: list[str] = []
        self.metadata: dict[str, MetadataValue] = {}
        self._is_whole = is_whole
        self._with_pictures = with_pictures
        self._open: list[str] = []
        self._count: Counter[str] = Counter()
        self._dropped_from: int | None = None
        self._main_from: int | None = None
        self._lists: list[int | None] = []  # next number of an ordered list; None for bullets
        self._title_open = False
        self._after_span = False
        self._glosses: list[str] = []  # of an open ruby element, written in brackets after its text
        self._formula: Formula | None = None
        self._after_formula = False
        self._rows = HtmlTableWriter(self.blocks)

    def parse(self, page: str) -> None:
        from lxml import etree

        parser = etree.HTMLParser(target=self, huge_tree=True, remove_comments=True)
        parser.feed(page)
        parser.close()

    def start(self, name: str, attributes: Mapping[str, str]) -> None:
        """Handle the start of an element."""
        if self._is_span_after_span(name, attributes):
            self.blocks.break_line()
        self._after_span = False
        if name == "meta":
            self._read_meta_element(attributes)
        if name == "title" and not self._count["svg"]:
            self._title_open = not self.title
        if is_main_element(name, attributes):
            self._begin_main_content(name)
        if self._dropped_from is None:
            if name not in _VOID and self._is_omitted(name, attributes):
                self._dropped_from = len(self._open)
            elif self._formula or name in _MATH:
                self._formula = self._formula or Formula()
                self._formula.start_element(name, attributes)
            else:
                self._begin_block(name, attributes)
        self._open.append(name)
        self._count[name] += 1

    def end(self, name: str) -> None:
        """Handle the end of an element, even if it has no end tag."""
        self._open.pop()
        self._count[name] -= 1
        self._after_span = name == "span"
        if self._main_from is not None and len(self._open) <= self._main_from:
            self._main_from = None
        if name == "title":
            self._title_open = False
        if self._dropped_from is None and self._formula:
            self._end_formula(self._formula)
        elif self._dropped_from is None:
            self._end_block(name)
        elif len(self._open) <= self._dropped_from:
            self._dropped_from = None

    def _end_formula(self, formula: Formula) -> None:
        formula.end_element()
        if not formula.is_open:
            self._formula, self._after_formula = None, True
            self._write_text(formula.text)

    def data(self, text: str) -> None:
        """Handle text between tags."""
        self._after_span = False
        self._after_formula = self._after_formula and not text.strip()
        if self._title_open:
            self.title.append(text)
        elif self._dropped_from is None and not self._count["title"]:
            if self._count["a"] and not self._is_whole and self._is_link_to_same_page(text):
                return
            if self._count["ruby"] and self._count["rt"]:
                self._glosses.append(text.strip())
            elif self._formula:
                self._formula.add_text(text)
            else:
                self._write_text(text)

    def _write_text(self, text: str) -> None:
        write = self.blocks.add_preformatted if self._count["pre"] else self.blocks.add_text
        write(text)
        self._rows.add_text(text)

    def close(self) -> None:
        """Handle the end of the page."""

    def _is_span_after_span(self, name: str, attributes: Mapping[str, str]) -> bool:
        """Return whether a bare span directly follows another one.

        MediaWiki's templates style such spans as lines.
        """
        if name != "span" or attributes or not self._after_span or self._dropped_from is not None:
            return False
        return not (self._count["pre"] or self._count["code"])

    def _begin_main_content(self, name: str) -> None:
        """Begin the content, even inside an omitted element whose end tag is missing."""
        dropped = None if self._dropped_from is None else self._open[self._dropped_from]
        if dropped == "nav" or (name != "article" and dropped not in _DROPPED):
            self._dropped_from = None
        if self._dropped_from is None and self._main_from is None:
            self._main_from = len(self._open)

    def _is_omitted(self, name: str, attributes: Mapping[str, str]) -> bool:
        if name in _DROPPED:
            return True
        classes = attributes.get("class", "").split()
        if name in _ROOTS or is_main_element(name, attributes) or _SHOWN_MATH in classes:
            return False
        if self._after_formula and _SECOND_MATH in classes:
            return True
        if "hidden" in attributes or (name == "dialog" and "open" not in attributes):
            return True
        if _HIDING.search(_COMMENT.sub("", attributes.get("style", ""))):
            return True
        in_main = self._main_from is not None
        return not self._is_whole and is_page_furniture(name, attributes, in_main=in_main)

    def _is_link_to_same_page(self, text: str) -> bool:
        """Return whether a link only leads to the page itself or to a heading's anchor."""
        folded = " ".join(text.split()).casefold()
        in_heading = any(self._count[tag] for tag in _HEADINGS)
        return folded in _LINKS or (in_heading and folded in _ANCHORS)

    def _begin_block(self, tag: str, attributes: Mapping[str, str]) -> None:
        if tag == "br":
            self.blocks.break_line()
        elif tag == "img" and self._with_pictures:
            self.blocks.write_paragraph(one_line(attributes.get("alt", "")))
        elif tag in _BLOCK:
            self.blocks.end_block()
        if tag in _HEADINGS:
            self.blocks.begin_heading(_HEADINGS[tag])
        elif tag in TABLE_TAGS:
            self._rows.start_element(tag, attributes, in_head=self._count["thead"] > 0)
        elif tag in {"ol", "ul", "menu"}:
            self._lists.append(1 if tag == "ol" else None)
        elif tag == "li":
            self.blocks.begin_item(self._next_list_marker())

    def _end_block(self, tag: str) -> None:
        if tag == "ruby" and self._glosses and not self._count["ruby"]:
            self.blocks.add_text(f"({''.join(self._glosses)})")
            self._glosses.clear()
        if tag in TABLE_TAGS:
            self._rows.end_element(tag)
        if tag in _HEADINGS or tag in {"li", "tr"}:
            self.blocks.end_block_and_kind()
        elif tag in _BLOCK:
            self.blocks.end_block()
        if tag in {"ol", "ul", "menu"} and self._lists:
            self._lists.pop()

    def _next_list_marker(self) -> str:
        number = self._lists[-1] if self._lists else None
        if number is None:
            return "- "
        self._lists[-1] = number + 1
        return f"{number}. "

    def _read_meta_element(self, values: Mapping[str, str]) -> None:
        name = values.get("name", values.get("property", "")).lower()
        refuse_readers_key(name)
        content = one_line(values.get("content", ""))
        if name in _META and content:
            self.metadata.setdefault(name, content)
