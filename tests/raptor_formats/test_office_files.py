"""Slides, sheets, books, texts and mails: what is read, and the place that each chunk knows."""

import io
import zipfile
from datetime import datetime

import openpyxl
import pytest
from support import offices
from support.parsing import outline, parse

from raptor_core.chunking.outline import SectionPaths
from raptor_formats.base import UnreadableError

ENTITIES = '<!DOCTYPE l [<!ENTITY a "ha"><!ENTITY b "&a;&a;">]>'


def test_slides_with_titles_points_tables_groups_and_notes():
    document = parse("pptx", offices.deck())
    assert document.text == (
        "Slide 1: Lamps\n\n- Oil\n- Gas\n\nNotes\n\nSay that oil came first.\n\n"
        "Slide 2\n\nRange | 20 miles\n\nSeen from far"
    )
    assert document.title == "Lighthouses"
    assert outline(document) == [(1, "Slide 1: Lamps"), (2, "Notes"), (1, "Slide 2")]
    assert SectionPaths(document).path_at(document.text.index("came first")) == (
        "Slide 1: Lamps",
        "Notes",
    )
    assert document.metadata["slides"] == 2


def test_sheets_with_rows_that_name_their_columns():
    document = parse("xlsx", offices.workbook())
    assert document.text == (
        "Prices\n\nPrices of 2026\nWare: Oil | Euro: 1.5\nWare: Gas | Euro: 2 | old\n\nRaw\n\n1 | 2"
    )
    assert outline(document) == [(1, "Prices"), (1, "Raw")]
    assert document.metadata["sheets"] == 2


def test_values_of_formulas_dates_and_truths_are_read_as_they_were_saved():
    book = openpyxl.Workbook()
    book.active.append(["=1+1", True, 1234.5, 0.1 + 0.2])
    book.active["E1"].value = datetime(2026, 11, 23)
    assert parse("xlsx", offices.saved(book)).text.endswith("True | 1234.5 | 0.3 | 2026-11-23")


@pytest.mark.parametrize("delimiter", [",", ";", "\t"])
def test_rows_of_values_by_any_delimiter(delimiter):
    rows = [["Ware", "Note"], ["Oil", '"light, and; warm"'], ["Gas", ""]]
    data = "\r\n".join(delimiter.join(row) for row in rows).encode()
    assert parse("csv", data).text == "Ware: Oil | Note: light, and; warm\nWare: Gas"


@pytest.mark.parametrize(
    ("data", "text"),
    [
        (b"a,b\n", "a | b"),
        (b"1,2\n3,4\n", "1 | 2\n3 | 4"),
        (b"one\ntwo\n", "one\ntwo"),
        (b'a,b\n"x\ny",z', "a: x y | b: z"),
        (b"a,b\n1,2,3", "a: 1 | b: 2 | 3"),
        (b"a,b\n1,\"He said, 'no', and left\"\n", "a: 1 | b: He said, 'no', and left"),
        ("a,b\n1,x\u2028y\n".encode(), "a: 1 | b: x\u2028y"),
    ],
)
def test_values_without_names_stand_by_themselves(data, text):
    assert parse("csv", data).text == text


def test_chapters_in_reading_order_with_the_names_of_the_contents():
    document = parse("epub", offices.epub())
    assert document.text == "Tides\n\nIt rises.\n\nA note.\n\nWinds\n\nTrade winds\n\nThey blow."
    assert outline(document) == [(1, "Tides"), (1, "Winds"), (2, "Trade winds")]
    assert (document.title, document.metadata["author"]) == ("The Sea", "Ada")
    assert document.metadata["chapters"] == 2


def test_headings_lists_and_tables_of_an_open_document():
    document = parse("odt", offices.odt())
    assert document.text == "Hull\n\nMade of old wood.\n\nPlanks\n\n- oak\n- pine\n\nMast | 3"
    assert outline(document) == [(1, "Hull"), (2, "Planks")]
    assert (document.title, document.metadata["author"]) == ("Ships", "Ada")


def test_a_mail_has_its_sender_date_subject_and_attachments():
    document = parse("eml", offices.message())
    assert document.text.strip() == "It rises at noon.\n\nAda"
    assert document.title == "The tide"
    assert document.metadata == {
        "folder": ".",
        "format": "eml",
        "subject": "The tide",
        "sender": "Ada <ada@example.org>",
        "recipients": "bo@example.org",
        "date": "2026-11-23T10:00:00+00:00",
        "attachments": "sea.png",
    }


OLE = b"\xd0\xcf\x11\xe0"


@pytest.mark.parametrize(
    ("extension", "data", "reason"),
    [
        ("docx", offices.archived({"x": "x"}), "damaged, or not a valid Word"),
        ("pptx", OLE, r"old \.ppt format"),
        ("pptx", offices.archived({"x": "x"}), "damaged, or not a valid PowerPoint"),
        ("pptx", offices.workbook(), "damaged, or not a valid PowerPoint"),
        ("xlsx", OLE, r"old \.xls format"),
        ("xlsx", offices.deck(), "damaged, or not a valid Excel"),
        ("odt", offices.archived({"x": "x"}), "damaged, or not a valid OpenDocument"),
        ("odt", offices.odt(**{"content.xml": "<a>"}), "damaged, or not a valid OpenDocument"),
        ("odt", offices.odt(**{"META-INF/manifest.xml": "<encryption-data/>"}), "encrypted"),
        ("odt", offices.odt(**{"content.xml": ENTITIES + "<l>&b;</l>"}), "declares XML entities"),
        ("epub", offices.archived({"x": "x"}), "damaged, or not a valid EPUB"),
        ("epub", offices.epub(**{"OPS/book.opf": "<package/>"}), "contains no text"),
        ("eml", b"\n\nno header", "does not begin with a header"),
        ("eml", b"Subject: x\n\n", "contains no text"),
        ("csv", b"a,b\n" + b"x" * 200_000 + b",1", "not a valid CSV file: field larger"),
    ],
    ids=lambda value: value if isinstance(value, str) else "",  # files hold the time of day
)
def test_damaged_and_hostile_files_are_rejected_with_a_reason(extension, data, reason):
    with pytest.raises(UnreadableError, match=reason):
        parse(extension, data)


@pytest.mark.parametrize("extension", ["docx", "pptx", "xlsx", "odt", "epub"])
def test_archives_that_would_unpack_beyond_bounds_are_refused_before_that(extension):
    markup = offices.archived({"content.xml": b" " * 30_000_000})
    assert len(markup) < 50_000
    with pytest.raises(UnreadableError, match="30 MB of text and layout"):
        parse(extension, markup)
    pictures = offices.archived({"a.bmp": b" " * 3_000_000})
    with pytest.raises(UnreadableError, match="over the limit of 2 MB"):
        parse(extension, pictures, max_file_mb=0.5)


def test_a_size_that_a_part_does_not_have_is_not_believed():
    data = offices.odt()
    at = data.index(b"PK\x01\x02") + 24
    changed = bytearray(data)
    changed[at : at + 4] = (10).to_bytes(4, "little")
    with pytest.raises(UnreadableError, match="damaged"):
        parse("odt", bytes(changed))


@pytest.mark.parametrize(
    ("extension", "made", "part"),
    [
        ("pptx", offices.deck(), "ppt/slides/slide1.xml"),
        ("xlsx", offices.workbook(), "xl/workbook.xml"),
        ("xlsx", offices.workbook(), "xl/worksheets/sheet1.xml"),
        ("epub", offices.epub(), "OPS/book.opf"),
        ("odt", offices.odt(), "content.xml"),
    ],
    ids=["pptx", "xlsx", "xlsx sheet", "epub", "odt"],
)
def test_entities_that_multiply_bring_no_text(extension, made, part):
    entities = "".join(f'<!ENTITY a{n} "{f"&a{n - 1};" * 10}">' for n in range(1, 12))
    with zipfile.ZipFile(io.BytesIO(made)) as archive:
        parts = {name: archive.read(name).decode("latin-1") for name in archive.namelist()}
    root = parts[part].partition("?>\n")[2] or parts[part]
    opened, closed, rest = root.partition(">")
    parts[part] = f'<!DOCTYPE l [<!ENTITY a0 "ha">{entities}]>{opened}{closed}&a11;{rest}'
    try:
        text = parse(extension, offices.archived(parts)).text
    except UnreadableError as error:
        text = str(error)
    assert len(text) < 500
