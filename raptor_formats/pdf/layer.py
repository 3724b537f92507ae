"""Text layer of a PDF page, from PDFium: its glyphs, form fields and comments.

Repairs of glyphs keep the length of the text, so that each glyph keeps its place on the page.
Paragraphs are formed in ``parser``, sections in ``sections``.
"""

import re
import unicodedata
from collections.abc import Callable, Iterator
from ctypes import byref, c_double, c_ushort
from math import hypot
from statistics import median_low
from typing import Any, NamedTuple

from raptor_formats.pdf.pages import DIVIDED, PrintedLine
from raptor_formats.text import IDEOGRAPHIC, one_line

WORD_GAP_EMS = 0.15
"""Distance in font sizes from which two letters belong to different words."""

IDEOGRAM = f"\u3000-\u303f{IDEOGRAPHIC}\uff01-\uff60"
"""Chinese and Japanese letters and punctuation, as a range of a regular expression."""

_FILLER = "\uffff"
_BULLET = "•"
_PRIVATE = re.compile("[\ue000-\uf8ff\U000f0000-\U0010fffd]")
_PRIVATE_BULLET = re.compile("(?:^|(?<=\n))[\ue000-\uf8ff](?=[ \t\xa0]*[^\\s\ue000-\uf8ff])")
_MARKS = dict(
    zip(
        "¨´`^ˆ~˜¯˘˙˚¸˛˝ˇ",
        "\u0308\u0301\u0300\u0302\u0302\u0303\u0303\u0304\u0306\u0307\u030a\u0327\u0328\u030b\u030c",
        strict=True,
    )
)
_ACCENT = re.compile(f"[{''.join(_MARKS)}\u0300-\u036f]")
_DOTLESS = str.maketrans("ıȷ", "ij")
_ROW_END = re.compile(f"(?<={DIVIDED})|\n")
_MARGIN = f" \t\r\xa0\u3000{_FILLER}{DIVIDED}"
_NEAR = 4
_SPACED = re.compile(rf"(?<=[{IDEOGRAM}]) (?=[{IDEOGRAM}])")
_IDEOGRAMS = re.compile(rf"[{IDEOGRAM}]")
_CLOSE = re.compile(rf"[{IDEOGRAM}]{{2}}")
_HIDDEN, _PASSWORD = 2 | 32, 1 << 13


class PageText(NamedTuple):
    """Text of a page; ``notes`` are comments and field values that the page does not show."""

    lines: list[PrintedLine]
    notes: list[str]
    n_unknown_glyphs: int


def read_page(document: Any, at: int) -> PageText:
    """Return the text of a page in reading order."""
    import pypdfium2.raw as pdfium

    page = document[at]
    kinds, notes = _read_annotations(document, page)
    if kinds - {pdfium.FPDF_ANNOT_LINK, pdfium.FPDF_ANNOT_POPUP}:
        pdfium.FPDFPage_Flatten(page, pdfium.FLAT_NORMALDISPLAY)
        page.close()
        page = document[at]
    layer = page.get_textpage()
    try:
        glyphs = _Glyphs(layer)
        n_unknown = glyphs.compose_and_drop_glyphs()
        lines = list(glyphs.read_lines())
        shown = _remove_white_space("".join(line.text for line in lines)) if notes else ""
        notes = [note for note in notes if _remove_white_space(note) not in shown]
        return PageText(lines, notes, n_unknown)
    finally:
        layer.close()
        page.close()


def _remove_white_space(text: str) -> str:
    return "".join(text.replace(DIVIDED, "").split())


def _read_annotations(document: Any, page: Any) -> tuple[set[int], list[str]]:
    """Return the kinds of the annotations that a page shows, and their texts."""
    import pypdfium2.raw as pdfium

    kinds, notes = set(), []
    for at in range(pdfium.FPDFPage_GetAnnotCount(page)):
        annotation = pdfium.FPDFPage_GetAnnot(page, at)
        if not annotation:
            continue
        kind = pdfium.FPDFAnnot_GetSubtype(annotation)
        if not pdfium.FPDFAnnot_GetFlags(annotation) & _HIDDEN:
            kinds.add(kind)
            if kind == pdfium.FPDF_ANNOT_WIDGET:
                notes.append(_read_field_value(document.formenv, annotation))
            elif kind not in {pdfium.FPDF_ANNOT_LINK, pdfium.FPDF_ANNOT_POPUP}:
                notes.append(
                    _call_for_string(pdfium.FPDFAnnot_GetStringValue, annotation, b"Contents")
                )
        pdfium.FPDFPage_CloseAnnot(annotation)
    return kinds, [note for note in dict.fromkeys(map(one_line, notes)) if note]


def _read_field_value(form: Any, field: Any) -> str:
    """Return the text of a form field; "" for a button or a password."""
    import pypdfium2.raw as pdfium

    texts = {
        *(pdfium.FPDF_FORMFIELD_TEXTFIELD, pdfium.FPDF_FORMFIELD_COMBOBOX),
        pdfium.FPDF_FORMFIELD_LISTBOX,
    }
    if not form or pdfium.FPDFAnnot_GetFormFieldType(form, field) not in texts:
        return ""
    if pdfium.FPDFAnnot_GetFormFieldFlags(form, field) & _PASSWORD:
        return ""
    return _call_for_string(pdfium.FPDFAnnot_GetFormFieldValue, form, field)


def _call_for_string(function: Callable[..., int], *arguments: Any) -> str:
    """Call a PDFium function that fills a buffer and returns its size; return the text."""
    n_bytes = function(*arguments, None, 0)
    buffer = (c_ushort * (n_bytes // 2 + 1))()
    function(*arguments, buffer, n_bytes)
    return bytes(buffer)[: max(0, n_bytes - 2)].decode("utf-16-le", errors="replace")


class _Glyphs:
    """Glyphs of a text layer, by their index in its text."""

    def __init__(self, layer: Any) -> None:
        import pypdfium2.raw as pdfium

        self._pdfium, self._layer = pdfium, layer.raw
        self._place, self._matrix = (c_double(), c_double()), pdfium.FS_MATRIX()
        self._place_refs, self._matrix_ref = tuple(map(byref, self._place)), byref(self._matrix)
        n_chars = layer.count_chars()
        self._text: str = layer.get_text_range() if n_chars else ""
        self._is_aligned = n_chars == len(self._text)
        self._has_ideograms = bool(_IDEOGRAMS.search(self._text))

    def compose_and_drop_glyphs(self) -> int:
        """Compose accents, drop private-use glyphs, and return how many were dropped."""
        if _ACCENT.search(self._text):
            self._combine_accents()
        self._text = _PRIVATE_BULLET.sub(_BULLET, self._text)
        self._text, n_unknown = _PRIVATE.subn(_FILLER, self._text)
        return n_unknown

    def read_lines(self) -> Iterator[PrintedLine]:
        """Yield the lines; the first half of a hyphenated word ends with ``DIVIDED``."""
        for first, last, row in self._split_lines():
            size, (edge, base) = self._line_font_size(first, last), self._origin_of_glyph(first)
            text = one_line(row.replace(_FILLER, ""))
            if self._has_ideograms and not _CLOSE.search(text):
                text = _SPACED.sub("", text)
            yield PrintedLine(text, round(size, 1), base, edge)

    def _split_lines(self) -> Iterator[tuple[int, int, str]]:
        """Yield the first and last glyph index of each line, and its text."""
        start = 0
        for row in _ROW_END.split(self._text):
            if text := row.strip(_MARGIN):
                first = start + row.index(text)
                is_divided = row.endswith(DIVIDED)
                yield first, first + len(text) - 1, text + DIVIDED * is_divided
            start += len(row) + (not row.endswith(DIVIDED))

    def _line_font_size(self, first: int, last: int) -> float:
        """Return the font size of a line."""
        sizes = {self._font_size_of_glyph(first), self._font_size_of_glyph(last)}
        if len(sizes) > 1:
            sizes.add(self._font_size_of_glyph((first + last) // 2))
        return median_low(sizes)

    def _pdfium_char_index(self, at: int) -> int:
        if self._is_aligned:
            return at
        return int(self._pdfium.FPDFText_GetCharIndexFromTextIndex(self._layer, at))

    def _origin_of_glyph(self, at: int) -> tuple[float, float]:
        self._pdfium.FPDFText_GetCharOrigin(
            self._layer, self._pdfium_char_index(at), *self._place_refs
        )
        return self._place[0].value, self._place[1].value

    def _font_size_of_glyph(self, at: int) -> float:
        index = self._pdfium_char_index(at)
        self._pdfium.FPDFText_GetMatrix(self._layer, index, self._matrix_ref)
        scale: float = self._pdfium.FPDFText_GetFontSize(self._layer, index)
        return scale * hypot(self._matrix.c, self._matrix.d)

    def _left_and_right_edge(self, at: int) -> tuple[float, float]:
        """Return the left and right edge of a glyph."""
        edges = [c_double() for _ in range(4)]
        self._pdfium.FPDFText_GetCharBox(
            self._layer, self._pdfium_char_index(at), *map(byref, edges)
        )
        return edges[0].value, edges[1].value

    def _combine_accents(self) -> None:
        """Combine accents with the letters above or below which they stand."""
        letters = list(self._text)
        for match in _ACCENT.finditer(self._text):
            at = match.start()
            base = self._find_letter_under_accent(at)
            if base is None:
                continue
            mark = _MARKS.get(match[0], match[0])
            composed = unicodedata.normalize("NFC", letters[base].translate(_DOTLESS) + mark)
            if len(composed) == 1:
                letters[base], letters[at] = composed, _FILLER
                for space in self._find_spaces_at_accent(at):
                    letters[space] = _FILLER
        self._text = "".join(letters)

    def _find_letter_under_accent(self, accent: int) -> int | None:
        """Return the letter above or below whose middle an accent stands, or None."""
        edge, right = self._left_and_right_edge(accent)
        size = self._font_size_of_glyph(accent)
        height = self._origin_of_glyph(accent)[1]
        best, least = None, 1.0
        for at in range(max(0, accent - _NEAR), min(len(self._text), accent + _NEAR + 1)):
            if not self._text[at].isalpha() or self._text[at] in _MARKS:
                continue
            start, end = self._left_and_right_edge(at)
            reach = max(end - start, size / 4) / 2
            distance = abs(start + end - edge - right) / 2 / reach
            if distance < least and abs(self._origin_of_glyph(at)[1] - height) < size:
                best, least = at, distance
        return best

    def _find_spaces_at_accent(self, accent: int) -> range:
        """Return the white space around an accent if the letters around it form a word."""
        first, last = accent, accent
        while first > 0 and (self._text[first - 1].isspace()):
            first -= 1
        while last + 1 < len(self._text) and self._text[last + 1].isspace():
            last += 1
        if first == 0 or last + 1 == len(self._text):
            return range(0)
        gap = self._left_and_right_edge(last + 1)[0] - self._left_and_right_edge(first - 1)[1]
        is_word = abs(gap) < WORD_GAP_EMS * max(self._font_size_of_glyph(last + 1), 1.0)
        return range(first, last + 1) if is_word else range(0)
