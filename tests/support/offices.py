"""Small files of the formats that people have, by the libraries that make them."""

import io
import zipfile
from email.message import EmailMessage

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
