"""PDF files: their text layer from PDFium, as paragraphs, with sections and pages.

Glyphs, fields and comments of a page are read in ``layer``, sections in ``sections``.
"""

import re
from collections import Counter
from collections.abc import Mapping, Sequence
from itertools import accumulate, pairwise
from statistics import median
from typing import NamedTuple

from raptor_formats.base import UNKNOWN_GLYPHS, MissingLibraryError, Parsed, UnreadableError
from raptor_formats.blocks import pack_blocks
from raptor_formats.metadata import clean_metadata
from raptor_formats.pdf.blocks import read_printed_blocks
from raptor_formats.pdf.layer import IDEOGRAM, read_page
from raptor_formats.pdf.pages import DIVIDED, PrintedLine, without_running_lines
from raptor_formats.pdf.sections import (
    HEADING_SIZE,
    find_headings_by_size,
    place_outline,
    read_outline,
)
from raptor_formats.sections import nest_headings
from raptor_formats.text import one_line

FULL_LINE_SHARE = 0.9
"""Share of the page's longest lines that a full line would reach with the next word."""

BROKEN_LINE_SHARE = 0.5
"""Share of a full line above which a line continues if the next one begins in lower case."""

PARAGRAPH_PITCH = 1.4
"""Multiple of the usual line distance that separates paragraphs."""

SENTENCE_PITCH = 2.6
"""Multiple of the usual line distance that separates paragraphs inside a sentence."""

_PAGE_GAP = "\n\n"
_NOTE_BASE = -1e6  # below any page, so that each note is a paragraph
_HYPHENS = ("-", "\u2010", "\xad")
_HYPHENED = re.compile(r"[^\W\d_][-\u2010\xad][^\W\d_]|\d-\d")
_WORD = re.compile(r"\w+(?:-\w+)*")
_LAST_WORD = re.compile(r"\w+\Z")
_FIRST_WORD = re.compile(r"\w+")
_IDEOGRAM = re.compile(f"[{IDEOGRAM}]")
_OPEN_END = re.compile(r"[^\W\d_A-Z],?\Z")
_BULLET = re.compile(r"[•◦▪‣·–*-]\Z")
_NO_TEXT = "contains no text; it needs OCR first, such as by ocrmypdf, if its pages show letters"
_NO_TITLE = re.compile(r"untitled|microsoft word - |.*\.(?:docx?|tex|indd|pdf)\Z", re.IGNORECASE)


class ReflowedText(NamedTuple):
    """Text of all pages, with the offsets of the pages and of the lines of each page."""

    text: str
    page_starts: list[int]
    line_starts: list[list[int]]


def parse_pdf(data: bytes) -> Parsed:
    """Parse all pages; join wrapped lines to paragraphs, and the halves of hyphenated words.

    Running headers and footers and page numbers are omitted. Sections come from the outline, or
    else from larger lines.

    Raises:
        UnreadableError: encrypted, damaged, or without a text layer.
        MissingLibraryError: the extra "pdf" is not installed.
    """
    try:
        import pypdfium2 as pdfium
    except ImportError as error:
        raise MissingLibraryError("pdf", "reading PDF files") from error

    try:
        document = pdfium.PdfDocument(data)
        document.init_forms()
        read = [read_page(document, at) for at in range(len(document))]
        info = document.get_metadata_dict()
        outline = list(read_outline(document))
        printed = without_running_lines([page.lines for page in read])
        for lines, page in zip(printed, read, strict=True):
            lines += [PrintedLine(note, 0, at * _NOTE_BASE) for at, note in enumerate(page.notes)]
        flow = join_lines_to_paragraphs(printed)
        if not flow.text.strip():
            raise UnreadableError(_NO_TEXT)
    except pdfium.PdfiumError as error:
        raise UnreadableError(_explain_pdfium_error(str(error))) from error
    headings = place_outline(outline, printed, flow.line_starts, flow.page_starts)
    headings = headings or find_headings_by_size(printed, flow.line_starts)
    about = {
        "pages": len(printed),
        "author": info.get("Author", ""),
        UNKNOWN_GLYPHS: sum(page.n_unknown_glyphs for page in read) or "",
    }
    sections = nest_headings(headings, len(flow.text))
    return Parsed(
        text=flow.text,
        title=_clean_title(info.get("Title") or ""),
        sections=sections,
        metadata=clean_metadata(about),
        page_starts=tuple(flow.page_starts),
        packed_blocks=pack_blocks(read_printed_blocks(flow.text, sections, flow.page_starts)),
    )


def _explain_pdfium_error(message: str) -> str:
    if "password" in message.lower():
        return "is encrypted with a password; save it without one"
    if "security" in message.lower():
        return "has an unsupported encryption; save it without encryption"
    return f"is damaged, or not a valid PDF file: {message}"


def _clean_title(raw: str) -> str:
    title = one_line(raw)
    return "" if _NO_TITLE.match(title) else title


def join_lines_to_paragraphs(pages: Sequence[Sequence[PrintedLine]]) -> ReflowedText:
    """Join the lines of the pages to paragraphs, with a blank line between these.

    A line continues if it is full, or if it is not short and the next line begins in lower case,
    but not across a gap or a change of font size. A short line ends its paragraph, but consecutive
    short lines (verse, rows of a table) stay separate lines. Sentences and hyphenated words
    continue across pages.
    """
    known = _count_words(pages)
    lines = [line for page in pages for line in page]
    gaps = [gap for page in pages for gap in _separators_below_lines(page)]
    starts = accumulate(map(len, pages), initial=0)
    for at in list(starts)[1:]:
        if 0 < at < len(lines) and _sentence_continues(lines[at - 1], lines[at]):
            gaps[at - 1] = _space_between(lines[at - 1].text, lines[at].text)
    parts: list[str] = []
    for (line, following), gap in zip(pairwise([*lines, PrintedLine("")]), gaps, strict=True):
        if _is_word_divided(line, following):
            parts.append(
                line.text[:-1] + _hyphen_of_divided_word(line.text[:-1], following.text, known)
            )
        else:
            parts.append(line.text.replace(DIVIDED, "-") + gap)
    if parts:
        parts[-1] = parts[-1].removesuffix(_PAGE_GAP)
    places = [0, *accumulate(map(len, parts))]
    rows = [0, *accumulate(map(len, pages))]
    line_starts = [places[first:end] for first, end in pairwise(rows)]
    return ReflowedText("".join(parts), [places[row] for row in rows[:-1]], line_starts)


def _separators_below_lines(lines: Sequence[PrintedLine]) -> list[str]:
    """Return the gap below each line of a page."""
    lengths = sorted(len(line.text) for line in lines)
    full = FULL_LINE_SHARE * lengths[len(lengths) * 9 // 10] if lengths else 0
    steps = [
        line.baseline - lower.baseline
        for line, lower in pairwise(lines)
        if line.baseline > lower.baseline
    ]
    pitch = median(steps) if steps else 0
    gaps: list[str] = []
    ran_on = False
    for line, following in pairwise([*lines, PrintedLine("")]):
        is_open = _sentence_continues(line, following)
        max_step = (SENTENCE_PITCH if is_open else PARAGRAPH_PITCH) * pitch
        is_apart = line.baseline - following.baseline > max_step or not _have_similar_font_size(
            line, following
        )
        runs_on = not is_apart and _was_wrapped(line.text, following.text, full)
        ends = is_apart or ((ran_on or len(following.text) >= full) and not is_open)
        space = _space_between(line.text, following.text)
        gaps.append(space if runs_on else _PAGE_GAP if ends else "\n")
        ran_on = runs_on
    return [*gaps[:-1], _PAGE_GAP] if gaps else []


def _have_similar_font_size(line: PrintedLine, following: PrintedLine) -> bool:
    smaller, larger = sorted((line.font_size, following.font_size))
    return larger <= HEADING_SIZE * smaller


def _sentence_continues(line: PrintedLine, following: PrintedLine) -> bool:
    """Return whether a sentence continues on the next line, judging by its letters."""
    is_broken = following.text[:1].islower() and bool(_OPEN_END.search(line.text))
    return (is_broken or _is_word_divided(line, following)) and _have_similar_font_size(
        line, following
    )


def _is_word_divided(line: PrintedLine, following: PrintedLine) -> bool:
    if line.text.endswith(DIVIDED):
        return bool(following.text)
    if not line.text.endswith(_HYPHENS):
        return False
    pair = f"{line.text[-2:]}{following.text[:1]}"
    return (
        bool(_HYPHENED.match(pair))
        and not pair[-1].isupper()
        and _have_similar_font_size(line, following)
    )


def _space_between(line: str, following: str) -> str:
    """Return the space between two lines, which Chinese and Japanese do without."""
    return "" if all(map(_IDEOGRAM.match, (line[-1:], following[:1]))) else " "


def _was_wrapped(line: str, following: str, full: float) -> bool:
    """Return whether a line was broken only because the next word did not fit."""
    word = following.partition(" ")[0]
    if not word or _BULLET.match(word):
        return False
    if _IDEOGRAM.match(word):
        word = word[0]
    is_broken = word[0].islower() and len(line) >= BROKEN_LINE_SHARE * full
    return is_broken or len(line) + 1 + len(word) >= full


def _count_words(pages: Sequence[Sequence[PrintedLine]]) -> Counter[str]:
    """Count the words of a file, if it has a hyphenated word."""
    if not any(line.text.endswith((DIVIDED, "-")) for page in pages for line in page):
        return Counter()
    words = (_WORD.findall(line.text) for page in pages for line in page)
    return Counter(word.casefold() for line in words for word in line)


def _hyphen_of_divided_word(first: str, second: str, known: Mapping[str, int]) -> str:
    """Return the hyphen of a divided word, or "" if the file also has the word without it."""
    start, end = _LAST_WORD.search(first), _FIRST_WORD.match(second)
    if start is None or end is None:
        return "-"
    hyphened, joined = (f"{start[0]}{sign}{end[0]}".casefold() for sign in ("-", ""))
    is_name = not end[0][0].islower()
    return "-" if known.get(hyphened, 0) + is_name > known.get(joined, 0) else ""
