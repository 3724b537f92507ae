"""What every parser promises, over a sample of each format."""

from contextlib import suppress

import pytest
from docx import Document as WordDocument
from fpdf import FPDF
from support.offices import archived, deck, epub, message, odt, saved, workbook

from raptor_formats.base import EmptyFileError, Parsed, ParserOptions, UnreadableError
from raptor_formats.table import FORMATS, MANY_DOCUMENTS, PARSERS, parse_by_extension

OPTIONS = ParserOptions()
TEXTS = {
    ".csv": "Ware,Euro\nOil,1.5\nGas,2\n",
    ".html": "<title>Ships</title><h1>Lamps</h1><p>Oil &amp; gas.</p><ul><li>One<li>Two</ul>",
    ".md": "# Lamps\n\nOil and gas.\n\n- One\n- Two\n\n| Ware | Euro |\n|---|---|\n| Oil | 2 |\n",
    ".rst": "Lamps\n=====\n\nOil and gas.\n\n* One\n* Two\n",
    ".srt": "1\n00:00:01,000 --> 00:00:02,000\nOil and gas.\n",
    ".txt": "LAMPS\n\nOil and gas.\n",
}

BARE = (
    '<office:document-content xmlns:office="urn:oasis:names:tc:opendocument:xmlns:office:1.0">'
    "<office:body><office:text/></office:body></office:document-content>"
)


def word():
    """A title, a heading and a table."""
    made = WordDocument()
    made.add_heading("Lamps", 1)
    made.add_paragraph("Oil and gas.")
    table = made.add_table(2, 2)
    for row, cells in zip(table.rows, (("Ware", "Euro"), ("Oil", "2")), strict=True):
        for cell, text in zip(row.cells, cells, strict=True):
            cell.text = text
    return saved(made)


def pdf():
    """A heading and a paragraph."""
    made = FPDF()
    made.add_page()
    made.set_font("helvetica", size=24)
    made.cell(text="Lamps", new_x="LMARGIN", new_y="NEXT")
    made.set_font("helvetica", size=11)
    made.multi_cell(0, text="Oil came first, and gas came after it. " * 20)
    return bytes(made.output())


SAMPLES = {
    **{extension: text.encode() for extension, text in TEXTS.items()},
    ".docx": word(),
    ".eml": message(),
    ".epub": epub(),
    ".odp": odt(),
    ".ods": odt(),
    ".odt": odt(),
    ".pdf": pdf(),
    ".pptx": deck(),
    ".xlsx": workbook(),
}


def test_each_parser_has_a_sample():
    assert {FORMATS[extension] for extension in SAMPLES} == set(PARSERS)
    assert set(FORMATS.values()) == {*PARSERS, *MANY_DOCUMENTS}


@pytest.mark.parametrize("extension", SAMPLES)
def test_blocks_and_sections_are_spans_of_the_text_in_order(extension):
    parsed = parse_by_extension(SAMPLES[extension], extension, OPTIONS)
    assert isinstance(parsed, Parsed)
    end = 0
    for block in parsed.list_blocks():
        assert end <= block.start < block.end <= len(parsed.text)
        shown = parsed.text[block.start : block.end]
        assert shown == shown.strip()
        end = block.end
    starts = [section.start for section in parsed.sections]
    assert starts == sorted(starts)
    open_ends = [len(parsed.text)]
    for section in parsed.sections:
        assert section.title.split()[0] in parsed.text[section.start :].split("\n")[0]
        del open_ends[section.level :]
        assert section.level == len(open_ends)
        assert section.end <= open_ends[-1]
        open_ends.append(section.end)
    assert list(parsed.page_starts) == sorted(parsed.page_starts)


@pytest.mark.parametrize("extension", SAMPLES)
def test_the_same_bytes_give_the_same_content_without_control_characters(extension):
    first, second = (parse_by_extension(SAMPLES[extension], extension, OPTIONS) for _ in range(2))
    assert first == second
    assert first.text.isprintable() or not any(
        ord(char) < 32 for char in first.text if char not in "\n\t"
    )
    for value in first.metadata.values():
        assert value not in ("", ())


@pytest.mark.parametrize("extension", SAMPLES)
def test_damaged_bytes_are_refused_with_a_reason_or_read(extension):
    sample = SAMPLES[extension]
    for damaged in (sample[: len(sample) // 2], sample[::-1], b"\xff\xfe\x00", bytes(64)):
        read = ""
        with suppress(UnreadableError):
            read = parse_by_extension(damaged, extension, OPTIONS).text
            assert read.strip()


@pytest.mark.parametrize("extension", [*sorted(TEXTS.keys() - {".srt"}), ".odt"])
def test_a_file_without_text_is_empty_and_not_damaged(extension):
    empty = {".odt": archived({"META-INF/manifest.xml": "<manifest/>", "content.xml": BARE})}
    with pytest.raises(EmptyFileError):
        parse_by_extension(empty.get(extension, b" \n\n"), extension, OPTIONS)
