"""Parts of office files beside their text: boxes, diagrams, notes, formats, merged cells."""

import base64
import io
import zipfile

import docx
import openpyxl
import pptx
import pytest
from docx.oxml import parse_xml
from openpyxl.comments import Comment
from pptx.chart.data import CategoryChartData
from pptx.enum.chart import XL_CHART_TYPE
from pptx.util import Inches
from support import offices
from support.parsing import parse

from raptor_core.checks.document_text import find_odd_text
from raptor_formats.base import UnreadableError
from raptor_formats.office.number_format import format_number

W = 'xmlns:w="http://schemas.openxmlformats.org/wordprocessingml/2006/main"'
R = 'xmlns:r="http://schemas.openxmlformats.org/officeDocument/2006/relationships"'
A = 'xmlns:a="http://schemas.openxmlformats.org/drawingml/2006/main"'
DGM = 'xmlns:dgm="http://schemas.openxmlformats.org/drawingml/2006/diagram"'
RELATIONS = "http://schemas.openxmlformats.org/officeDocument/2006/relationships"
STRICT = {
    b"http://schemas.openxmlformats.org/officeDocument/2006/relationships": (
        b"http://purl.oclc.org/ooxml/officeDocument/relationships"
    ),
    b"http://schemas.openxmlformats.org/wordprocessingml/2006/main": (
        b"http://purl.oclc.org/ooxml/wordprocessingml/main"
    ),
    b"http://schemas.openxmlformats.org/spreadsheetml/2006/main": (
        b"http://purl.oclc.org/ooxml/spreadsheetml/main"
    ),
    b"http://schemas.openxmlformats.org/presentationml/2006/main": (
        b"http://purl.oclc.org/ooxml/presentationml/main"
    ),
    b"http://schemas.openxmlformats.org/drawingml/2006/main": (
        b"http://purl.oclc.org/ooxml/drawingml/main"
    ),
}
POINTS = f"""<dgm:dataModel {DGM} {A}><dgm:ptLst>
<dgm:pt><dgm:t><a:p><a:r><a:t>Ebb</a:t></a:r></a:p></dgm:t></dgm:pt>
<dgm:pt type="pres"/><dgm:pt><dgm:t><a:p><a:r><a:t>Flow</a:t></a:r></a:p></dgm:t></dgm:pt>
</dgm:ptLst></dgm:dataModel>"""


def changed(data, **parts):
    """The archive with these parts replaced or added; a function changes what is there."""
    with zipfile.ZipFile(io.BytesIO(data)) as archive:
        content = {name: archive.read(name) for name in archive.namelist()}
    for name, change in parts.items():
        content[name] = change(content[name]) if callable(change) else change
    return offices.archived(content)


def strict(data):
    """The archive with the namespaces of the Strict variant."""
    with zipfile.ZipFile(io.BytesIO(data)) as archive:
        content = {name: archive.read(name) for name in archive.namelist()}
    for old, new in STRICT.items():
        content = {name: part.replace(old, new) for name, part in content.items()}
    return offices.archived(content)


def letter(*xml):
    """A Word document with a sentence, and paragraphs of this XML."""
    word = docx.Document()
    word.add_paragraph("It rises.")
    for element in xml:
        word.element.body.insert(-1, parse_xml(element))
    return offices.saved(word)


def with_diagram(data, part, folder):
    """The archive with a SmartArt of two points, to which ``part`` refers as rId99."""
    rels = f"{folder}/_rels/{part}.rels"
    relation = f'<Relationship Id="rId99" Type="{RELATIONS}/diagramData" Target="../d/data1.xml"/>'
    end = b"</Relationships>"
    added = {rels: lambda old: old.replace(end, relation.encode() + end), "d/data1.xml": POINTS}
    added |= {f"{folder.partition('/')[0]}/d/data1.xml": POINTS}
    return changed(data, **added)


BOX = f"""<w:p {W} xmlns:mc="http://schemas.openxmlformats.org/markup-compatibility/2006"
 xmlns:wps="http://schemas.microsoft.com/office/word/2010/wordprocessingShape"><w:r>
<mc:AlternateContent><mc:Choice Requires="wps"><w:drawing><wps:wsp><wps:txbx><w:txbxContent>
<w:p><w:r><w:t>In a box.</w:t></w:r></w:p></w:txbxContent></wps:txbx></wps:wsp></w:drawing>
</mc:Choice><mc:Fallback><w:pict><w:txbxContent><w:p><w:r><w:t>In a box.</w:t></w:r></w:p>
</w:txbxContent></w:pict></mc:Fallback></mc:AlternateContent><w:t>Around.</w:t></w:r></w:p>"""
OLD_BOX = f"""<w:p {W} xmlns:v="urn:schemas-microsoft-com:vml"><w:r><w:pict><v:shape>
<v:textpath string="Curved"/><v:textbox><w:txbxContent><w:p><w:r><w:t>Old box.</w:t></w:r></w:p>
</w:txbxContent></v:textbox></v:shape></w:pict></w:r></w:p>"""


def test_text_boxes_of_word_are_read_once_after_their_paragraph():
    assert parse("docx", letter(BOX)).text == "It rises.\n\nAround.\n\nIn a box."
    assert parse("docx", letter(OLD_BOX)).text == "It rises.\n\nCurved\n\nOld box."


def test_foot_notes_of_word_follow_their_paragraph():
    note = f'<w:p {W}><w:r><w:t>Salt</w:t><w:footnoteReference w:id="2"/></w:r></w:p>'
    notes = (
        f'<w:footnotes {W}><w:footnote w:type="separator" w:id="0"><w:p/></w:footnote>'
        '<w:footnote w:id="2"><w:p><w:r><w:t>Of the sea.</w:t></w:r></w:p></w:footnote>'
        "</w:footnotes>"
    )
    relation = f'<Relationship Id="rId98" Type="{RELATIONS}/footnotes" Target="footnotes.xml"/>'
    end = b"</Relationships>"
    data = changed(
        letter(note),
        **{
            "word/footnotes.xml": notes,
            "word/_rels/document.xml.rels": lambda old: old.replace(end, relation.encode() + end),
        },
    )
    assert parse("docx", data).text == "It rises.\n\nSalt\n\nOf the sea."


def test_headings_by_outline_level_and_by_styles_that_are_based_on_headings():
    word = docx.Document()
    style = word.styles.add_style("Kapitel", docx.enum.style.WD_STYLE_TYPE.PARAGRAPH)
    style.base_style = word.styles["Heading 2"]
    word.add_paragraph("By its base", style="Kapitel")
    for text, level in (("By its level", 0), ("Plain", 9)):
        paragraph = word.add_paragraph(text, style="Kapitel" if level == 9 else None)
        paragraph._p.get_or_add_pPr().append(parse_xml(f'<w:outlineLvl {W} w:val="{level}"/>'))
    titles = [section.title for section in parse("docx", offices.saved(word)).sections]
    assert titles == ["By its base", "By its level"]


def test_labels_of_merged_cells_stand_in_each_row_of_a_word_table():
    word = docx.Document()
    table = word.add_table(2, 2)
    for cell, text in zip(table._cells, ["Brest", "7 m", "", "6 m"], strict=True):
        cell.text = text
    table.cell(0, 0).merge(table.cell(1, 0))
    assert parse("docx", offices.saved(word)).text == "Brest | 7 m\nBrest | 6 m"


@pytest.mark.parametrize(
    ("extension", "data"),
    [("docx", letter(BOX)), ("xlsx", offices.workbook()), ("pptx", offices.deck())],
    ids=["docx", "xlsx", "pptx"],
)
def test_strict_files_read_like_others(extension, data):
    assert strict(data) != data
    assert parse(extension, strict(data)).text == parse(extension, data).text


def test_diagrams_charts_and_merged_cells_of_slides():
    show = pptx.Presentation()
    slide = show.slides.add_slide(show.slide_layouts[6])
    place = [Inches(1)] * 4
    data = CategoryChartData()
    data.categories = ["a"]
    data.add_series("b", [1])
    chart = slide.shapes.add_chart(XL_CHART_TYPE.PIE, *place, data).chart
    chart.chart_title.text_frame.text = "Heights of 2026"
    table = slide.shapes.add_table(2, 2, *place).table
    for row, texts in enumerate((["Brest", "7 m"], ["", "6 m"])):
        for column, text in enumerate(texts):
            table.cell(row, column).text = text
    table.cell(0, 0).merge(table.cell(1, 0))
    frame = f'<p:graphicFrame xmlns:p="p"><dgm:relIds {DGM} {R} r:dm="rId99"/></p:graphicFrame>'
    slide.shapes._spTree.append(parse_xml(frame))
    data = with_diagram(offices.saved(show), "slide1.xml", "ppt/slides")
    assert parse("pptx", data).text == (
        "Slide 1\n\nHeights of 2026\n\nBrest | 7 m\nBrest | 6 m\n\nEbb\n\nFlow"
    )


def test_comments_and_text_boxes_of_a_sheet_follow_its_rows():
    book = openpyxl.Workbook()
    book.active["A1"] = "Oil"
    book.active["A1"].comment = Comment("from Brest", "Ada")
    chart = openpyxl.chart.BarChart()
    chart.title = "Heights"
    book.active.add_chart(chart, "C3")
    assert parse("xlsx", offices.saved(book)).text == "Sheet\n\nOil\n\nHeights\n\nA1: from Brest"


@pytest.mark.parametrize(
    ("value", "code", "shown"),
    [
        (0.475, "0.0 %", "47.5 %"),
        (0.475, "0%", "48%"),
        (1234567.891, "#,##0.00", "1,234,567.89"),
        (-1234.5, "#,##0.00;(#,##0.00)", "(1,234.50)"),
        (-5, "0;[Red]-0", "-5"),
        (1234.5, r'_-* #,##0.00\ "€"_-;\-* #,##0.00\ "€"_-', "1,234.50 €"),
        (5, "[$£-809]#,##0.00", "£5.00"),
        (12345678, '0.0,,"M"', "12.3M"),
        (0.00012, "0.00E+00", "1.20E-04"),
        (2.75, "# ?/?", "2.75"),
        (123456789, "000-00-0000", "123-45-6789"),
        (46349, "dd.mm.yyyy", "23.11.2026"),
        (46349.75, "d. mmmm yyyy h:mm AM/PM", "23. November 2026 6:00 PM"),
        (59, "yyyy-mm-dd", "1900-02-28"),
        (1.5, "[h]:mm:ss", "36:00:00"),
        (0.0512, "mm:ss", "13:44"),
        (30, '[=1]"one";[=2]"two";0', "30"),
        (0.1 + 0.2, "General", "0.3"),
        (9.999, "0.0E+00", "1.0E+01"),
        (-0.5, "[h]:mm", "-12:00"),
        (5, ";;;", ""),
        (5, "[<1]0%;0.0", "5"),
        (2155551234, "[<=9999999]###-####;(###) ###-####", "2155551234"),
        (-12, 'General" °C"', "-12 °C"),
        (1e21, "General", "1E+21"),
        (1e300, "0.00", f"{1e300:.0f}"[:1] + "0" * 300 + ".00"),
    ],
)
def test_numbers_are_shown_by_their_formats(value, code, shown):
    assert format_number(value, code) == shown


def test_labels_of_merged_cells_name_columns_and_rows_of_a_sheet():
    book = openpyxl.Workbook()
    sheet = book.active
    for row in (
        ["Port", "High", None],
        [None, "m", "time"],
        ["Brest", 7, "noon"],
        [None, 6, "ten"],
    ):
        sheet.append(row)
    for area in ("A1:A2", "B1:C1", "A3:A4"):
        sheet.merge_cells(area)
    assert parse("xlsx", offices.saved(book)).text == (
        "Sheet\n\nPort: Brest | High m: 7 | High time: noon\n"
        "Port: Brest | High m: 6 | High time: ten"
    )


def test_formulas_without_a_saved_value_are_a_doubt():
    book = openpyxl.Workbook()
    book.active.append(["Sum", "=1+1", "=2+2"])
    odd = find_odd_text(parse("xlsx", offices.saved(book)))
    assert odd.reason.startswith("2 formulas without a saved value; open the workbook")
    lone = openpyxl.Workbook()
    lone.active.append(["=1+1"])
    with pytest.raises(UnreadableError, match="only formulas without a saved value"):
        parse("xlsx", offices.saved(lone))


@pytest.mark.slow
def test_a_text_that_cells_share_without_end_is_refused():
    main = b'xmlns="http://schemas.openxmlformats.org/spreadsheetml/2006/main"'
    rows = b'<row><c t="s"><v>0</v></c></row>' * 900
    relation = b'<Relationship Id="rId98" Type="%s/sharedStrings" Target="s.xml"/></Relationships>'
    data = changed(
        offices.saved(openpyxl.Workbook()),
        **{
            "xl/s.xml": b"<sst %s><si><t>%s</t></si></sst>" % (main, b"x" * 30_000),
            "xl/worksheets/sheet1.xml": b"<worksheet %s><sheetData>%s</sheetData></worksheet>"
            % (main, rows),
            "xl/_rels/workbook.xml.rels": lambda old: old.replace(b"sharedStrings", b"x").replace(
                b"</Relationships>", relation % RELATIONS.encode()
            ),
        },
    )
    with pytest.raises(UnreadableError, match="more than 24 MB of text in cells"):
        parse("xlsx", data)


def test_hidden_text_of_word_is_left_out():
    runs = "".join(
        f"<w:r><w:rPr>{mark}</w:rPr><w:t>{text}</w:t></w:r>"
        for mark, text in (
            ("<w:vanish/>", "Unseen. "),
            ('<w:vanish w:val="0"/>', "Seen. "),
            ("<w:b/>", "Seen too."),
        )
    )
    moved = "<w:moveFrom><w:r><w:t>Moved away. </w:t></w:r></w:moveFrom>"
    paragraph = f"<w:p {W}>{moved}{runs}</w:p>"
    assert parse("docx", letter(paragraph)).text == "It rises.\n\nSeen. Seen too."


def test_text_that_a_style_of_word_hides_is_left_out():
    word = docx.Document()
    kinds = docx.enum.style.WD_STYLE_TYPE
    for name, kind in (("Secret", kinds.PARAGRAPH), ("Hush", kinds.CHARACTER)):
        word.styles.add_style(name, kind).font.hidden = True
    for name, base in (("Deeper", "Secret"), ("Open", "Secret")):
        word.styles.add_style(name, kinds.PARAGRAPH).base_style = word.styles[base]
    word.styles["Open"].font.hidden = False
    for name in ("Secret", "Deeper", "Open"):
        word.add_paragraph(f"In {name}.", style=name)
    paragraph = word.add_paragraph("Seen")
    paragraph.add_run(" unseen", style="Hush")
    paragraph.add_run(" again.")
    word.add_paragraph("", style="Secret").add_run("By itself.").font.hidden = False
    assert parse("docx", offices.saved(word)).text == "In Open.\n\nSeen again.\n\nBy itself."


PNG = base64.b64decode(
    "iVBORw0KGgoAAAANSUhEUgAAAAEAAAABCAYAAAAfFcSJAAAADUlEQVR42mNk+M9QDwADhgGAWjR9awAAAABJRU5ErkJggg=="
)


def test_a_file_of_nothing_but_a_picture_is_read_by_its_alternative_text():
    word = docx.Document()
    word.add_picture(io.BytesIO(PNG))
    for mark in word.element.body.iter("{*}docPr", "{*}cNvPr"):
        mark.set("descr", "A mill by the sea")
    show = pptx.Presentation()
    for text in ("A mill", ""):
        slide = show.slides.add_slide(show.slide_layouts[6])
        picture = slide.shapes.add_picture(io.BytesIO(PNG), 0, 0)
        picture._element.nvPicPr.cNvPr.set("descr", text)
    slide = show.slides.add_slide(show.slide_layouts[5])
    slide.shapes.title.text = "The sea"
    picture = slide.shapes.add_picture(io.BytesIO(PNG), 0, 0)
    picture._element.nvPicPr.cNvPr.set("descr", "Not beside a text")
    assert parse("docx", offices.saved(word)).text == "A mill by the sea"
    assert parse("pptx", offices.saved(show)).text == (
        "Slide 1\n\nA mill\n\nSlide 2\n\nSlide 3: The sea"
    )
    word.add_paragraph("A letter.")
    assert parse("docx", offices.saved(word)).text == "A letter."


def sheet(*cells):
    """A workbook whose sheet has one row of cells in XML."""
    main = "http://schemas.openxmlformats.org/spreadsheetml/2006/main"
    rows = f"<sheetData><row>{''.join(cells)}</row></sheetData>"
    part = f'<worksheet xmlns="{main}">{rows}</worksheet>'
    book = offices.saved(openpyxl.Workbook())
    return changed(book, **{"xl/worksheets/sheet1.xml": part})
