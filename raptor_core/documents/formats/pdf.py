"""PDF: the text layer by PDFium, paragraph by paragraph, with sections and pages."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterator, Sequence
from ctypes import byref
from itertools import accumulate, pairwise
from statistics import median
from typing import Any

from raptor_core.documents.formats.pages import DIVIDED, Line, recognize, without_running_lines
from raptor_core.documents.formats.parsed import (
    Heading,
    Parsed,
    UnreadableError,
    clean_metadata,
    clean_text,
    nest,
    one_line,
)

FULL_LINE_SHARE = 0.9
"""A line that would reach this share of the page's longest lines with one more word is full."""

BROKEN_LINE_SHARE = 0.5
"""Of a full line, from which on one is broken where the next begins in lower case."""

PARAGRAPH_PITCH = 1.4
"""Lines that are further apart than this many times the usual are of different paragraphs."""

HEADING_SIZE = 1.15
"""Where there is no outline, lines that are so much larger than most of the text are headings."""

HEADING_CHARS = 120
HEADING_RANKS = 4
HEADINGS_SHARE = 0.15
"""Where larger lines make more than this share of the text, they are no headings."""

_PAGE_GAP = "\n\n"
_DIVIDED_WORD = re.compile(rf"(\w+){DIVIDED}(\w+)")
_WORD = re.compile(r"\w+(?:-\w+)*")
_BULLET = re.compile(r"[•◦▪‣·–*-]\Z")
_NO_TITLE = re.compile(r"untitled|microsoft word - |.*\.(?:docx?|tex|indd|pdf)\Z", re.IGNORECASE)


def parse_pdf(data: bytes, ocr: str = "") -> Parsed:
    """Text of all pages: wrapped lines joined to paragraphs, words divided by it rejoined.

    ``ocr`` are languages of tesseract, by which it reads pages without a text layer, if any.

    Running heads and feet and the numbers of pages are left out. Sections come from the document's
    outline, where its titles can be found on their pages, or else from larger lines.

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


def _problem(told: str) -> str:
    if "password" in told.lower():
        return "is encrypted with a password; store it without"
    if "security" in told.lower():
        return "is encrypted in a way that cannot be read; store it without encryption"
    return f"is damaged, or no PDF file: {told}"


def _title(raw: str) -> str:
    title = one_line(raw)
    return "" if _NO_TITLE.match(title) else title


def _lines(document: Any, at: int, ocr: str) -> tuple[list[Line], bool]:
    """The lines of a page in reading order, and whether they come from its picture."""
    page = document[at]
    layer = page.get_textpage()
    try:
        text = layer.get_text_range() if layer.count_chars() else ""
        lines, start = [], 0
        for line in text.split("\n"):
            words = " ".join(clean_text(line.rstrip("\r")).split())
            first = start + len(line) - len(line.lstrip())
            if words:
                lines.append(Line(words, *_place(layer, first)))
            start += len(line) + 1
        if ocr and not lines:
            lines = recognize(page, ocr)
            return lines, bool(lines)
        return lines, False
    finally:
        layer.close()
        page.close()


def _place(layer: Any, at: int) -> tuple[float, float]:
    """Height of a letter, and its upper edge above the foot of the page, in points."""
    import pypdfium2.raw as pdfium

    box = pdfium.FS_RECTF()
    if not pdfium.FPDFText_GetLooseCharBox(layer, at, byref(box)):
        return 0.0, 0.0
    return round(box.top - box.bottom, 1), box.top


def reflow(lines: Sequence[Line]) -> str:
    """One page with its paragraphs apart by a blank line.

    A line runs on when it is full, or not short and the next one begins in lower case, unless there
    is a gap between them or the next one is of another size; a short one ends its paragraph, or
    stands alone with others like it (verse, rows of a table).
    """
    lengths = sorted(len(part) for line in lines for part in line.text.split(DIVIDED))
    full = FULL_LINE_SHARE * lengths[len(lengths) * 9 // 10] if lengths else 0
    steps = [before.top - after.top for before, after in pairwise(lines) if before.top > after.top]
    most = PARAGRAPH_PITCH * median(steps) if steps else 0
    parts: list[str] = []
    gap, ran_on = "", False
    for line, after in pairwise([*lines, Line("")]):
        smaller, larger = sorted((line.size, after.size))
        is_apart = line.top - after.top > most or larger > HEADING_SIZE * smaller
        runs_on = not is_apart and _runs_on(line.text, after.text, full)
        parts += [gap, line.text]
        ends = is_apart or ran_on or len(after.text) >= full
        gap = " " if runs_on else _PAGE_GAP if ends else "\n"
        ran_on = runs_on
    return "".join(parts)


def _runs_on(line: str, following: str, full: float) -> bool:
    """Whether a line was broken only because the next word did not fit."""
    word = following.partition(" ")[0]
    if not word or _BULLET.match(word):
        return False
    n_last = len(line.rpartition(DIVIDED)[2])
    is_broken = word[0].islower() and n_last >= BROKEN_LINE_SHARE * full
    return is_broken or n_last + 1 + len(word) >= full


def _rejoined(pages: Sequence[str]) -> list[str]:
    """The pages with words whole that were divided at the end of a line.

    With a hyphen where the document writes the word with one elsewhere, and not without.
    """
    if not any(DIVIDED in page for page in pages):
        return list(pages)
    known = Counter(word.casefold() for page in pages for word in _WORD.findall(page))

    def whole(match: re.Match[str]) -> str:
        hyphened = "-".join(match.groups())
        joined = "".join(match.groups())
        return hyphened if known[hyphened.casefold()] > known[joined.casefold()] else joined

    return [_DIVIDED_WORD.sub(whole, page).replace(DIVIDED, "-") for page in pages]


def _outline(document: Any) -> Iterator[tuple[str, int, int]]:
    """Title, rank and page number of every entry of the outline, depth first."""
    for entry in document.get_toc():
        place = entry.get_dest()
        page = None if place is None else place.get_index()
        if page is not None:
            yield one_line(entry.get_title()), entry.level + 1, page


def _located(
    outline: Sequence[tuple[str, int, int]], pages: Sequence[str], starts: Sequence[int]
) -> list[Heading]:
    """Headings of the outline where they stand in the text, in its order."""
    headings: list[Heading] = []
    after = 0
    for title, rank, page in outline:
        if not title or page >= len(pages):
            continue
        words = r"\s+".join(map(re.escape, title.split()))
        match = re.compile(words).search(pages[page], max(0, after - starts[page]))
        if match:
            headings.append(Heading(title, rank, starts[page] + match.start()))
            after = starts[page] + match.end()
    return headings


def _larger_lines(
    printed: Sequence[Sequence[Line]], pages: Sequence[str], starts: Sequence[int]
) -> list[Heading]:
    """Headings by their size: the largest are the outermost."""
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
        after = 0
        for line in lines:
            if line.size not in ranks or len(line.text) > HEADING_CHARS:
                continue
            at = page.find(line.text, after)
            if at >= 0 and any(letter.isalpha() for letter in line.text):
                after = at + len(line.text)
                headings.append(Heading(line.text, ranks[line.size], start + at))
    return headings
