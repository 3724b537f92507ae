"""What stands around the content of a web page: navigation, tables of contents, bars, footers.

By the roles of ARIA, the elements of HTML, and the names that the makers of such pages give to
their parts (Sphinx, DocBook, MkDocs, Hugo, MediaWiki, Bootstrap). Nothing is left out for its
size or its number of links, so that no content is lost to a guess.
"""

from __future__ import annotations

import re
from collections.abc import Mapping

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


def is_main(name: str, attributes: Mapping[str, str]) -> bool:
    """Whether an element holds the content of its page."""
    return name in {"main", "article"} or attributes.get("role") == "main"


def is_around(name: str, attributes: Mapping[str, str], *, in_main: bool) -> bool:
    """Whether an element stands around the content; ``in_main`` says that it is part of it.

    Notes, figures and articles have sidebars and footers of their own, which are content.
    """
    role = attributes.get("role")
    if (
        name == "nav"
        or role in _ROLES
        or (not in_main and (role == "complementary" or name in {"aside", "footer"}))
    ):
        return True
    parts = f"{attributes.get('class', '')} {attributes.get('id', '')}".casefold().split()
    return any(
        _PARTS.fullmatch(part) or (not in_main and _OUTER_PARTS.fullmatch(part)) for part in parts
    )


def is_page_link(text: str, *, in_heading: bool) -> bool:
    """Whether the text of a link is about the page itself, or a heading's anchor."""
    folded = " ".join(text.split()).casefold()
    return folded in _LINKS or (in_heading and folded in _ANCHORS)
