"""PDF files that are written by hand, with every letter at a chosen place."""

from __future__ import annotations

from collections.abc import Sequence

_TO_UNICODE = b"""/CIDInit /ProcSet findresource begin 12 dict begin begincmap
/CMapName /Plain def /CMapType 2 def 1 begincodespacerange <0000> <FFFF> endcodespacerange
1 beginbfrange <0000> <FFFF> <0000> endbfrange endcmap end end"""

_WIDE_FONT = (
    b"<</Type/Font/Subtype/Type0/BaseFont/Plain/Encoding/Identity-H/DescendantFonts[5 0 R]"
    b"/ToUnicode 6 0 R>>"
)
_GLYPHS = (
    b"<</Type/Font/Subtype/CIDFontType2/BaseFont/Plain/DW 1000"
    b"/CIDSystemInfo<</Registry(Adobe)/Ordering(Identity)/Supplement 0>>>>"
)


def text_at(x: float, y: float, text: str, size: float = 10) -> bytes:
    """Return operators that print a text; letters outside of Windows-1252 are 1 em wide."""
    try:
        raw = text.encode("cp1252")
        for sign in (b"\\", b"(", b")"):
            raw = raw.replace(sign, b"\\" + sign)
        shown, font = b"(" + raw + b")", b"F1"
    except UnicodeEncodeError:
        shown, font = b"<" + text.encode("utf-16-be").hex().encode() + b">", b"F2"
    return b"BT /%s %.2f Tf %.2f %.2f Td %s Tj ET\n" % (font, size, x, y, shown)


def lines_at(x: float, y: float, lines: Sequence[str], size: float = 10) -> bytes:
    """Return operators that print lines 1.2 font sizes apart."""
    return b"".join(text_at(x, y - 1.2 * size * at, line, size) for at, line in enumerate(lines))


def pdf_of(
    *pages: bytes,
    annotations: Sequence[bytes] = (),
    objects: Sequence[bytes] = (),
    catalog: bytes = b"",
    resources: bytes = b"",
) -> bytes:
    """Return a PDF file.

    Args:
        annotations: annotations of the first page, as dictionaries.
        objects: further objects, numbered from ``FIRST_OBJECT``.
        catalog: further entries of the catalog.
        resources: further resources of all pages.
    """
    n_fixed = FIRST_OBJECT + len(objects)
    numbers = [n_fixed + 2 * at for at in range(len(pages))]
    notes = b" ".join(annotations)
    items = [
        b"<</Type/Catalog/Pages 2 0 R" + catalog + b">>",
        b"<</Type/Pages/Count %d/Kids[%s]>>"
        % (len(pages), b" ".join(b"%d 0 R" % number for number in numbers)),
        b"<</Type/Font/Subtype/Type1/BaseFont/Helvetica/Encoding/WinAnsiEncoding>>",
        _WIDE_FONT,
        _GLYPHS,
        _stream(_TO_UNICODE),
        *objects,
    ]
    for at, (number, content) in enumerate(zip(numbers, pages, strict=True)):
        items.append(
            b"<</Type/Page/Parent 2 0 R/MediaBox[0 0 500 700]/Contents %d 0 R/Annots[%s]"
            b"/CorpusAccess<</Font<</F1 3 0 R/F2 4 0 R>>%s>>>>"
            % (number + 1, notes if at == 0 else b"", resources)
        )
        items.append(_stream(content))
    out, places = b"%PDF-1.7\n", []
    for number, item in enumerate(items, start=1):
        places.append(len(out))
        out += b"%d 0 obj%s\nendobj\n" % (number, item)
    table = b"".join(b"%010d 00000 n \n" % place for place in places)
    head = b"xref\n0 %d\n0000000000 65535 f \n" % (len(items) + 1)
    end = b"trailer<</Size %d/Root 1 0 R>>\nstartxref\n%d\n%%%%EOF" % (len(items) + 1, len(out))
    return out + head + table + end


FIRST_OBJECT = 7
"""Number of the first further object."""


def outline_of(*entries: tuple[str, str], n_pages: int, n_objects: int = 0) -> list[bytes]:
    """Return the objects of an outline of titles with destinations such as ``0/XYZ 50 600 0``."""
    first = FIRST_OBJECT + n_objects
    n_all = n_objects + 1 + len(entries)
    items = [b"<</First %d 0 R/Last %d 0 R>>" % (first + 1, first + len(entries))]
    for at, (title, target) in enumerate(entries, start=1):
        page, _, view = target.partition("/")
        following = b"/Next %d 0 R" % (first + at + 1) if at < len(entries) else b""
        number = FIRST_OBJECT + n_all + 2 * int(page)
        items.append(
            b"<</Title(%s)/Parent %d 0 R%s/Dest[%d 0 R/%s]>>"
            % (title.encode(), first, following, number, view.encode())
        )
    return items


def _stream(content: bytes) -> bytes:
    return b"<</Length %d>>stream\n%s\nendstream" % (len(content), content)
