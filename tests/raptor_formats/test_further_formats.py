"""Programs, subtitles, mailboxes, OpenDocument sheets and slides."""

import pytest
from support import offices
from support.parsing import outline, parse, parse_all

from raptor_core.documents import load_documents
from raptor_core.errors import EmptySourceError
from raptor_core.settings import SourceSettings

NAMES = (
    'xmlns:office="o" xmlns:text="urn:oasis:names:tc:opendocument:xmlns:text:1.0" '
    'xmlns:table="t" xmlns:draw="d" xmlns:presentation="p"'
)

WEB_SUBTITLES = """WEBVTT

NOTE hi

1
00:01.000 --> 00:02.000
<v Ada>It <i>rises</i>

00:02.100 --> 00:03.000
now &amp; then.

00:10.000 --> 00:11.000
Later.
"""
EMPTY_ROWS = (
    '<table:table-row table:number-rows-repeated="1000000"><table:table-cell/></table:table-row>'
)


def open_document(body):
    root = f"<office:document-content {NAMES}><office:body>{body}</office:body>"
    return offices.odt(**{"content.xml": f"{root}</office:document-content>"})


def cell(text, attributes=""):
    return f"<table:table-cell {attributes}><text:p>{text}</text:p></table:table-cell>"


def row(*cells):
    return f"<table:table-row>{''.join(cells)}</table:table-row>"


@pytest.mark.parametrize(
    ("include", "ids"),
    [
        ((), ["a.md"]),
        (("*",), ["a.md"]),
        (("*.PY", "*"), ["a.md"]),
        (("*.py", "*"), ["a.md", "b/c.py"]),
        (("*", "b/*.json"), ["a.md", "b/d.json"]),
        (("*.md", "*.sql", "*.yml", "*.yaml"), ["a.md", "e.sql", "f.yml"]),
    ],
)
def test_code_and_data_are_read_where_a_rule_names_their_type(tmp_path, include, ids):
    (tmp_path / "b").mkdir()
    for name in ("a.md", "b/c.py", "b/d.json", "d.json", "e.sql", "f.yml"):
        (tmp_path / name).write_text('"words"')
    documents = load_documents(tmp_path, settings=SourceSettings(include=include)).documents
    assert [document.id for document in documents] == ids
    assert load_documents(tmp_path / "b" / "c.py").documents[0].text == '"words"'


@pytest.mark.parametrize(
    ("extension", "data", "text"),
    [
        (
            "vtt",
            WEB_SUBTITLES,
            "Ada: It rises now & then.\n\nLater.",
        ),
        ("srt", "1\n00:00:01,000 --> 00:00:02,000\nHigh\ntide\n", "High tide"),
    ],
)
def test_subtitles_run_on_until_a_pause(extension, data, text):
    assert parse(extension, data).text == text


def test_each_message_of_a_mailbox_is_a_document():
    first, second = parse_all(
        "mbox",
        "From a@b Mon\nMessage-ID: <1@x>\nSubject: One\n\nHello\n>From here.\n\n"
        "From a@b Mon\nSubject: Two\n\nBye\n",
    )
    assert (first.id, first.title) == ("a.mbox#1@x", "One")
    assert first.text.strip() == "Hello\nFrom here."
    assert (second.text.strip(), second.metadata["subject"]) == ("Bye", "Two")


def test_open_sheets_have_names_of_columns_and_labels_of_merged_cells():
    table = "".join(
        [
            row(cell("Port"), cell("High")),
            row(cell("Brest", 'table:number-rows-spanned="2"'), cell("47,5 %")),
            row("<table:covered-table-cell/>", cell("6 m")),
            EMPTY_ROWS,
        ]
    )
    sheet = f'<table:table table:name="Tides">{table}</table:table>'
    document = parse("ods", open_document(f"<office:spreadsheet>{sheet}</office:spreadsheet>"))
    assert document.text == "Tides\n\nPort: Brest | High: 47,5 %\nPort: Brest | High: 6 m"


def test_open_slides_have_titles_shapes_and_notes():
    def box(text, attributes=""):
        paragraph = f"<draw:text-box><text:p>{text}</text:p></draw:text-box>"
        return f"<draw:frame {attributes}>{paragraph}</draw:frame>"

    shape = "<draw:g><draw:custom-shape><text:p>Shape</text:p></draw:custom-shape></draw:g>"
    notes = f"<presentation:notes>{box('Say so')}</presentation:notes>"
    title = box("Lamps", 'presentation:class="title"')
    slide = f"<draw:page>{title}{box('Oil')}{shape}{notes}</draw:page>"
    document = parse("odp", open_document(f"<office:presentation>{slide}</office:presentation>"))
    assert document.text == "Slide 1: Lamps\n\nOil\n\nShape\n\nNotes\n\nSay so"
    assert outline(document) == [(1, "Slide 1: Lamps"), (2, "Notes")]


def test_text_that_a_style_of_an_open_text_hides_is_left_out():
    def style(name, family, properties, parent=""):
        base = f'style:parent-style-name="{parent}"' if parent else ""
        inner = f"<style:text-properties {properties}/>" if properties else ""
        head = f'style:name="{name}" style:family="{family}" {base}'
        return f"<style:style {head}>{inner}</style:style>"

    hidden, shown = 'text:display="none"', 'text:display="true"'
    styles = style("Base", "paragraph", hidden) + style("Loop", "text", "", "Loop")
    automatic = "".join(
        [
            *(style("P1", "paragraph", "", "Base"), style("P2", "paragraph", shown, "Base")),
            *(style("T1", "text", hidden), style("P2", "text", hidden)),
        ]
    )
    body = (
        '<text:p text:style-name="P1">Unseen.</text:p><text:p text:style-name="P2">Seen'
        '<text:span text:style-name="T1"> unseen</text:span> again.</text:p>'
        '<text:h text:style-name="P1">No heading</text:h><text:section text:display="none">'
        "<text:p>No section</text:p></text:section><text:p>Last"
        '<text:span text:style-name="Loop">.</text:span></text:p>'
    )
    spaces = f'{NAMES} xmlns:style="s"'
    content = (
        f"<office:document-content {spaces}><office:automatic-styles>{automatic}"
        f"</office:automatic-styles><office:body><office:text>{body}</office:text></office:body>"
        "</office:document-content>"
    )
    named = f"<office:document-styles {spaces}>{styles}</office:document-styles>"
    data = offices.odt(**{"content.xml": content, "styles.xml": named})
    assert parse("odt", data).text == "Seen again.\n\nLast."


def test_a_picture_of_an_open_document_without_text_is_read_by_its_description():
    picture = '<draw:frame><draw:image/><svg:title xmlns:svg="s">Mill</svg:title>{}</draw:frame>'
    described = picture.format('<svg:desc xmlns:svg="s">A mill by the sea</svg:desc>')
    text = f"<office:text><text:p>{described}</text:p></office:text>"
    assert parse("odt", open_document(text)).text == "A mill by the sea"
    slide = f"<draw:page>{picture.format('')}</draw:page>"
    show = f"<office:presentation>{slide}</office:presentation>"
    assert parse("odp", open_document(show)).text == "Slide 1\n\nMill"


def test_notes_and_text_boxes_of_an_open_text_follow_their_paragraph():
    note = (
        "<text:note><text:note-citation>1</text:note-citation><text:note-body>"
        "<text:p>Foot</text:p></text:note-body></text:note>"
    )
    box = "<draw:frame><draw:text-box><text:p>Box</text:p></draw:text-box></draw:frame>"
    body = f"<office:text><text:p>Before{note} it{box}</text:p></office:text>"
    assert parse("odt", open_document(body)).text == "Before it\n\nFoot\n\nBox"


@pytest.mark.parametrize(
    ("name", "remedy"),
    [
        ("a.doc", 'source.convert = {".doc" = "soffice --headless --cat {}"}'),
        ("a.xls", "soffice --headless --convert-to xlsx FILE.xls"),
        ("a.rtf", 'source.convert = {".rtf" = "pandoc -t gfm {}"}'),
        ("a.ipynb", "jupyter nbconvert --to markdown --stdout {}"),
        ("a.msg", 'source.convert = {".msg" = "markitdown {}"}'),
        ("a.xml", "convert its text to .html, .md or .txt"),
    ],
)
def test_a_type_that_is_not_read_names_its_conversion(tmp_path, name, remedy):
    (tmp_path / name).write_text("x")
    with pytest.raises(EmptySourceError, match=r"supported: \.c ") as failure:
        load_documents(tmp_path)
    assert remedy in str(failure.value)


TIMES = [f"00:00:0{n},000 --> 00:00:0{n + 1},000" for n in range(4)]


@pytest.mark.parametrize(
    "body",
    [
        f"1\n{TIMES[0]}\n\n2\n{TIMES[1]}\nIt rises\nat noon\n",
        f"1\n{TIMES[0]}\nIt rises\n\nat noon\n\n2\n{TIMES[1]}\n",
        f"1\n{TIMES[0]}\nIt rises\n2\n{TIMES[1]}\nat noon\n",
        f"{TIMES[0]}\nIt rises\n\n{TIMES[1]}\nIt rises\nat noon\n\n{TIMES[2]}\nat noon\n",
        f"a\n{TIMES[0]}\nIt rises\n\nNOTE a\nb\n\nc\n{TIMES[1]}\nat noon\n",
    ],
)
def test_every_line_of_subtitles_is_read_once(body):
    assert parse("vtt", f"WEBVTT\n\n{body}").text == "It rises at noon"
