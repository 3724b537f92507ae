"""PDF: the text layer by PDFium, paragraph by paragraph, with sections and pages."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterator, Sequence
from ctypes import byref
from itertools import accumulate, pairwise
from statistics import median
from typing import Any

from raptor_core.documents.formats.pages import (
    DIVIDED,
    PrintedLine,
    recognize,
    without_running_lines,
)
from raptor_core.documents.formats.parsed import (
    Heading,
    Parsed,
    UnreadableError,
    clean_metadata,
    nest,
    one_line,
)

FULL_LINE_SHARE = 0.9
"""Share of the page's longest lines which a full line reaches with the next word."""

BROKEN_LINE_SHARE = 0.5
"""Share of a full line above which a line runs on if the next begins in lower case."""

PARAGRAPH_PITCH = 1.4
"""Multiple of the usual distance of lines that separates paragraphs."""

HEADING_SIZE = 1.15
"""Multiple of the usual size from which lines are headings, in a file without an outline."""

HEADING_CHARS = 120
HEADING_RANKS = 4
HEADINGS_SHARE = 0.15
"""Maximum share of larger lines in the text; above it they are no headings."""

_PAGE_GAP = "\n\n"
_DIVIDED_WORD = re.compile(rf"(\w+){DIVIDED}(\w+)")
_WORD = re.compile(r"\w+(?:-\w+)*")
_BULLET = re.compile(r"[•◦▪‣·–*-]\Z")
_NO_TITLE = re.compile(r"untitled|microsoft word - |.*\.(?:docx?|tex|indd|pdf)\Z", re.IGNORECASE)


def parse_pdf(data: bytes, ocr: str = "") -> Parsed:
    """Parse all pages; join wrapped lines to paragraphs, and the halves of divided words.

    Running heads and feet and page numbers are omitted. Sections come from titles of the outline
    that occur on their pages, else from larger lines. With ``ocr``, languages of tesseract, pages
    without a text layer are recognized.

    Raises:
        UnreadableError: encrypted, damaged, or without a text layer.
    """
    import pypdfium2 as pdfium

    try:
        document = pdfium.PdfDocument(data)
        read = [_lines(document, at, ocr) for at in range(len(document))]
        printed = without_running_lines([lines for lines, _ in read])
        info = document.get_metadata_dict()
        outline = [] if not printed else list(_outline(document))
    except pdfium.PdfiumError as error:
        raise UnreadableError(_problem(str(error))) from error
    pages = _rejoined([reflow(lines) for lines in printed])
    text = _PAGE_GAP.join(pages)
    if not text.strip():
        raise UnreadableError("holds no text, only images; it needs OCR first, or source.ocr")
    starts = [0, *accumulate(len(page) + len(_PAGE_GAP) for page in pages)][: len(pages)]
    headings = _located(outline, pages, starts) or _larger_lines(printed, pages, starts)
    n_recognized = sum(is_recognized for _, is_recognized in read)
    about = {"pages": len(pages), "author": info.get("Author", ""), "ocr_pages": n_recognized or ""}
    return Parsed(
        text=text,
        title=_title(info.get("Title") or ""),
        sections=nest(headings, len(text)),
        metadata=clean_metadata(about),
        pages=tuple(starts),
    )


def _problem(message: str) -> str:
    if "password" in message.lower():
        return "is encrypted with a password; store it without"
    if "security" in message.lower():
        return "is encrypted in a way that cannot be read; store it without encryption"
    return f"is damaged, or no PDF file: {message}"


def _title(raw: str) -> str:
    title = one_line(raw)
    return "" if _NO_TITLE.match(title) else title


def _lines(document: Any, at: int, ocr: str) -> tuple[list[PrintedLine], bool]:
    """Return the lines of a page in reading order, and whether they come from OCR."""
    page = document[at]
    layer = page.get_textpage()
    try:
        text = layer.get_text_range() if layer.count_chars() else ""
        lines, start = [], 0
        for line in text.split("\n"):
            words = one_line(line)
            first = start + len(line) - len(line.lstrip())
            if words:
                lines.append(PrintedLine(words, *_place(layer, first)))
            start += len(line) + 1
        if ocr and not lines:
            lines = recognize(page, ocr)
            return lines, bool(lines)
        return lines, False
    finally:
        layer.close()
        page.close()


def _place(layer: Any, at: int) -> tuple[float, float]:
    """Return the height of a letter, and its upper edge above the foot of the page, in points."""
    import pypdfium2.raw as pdfium

    box = pdfium.FS_RECTF()
    if not pdfium.FPDFText_GetLooseCharBox(layer, at, byref(box)):
        return 0.0, 0.0
    return round(box.top - box.bottom, 1), box.top


def reflow(lines: Sequence[PrintedLine]) -> str:
    """Return the text of a page with a blank line between paragraphs.

    A line runs on if it is full, or not short and the next begins in lower case, but not over a gap
    or a change of size. A short line ends its paragraph; consecutive short lines (verse, rows of a
    table) stay lines.
    """
    lengths = sorted(len(part) for line in lines for part in line.text.split(DIVIDED))
    full = FULL_LINE_SHARE * lengths[len(lengths) * 9 // 10] if lengths else 0
    steps = [line.top - lower.top for line, lower in pairwise(lines) if line.top > lower.top]
    max_step = PARAGRAPH_PITCH * median(steps) if steps else 0
    parts: list[str] = []
    gap, ran_on = "", False
    for line, following in pairwise([*lines, PrintedLine("")]):
        smaller, larger = sorted((line.size, following.size))
        is_apart = line.top - following.top > max_step or larger > HEADING_SIZE * smaller
        runs_on = not is_apart and _runs_on(line.text, following.text, full)
        parts += [gap, line.text]
        ends = is_apart or ran_on or len(following.text) >= full
        gap = " " if runs_on else _PAGE_GAP if ends else "\n"
        ran_on = runs_on
    return "".join(parts)


def _runs_on(line: str, following: str, full: float) -> bool:
    """Return whether a line was broken only because the next word did not fit."""
    word = following.partition(" ")[0]
    if not word or _BULLET.match(word):
        return False
    n_last = len(line.rpartition(DIVIDED)[2])
    is_broken = word[0].islower() and n_last >= BROKEN_LINE_SHARE * full
    return is_broken or n_last + 1 + len(word) >= full


def _rejoined(pages: Sequence[str]) -> list[str]:
    """Join the halves of divided words, with a hyphen if the document has that form more often."""
    if not any(DIVIDED in page for page in pages):
        return list(pages)
    known = Counter(word.casefold() for page in pages for word in _WORD.findall(page))

    def join(match: re.Match[str]) -> str:
        hyphened, joined = "-".join(match.groups()), "".join(match.groups())
        return hyphened if known[hyphened.casefold()] > known[joined.casefold()] else joined

    return [_DIVIDED_WORD.sub(join, page).replace(DIVIDED, "-") for page in pages]


def _outline(document: Any) -> Iterator[tuple[str, int, int]]:
    """Yield title, rank and page number of every entry of the outline, depth first."""
    for entry in document.get_toc():
        place = entry.get_dest()
        page = None if place is None else place.get_index()
        if page is not None:
            yield one_line(entry.get_title()), entry.level + 1, page


def _located(
    outline: Sequence[tuple[str, int, int]], pages: Sequence[str], starts: Sequence[int]
) -> list[Heading]:
    """Return the headings of the outline that occur in the text in its order."""
    headings: list[Heading] = []
    end = 0
    for title, rank, page in outline:
        if not title or page >= len(pages):
            continue
        words = r"\s+".join(map(re.escape, title.split()))
        match = re.compile(words).search(pages[page], max(0, end - starts[page]))
        if match:
            headings.append(Heading(title, rank, starts[page] + match.start()))
            end = starts[page] + match.end()
    return headings


def _larger_lines(
    printed: Sequence[Sequence[PrintedLine]], pages: Sequence[str], starts: Sequence[int]
) -> list[Heading]:
    """Return headings by their size; the largest are the outermost."""
    n_chars: Counter[float] = Counter()
    for line in (line for lines in printed for line in lines):
        n_chars[line.size] += len(line.text)
    body = max(n_chars, key=lambda size: n_chars[size], default=0.0)
    sizes = sorted((size for size in n_chars if size > HEADING_SIZE * body > 0), reverse=True)
    if sum(n_chars[size] for size in sizes) > HEADINGS_SHARE * n_chars.total():
        return []
    ranks = {size: min(rank, HEADING_RANKS) for rank, size in enumerate(sizes, start=1)}
    headings: list[Heading] = []
    for lines, page, start in zip(printed, pages, starts, strict=True):
        end = 0
        for line in lines:
            if line.size not in ranks or len(line.text) > HEADING_CHARS:
                continue
            at = page.find(line.text, end)
            if at >= 0 and any(letter.isalpha() for letter in line.text):
                end = at + len(line.text)
                headings.append(Heading(line.text, ranks[line.size], start + at))
    return headings
