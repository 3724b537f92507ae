"""HTML into tags and text: every step is linear in the page, however broken it is."""

from __future__ import annotations

import html
import re
from collections.abc import Iterator
from dataclasses import dataclass, field

# No alternative crosses a "<", so an attempt costs no more than the way to the next one.
_MARKUP = re.compile(
    r"""<(?:(?P<end>/?)(?P<name>[a-zA-Z][^\s/<>]*+)"""
    r"""(?P<attributes>(?:[^<>"']++|"[^"<]*+"|'[^'<]*+'|["'])*+)>"""
    r"""|(?P<comment>!--)|(?P<other>[!?/][^<>]*+>))"""
)
_ATTRIBUTE = re.compile(r"""([^\s"'=/]++)(?:\s*+=\s*+("[^"]*+"|'[^']*+'|[^\s"']++))?""")
_ENDLESS_NUMBER = re.compile(r"&#[xX]?[0-9a-fA-F]{8,};?")
_RAW = {name: re.compile(rf"</{name}\b[^>]*>", re.IGNORECASE) for name in ("script", "style")}


@dataclass(frozen=True, slots=True)
class Tag:
    """A start or end tag, name in lower case."""

    name: str
    is_end: bool
    attributes: str = field(default="", repr=False)

    def values(self) -> dict[str, str]:
        """Attributes by lower-case name; empty for those without a value."""
        return {
            name.lower(): unescape(value.strip("\"'"))
            for name, value in reversed(_ATTRIBUTE.findall(self.attributes))
        }


def read_tags(page: str) -> Iterator[Tag | str]:
    """Tags and the text between them, in order; comments and raw scripts are left out.

    What looks like markup and is not is text. A comment or script without an end is only its
    start, so that it does not swallow what follows.
    """
    at = 0
    ends = dict.fromkeys(("-->", *_RAW), True)  # False once there is no further one
    while found := _MARKUP.search(page, at):
        if found.start() > at:
            yield unescape(page[at : found.start()])
        at = found.end()
        if found["comment"] and ends["-->"]:
            end = page.find("-->", at)
            ends["-->"] = end >= 0
            at = end + 3 if end >= 0 else at
        elif name := (found["name"] or "").lower():
            if name in _RAW and not found["end"] and ends[name]:
                close = _RAW[name].search(page, at)
                ends[name] = close is not None
                at = close.end() if close else at
            else:
                yield Tag(name, bool(found["end"]), found["attributes"])
    if at < len(page):
        yield unescape(page[at:])


def unescape(text: str) -> str:
    """Text with its character references resolved."""
    if "&" not in text:
        return text
    return html.unescape(_ENDLESS_NUMBER.sub("\ufffd", text))
