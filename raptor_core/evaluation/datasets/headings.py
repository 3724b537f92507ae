"""Sections of a paper whose headings stand in its text and are marked nowhere."""

from __future__ import annotations

import re

from raptor_core.documents.base import Section
from raptor_core.documents.formats.sections import Heading, nest

HEADING = re.compile(r"^[A-Z0-9][^\n]{1,78}[^\s.?!:;,]$", re.MULTILINE)
"""A line of 3 to 80 characters that starts with a capital or a digit and ends without a stop."""


def line_sections(text: str) -> tuple[Section, ...]:
    """Sections that begin with a short line without a stop and last to the next such line.

    It suits text whose paragraphs are lines. Where lines are broken at a width, or spoken, it
    would take sentences for headings.
    """
    found = HEADING.finditer(text)
    return nest([Heading(line.group(), 1, line.start()) for line in found], len(text))
