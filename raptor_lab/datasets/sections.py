"""Sections of documents in data sets: from a list of their names, or from short lines.

Documents of a source have the sections that the parser of their format finds.
"""

import re
from collections.abc import Mapping

from raptor_formats.blocks import Section
from raptor_formats.sections import Heading, nest_headings
from raptor_formats.text import clean_text

NESTED_NAME = " ::: "
"""Separator of the names of nested sections in QASPER."""

HEADING = re.compile(r"^[A-Z0-9][^\n]{1,78}[^\s.?!:;,]$", re.MULTILINE)
"""Line of 3 to 80 characters that starts with a capital or digit and ends without a stop."""
_SECTION_NAMES = ("name", "title", "heading")


def find_line_sections(text: str) -> tuple[Section, ...]:
    """Find sections that begin with a short line without a full stop."""
    lines = HEADING.finditer(text)
    return nest_headings([Heading(line.group(), 1, line.start()) for line in lines], len(text))


def find_sections(text: str, listed: object) -> tuple[Section, ...]:
    """Return the sections of a row from its list of objects that have a ``name``.

    Each name must be a complete line of the text, in order; else there are no sections. The name
    "Data ::: Sources" is "Sources" nested in a preceding "Data".
    """
    names = _section_names(listed)
    headings: list[Heading] = []
    path: list[str] = []
    at = 0
    for name in names:
        start = _find_line(text, name, at)
        if start < 0:
            return ()
        while path and not name.startswith(path[-1] + NESTED_NAME):
            path.pop()
        title = name.removeprefix(path[-1] + NESTED_NAME) if path else name
        path.append(name)
        headings.append(Heading(title, len(path), start))
        at = start + len(name)
    return nest_headings(headings, len(text))


def _section_names(listed: object) -> list[str]:
    names: list[str] = []
    for item in listed if isinstance(listed, list) else ():
        values = [item.get(key) for key in _SECTION_NAMES] if isinstance(item, Mapping) else []
        name = next((value for value in values if isinstance(value, str)), None)
        if name is None:
            return []
        cleaned = clean_text(name).strip()
        if cleaned:
            names.append(cleaned)
    return names


def _find_line(text: str, line: str, at: int) -> int:
    """Return the start of the first complete line from ``at`` on that equals ``line``, or -1."""
    pattern = re.compile(rf"^[ \t]*({re.escape(line)})[ \t]*$", re.MULTILINE)
    match = pattern.search(text, at)
    return match.start(1) if match else -1
