"""PDF: the text layer, paragraph by paragraph, and sections from the outline."""

from __future__ import annotations

import re
import struct
import zlib
from collections.abc import Iterator, Mapping, Sequence
from io import BytesIO
from itertools import accumulate, pairwise
from typing import Any

from raptor_core.documents.parsed import Parsed, UnreadableError, clean_text, one_line
from raptor_core.documents.sections import Heading, nest
from raptor_core.errors import MissingExtraError

FULL_LINE_SHARE = 0.9
"""A line that would reach this share of the page's longest lines with one more word is full."""

_PAGE_GAP = "\n\n"
_HYPHENATED = re.compile(r"(?<=[^\W\d_])(?:\u00ad|-)\n(?=[^\W\d_A-Z])")
_BULLET = re.compile(r"[•◦▪‣·–*-]\Z")
_PAGE_NUMBER = re.compile(r"(?:\d{1,4}|[ivxl]{1,7})\Z")
_NO_TITLE = re.compile(r"untitled|microsoft word - |.*\.(?:docx?|tex|indd|pdf)\Z", re.IGNORECASE)

# What pypdf lets through on damaged files, beside its own errors.
_DAMAGE = (
    ArithmeticError,
    AssertionError,
    AttributeError,
    LookupError,
    NotImplementedError,
    OSError,
    RecursionError,
    TypeError,
    ValueError,
    struct.error,
    zlib.error,
)


def parse_pdf(data: bytes) -> Parsed:
    """Text of all pages: wrapped lines joined to paragraphs, words hyphenated by it rejoined.

    Sections come from the document's outline, where its titles can be found on their pages.

    Raises:
        UnreadableError: encrypted, damaged, or without a text layer.
        MissingExtraError: pypdf is not installed.
    """
    try:
        import pypdf
        from pypdf.errors import DependencyError, PyPdfError
    except ImportError as error:
        raise MissingExtraError("pdf", "reading PDF files") from error
    try:
        reader = pypdf.PdfReader(BytesIO(data))
        if reader.is_encrypted and not reader.decrypt(""):
            raise UnreadableError("is encrypted with a password; store it without")
        pages = [reflow_page(clean_text(page.extract_text())) for page in reader.pages]
        outline = list(_outline(reader, reader.outline, 1))
        info: Mapping[str, Any] = reader.metadata or {}
    except DependencyError as error:
        raise UnreadableError(f"is encrypted; store it without encryption ({error})") from error
    except (PyPdfError, *_DAMAGE) as error:
        raise UnreadableError(f"is damaged, or no PDF file: {error}") from error
    text = _PAGE_GAP.join(pages)
    if not text.strip():
        raise UnreadableError("holds no text, only images; it needs OCR first")
    author = one_line(str(info.get("/Author") or ""))
    return Parsed(
        text=text,
        title=_title(str(info.get("/Title") or "")),
        sections=nest(_locate(outline, pages), len(text)),
        metadata={"pages": len(pages), **({"author": author} if author else {})},
    )


def _title(raw: str) -> str:
    title = one_line(raw)
    return "" if _NO_TITLE.match(title) else title


def reflow_page(page: str) -> str:
    """One page with its paragraphs apart by a blank line.

    The text layer has one line per line of print, and mostly no blank ones. A line runs on when
    it is full, or when the next one begins in lower case; a short one ends its paragraph, or
    stands alone with others like it (headings, verse, rows of a table). A page number at the
    foot is left out.
    """
    lines = [" ".join(line.split()) for line in _HYPHENATED.sub("", page).split("\n")]
    if _PAGE_NUMBER.match(lines[-1]):
        lines.pop()
    lengths = sorted(len(line) for line in lines if line)
    full = FULL_LINE_SHARE * lengths[len(lengths) * 9 // 10] if lengths else 0
    parts: list[str] = []
    gap, ran_on = "", False
    for line, following in pairwise([*lines, ""]):
        if not line:
            gap = _PAGE_GAP if parts else ""
            continue
        parts += [gap, line]
        runs_on = _runs_on(line, following, full)
        gap = " " if runs_on else _PAGE_GAP if ran_on or len(following) >= full else "\n"
        ran_on = runs_on
    return "".join(parts)


def _runs_on(line: str, following: str, full: float) -> bool:
    """Whether a line was broken only because the next word did not fit."""
    word = following.partition(" ")[0]
    if not word or _BULLET.match(word):
        return False
    return word[0].islower() or len(line) + 1 + len(word) >= full


def _outline(reader: Any, entries: Sequence[Any], rank: int) -> Iterator[tuple[str, int, int]]:
    """Title, rank and page number of every entry of the outline, depth first."""
    for entry in entries:
        if isinstance(entry, list):
            yield from _outline(reader, entry, rank + 1)
            continue
        page = reader.get_destination_page_number(entry)
        if page is not None and page >= 0:
            yield one_line(str(entry.title)), rank, page


def _locate(outline: Sequence[tuple[str, int, int]], pages: Sequence[str]) -> list[Heading]:
    """Headings of the outline where they stand in the text, in its order."""
    starts = [0, *accumulate(len(page) + len(_PAGE_GAP) for page in pages)]
    headings: list[Heading] = []
    after = 0
    for title, rank, page in outline:
        if not title or page >= len(pages):
            continue
        found = pages[page].find(title, max(0, after - starts[page]))
        if found >= 0:
            start = starts[page] + found
            headings.append(Heading(title, rank, start))
            after = start + len(title)
    return headings
