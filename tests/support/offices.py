"""Small files of the formats that people have, by the libraries that make them."""

import io
import struct
import zipfile
from datetime import datetime
from email.message import EmailMessage
from itertools import pairwise

import openpyxl
import pptx
from pptx.util import Inches

CONTAINER = (
    '<container xmlns="urn:oasis:names:tc:opendocument:xmlns:container"><rootfiles>'
    '<rootfile full-path="OPS/book.opf"/></rootfiles></container>'
)
PACKAGE = """<package xmlns="http://www.idpf.org/2007/opf" version="3.0">
<metadata xmlns:dc="http://purl.org/dc/elements/1.1/"><dc:title>The Sea</dc:title>
<dc:creator>Ada</dc:creator></metadata><manifest>
<item id="n" href="nav.xhtml" media-type="application/xhtml+xml" properties="nav"/>
<item id="b" href="text/two.xhtml" media-type="application/xhtml+xml"/>
<item id="a" href="text/one%201.xhtml" media-type="application/xhtml+xml"/>
<item id="c" href="cover.jpg" media-type="image/jpeg"/></manifest>
<spine><itemref idref="n"/><itemref idref="a"/><itemref idref="b"/><itemref idref="b"/></spine>
</package>"""
CONTENTS = """<html xmlns="http://www.w3.org/1999/xhtml"><body><nav><ol>
<li><a href="text/one%201.xhtml">Tides</a></li><li><a href="text/two.xhtml#s">No</a></li></ol></nav>
</body></html>"""
ONE = (
    "<html><head><title>x</title></head><body><p>It rises.</p><aside>A note.</aside></body></html>"
)
TWO = "<html><body><h1>Winds</h1><h2>Trade winds</h2><p>They blow.</p></body></html>"
BODY = """<office:document-content
 xmlns:office="urn:oasis:names:tc:opendocument:xmlns:office:1.0"
 xmlns:text="urn:oasis:names:tc:opendocument:xmlns:text:1.0"
 xmlns:table="urn:oasis:names:tc:opendocument:xmlns:table:1.0"><office:body><office:text>
<text:tracked-changes><text:p>Deleted</text:p></text:tracked-changes>
<text:h text:outline-level="1">Hull</text:h>
<text:p>Made of<text:s/><text:span>old</text:span> wood.<text:note>Not this.</text:note></text:p>
<text:h text:outline-level="2">Planks</text:h>
<text:list><text:list-item><text:p>oak</text:p></text:list-item>
<text:list-item><text:p>pine</text:p></text:list-item></text:list>
<table:table><table:table-row><table:table-cell><text:p>Mast</text:p></table:table-cell>
<table:table-cell><text:p>3</text:p></table:table-cell></table:table-row></table:table>
</office:text></office:body></office:document-content>"""
ABOUT = """<office:document-meta xmlns:office="urn:oasis:names:tc:opendocument:xmlns:office:1.0"
 xmlns:dc="http://purl.org/dc/elements/1.1/"><office:meta><dc:title>Ships</dc:title>
<dc:creator>Ada</dc:creator></office:meta></office:document-meta>"""


def archived(parts):
    """A zip archive of these parts by name."""
    out = io.BytesIO()
    with zipfile.ZipFile(out, "w", zipfile.ZIP_DEFLATED) as made:
        for name, content in parts.items():
            made.writestr(name, content)
    return out.getvalue()


def epub(**changed):
    """A book of two chapters; parts that are given replace those of the same name."""
    parts = {
        "mimetype": "application/epub+zip",
        "META-INF/container.xml": CONTAINER,
        "OPS/book.opf": PACKAGE,
        "OPS/nav.xhtml": CONTENTS,
        "OPS/text/one 1.xhtml": ONE,
        "OPS/text/two.xhtml": TWO,
    }
    return archived({**parts, **changed})


def odt(**changed):
    """A text with headings, a list and a table."""
    parts = {"META-INF/manifest.xml": "<manifest/>", "content.xml": BODY, "meta.xml": ABOUT}
    return archived({**parts, **changed})


def deck():
    """Two slides: a title with points, and a table without a title; the first one has notes."""
    show = pptx.Presentation()
    show.core_properties.title = "Lighthouses"
    first = show.slides.add_slide(show.slide_layouts[1])
    first.shapes.title.text = "Lamps"
    first.placeholders[1].text = "Oil\nGas"
    first.notes_slide.notes_text_frame.text = "Say that oil came first."
    second = show.slides.add_slide(show.slide_layouts[6])
    place = [Inches(1)] * 4
    table = second.shapes.add_table(1, 2, *place).table
    table.cell(0, 0).text, table.cell(0, 1).text = "Range", "20 miles"
    group = second.shapes.add_group_shape()
    group.shapes.add_textbox(*place).text_frame.text = "Seen from far"
    return saved(show)


def workbook():
    """A sheet with a title and named columns, one of numbers alone, and an empty one."""
    book = openpyxl.Workbook()
    prices = book.active
    prices.title = "Prices"
    for row in (["Prices of 2026"], ["Ware", "Euro", None], ["Oil", 1.5, None], ["Gas", 2, "old"]):
        prices.append(row)
    raw = book.create_sheet("Raw")
    raw.append([1, 2])
    book.create_sheet("Empty")
    return saved(book)


def message():
    """A mail with a plain text, a page and an attachment."""
    made = EmailMessage()
    made["Subject"], made["From"], made["To"] = (
        "The tide",
        "Ada <ada@example.org>",
        "bo@example.org",
    )
    made["Date"] = "Mon, 23 Nov 2026 10:00:00 +0000"
    made.set_content("It rises at noon.\n\nAda\n")
    made.add_alternative("<p>Not this.</p>", subtype="html")
    made.add_attachment(b"x", maintype="image", subtype="png", filename="sea.png")
    return made.as_bytes()


def saved(document):
    """What a library's document saves."""
    out = io.BytesIO()
    document.save(out)
    return out.getvalue()


def outlook():
    """A stored Outlook message with an attachment: the streams of MS-OXMSG in an OLE file."""
    sent = int((datetime(2026, 11, 23, 10) - datetime(1601, 1, 1)).total_seconds() * 10**7)
    texts = {0x0037: "The tide", 0x1000: "It rises at noon.", 0x007D: "From: Ada"}
    return _ole(
        [
            ("Root Entry", None, [1]),
            ("__properties_version1.0", _properties(32, texts, {0x0039: sent}), []),
            *((f"__substg1.0_{key:04X}001F", _wide(text), []) for key, text in texts.items()),
            ("__attach_version1.0_#00000000", None, [6, 7]),
            ("__properties_version1.0", _properties(8, {0x3707: "sea.png"}, {}), []),
            ("__substg1.0_3707001F", _wide("sea.png"), []),
        ],
        top=[1, 2, 3, 4, 5],
    )


def _wide(text):
    return text.encode("utf-16-le")


def _properties(n_header, texts, times):
    entries = [
        struct.pack("<IIQ", key << 16 | 0x1F, 6, len(_wide(t)) + 2) for key, t in texts.items()
    ]
    entries += [struct.pack("<IIQ", key << 16 | 0x40, 6, value) for key, value in times.items()]
    return bytes(n_header) + b"".join(entries)


def _ole(entries, top):
    """An OLE file of small streams: a table of sectors, the folder, small sectors, their table."""
    none, end, table = 0xFFFFFFFF, 0xFFFFFFFE, 0xFFFFFFFD
    children = {0: top} | {n: kids for n, (_, _, kids) in enumerate(entries) if n}
    beside = {a: b for kids in children.values() for a, b in pairwise(kids)}
    small, chains, folder = b"", [], b""
    starts = {}
    for number, (_, data, _) in enumerate(entries):
        if data is not None:
            starts[number] = len(chains)
            n_sectors = -(-len(data) // 64)
            chains += [*range(len(chains) + 1, len(chains) + n_sectors), end]
            small += data.ljust(64 * n_sectors, b"\0")
    n_folder, n_small = -(-len(entries) // 4), -(-len(small) // 512)
    for number, (name, data, _) in enumerate(entries):
        kind = 5 if not number else 1 if data is None else 2
        start, size = (starts[number], len(data)) if data is not None else (0, 0)
        if not number:
            start, size = 2 + n_folder, len(small)
        child = (children[number] or [none])[0]
        head = _wide(name).ljust(64, b"\0") + struct.pack("<HBB", 2 * len(name) + 2, kind, 1)
        links = struct.pack("<III", none, beside.get(number, none), child)
        folder += head + links + bytes(36) + struct.pack("<IQ", start, size)
    folder = folder.ljust(512 * n_folder, b"\0")
    sectors = [table, *range(2, n_folder + 1), end, end]
    sectors += [*range(len(sectors) + 1, len(sectors) + n_small), end]
    header = bytes.fromhex("d0cf11e0a1b11ae1") + bytes(16)
    header += struct.pack("<5H6x", 0x3E, 3, 0xFFFE, 9, 6)
    header += struct.pack("<9I", 0, 1, 1, 0, 4096, 1 + n_folder, 1, end, 0)
    header += struct.pack("<109I", 0, *[none] * 108)
    fat = struct.pack("<128I", *sectors, *[none] * (128 - len(sectors)))
    small_table = struct.pack("<128I", *chains, *[none] * (128 - len(chains)))
    return header + fat + folder + small_table + small.ljust(512 * n_small, b"\0")
