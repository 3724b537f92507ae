"""PDF files as producers make them: words, pages, running lines, headings; and hostile ones."""

import pytest
from fpdf import FPDF
from support.printed import pdf_of, text_at

from raptor_core.documents import load_documents
from raptor_core.documents.formats.pdf import parse_pdf
from raptor_core.models.reading.reader import Passage
from raptor_core.retrieval import Query, Retriever
from raptor_core.settings import Settings
from raptor_core.tree.build import build_tree
from raptor_core.tree.components import Components

SENTENCES = [
    f"The keeper of light {n} wrote down wind, oil and ships of week {n * 7}." for n in range(40)
]


class Printed(FPDF):
    """Pages with a running head and a counted foot."""

    def header(self):
        self.set_font("Helvetica", size=9)
        self.cell(0, 8, "Yearbook of the lights", align="C", new_x="LMARGIN", new_y="NEXT")

    def footer(self):
        self.set_y(-15)
        self.set_font("Helvetica", size=9)
        self.cell(0, 8, f"{self.page_no()}", align="C")


def printed(pages, *, running=True):
    """A PDF of so many pages of lines."""
    pdf = Printed() if running else FPDF()
    for lines in pages:
        pdf.add_page()
        pdf.set_font("Helvetica", size=11)
        for line in lines:
            pdf.cell(0, 6, line, new_x="LMARGIN", new_y="NEXT")
    return bytes(pdf.output())


def test_glyphs_that_are_placed_without_spaces_are_words():
    """XeTeX and others write no spaces: a gap between two glyphs is all that there is."""
    line = b"BT /F1 12 Tf 50 600 Td [(This)-333(second)-333(set)-333(of)-333(files)]TJ ET"
    assert parse_pdf(pdf_of(line)).text == "This second set of files"


def test_running_lines_go_and_no_line_of_the_text():
    pages = [SENTENCES[at : at + 8] for at in range(0, 40, 8)]
    pages[2] = [*pages[2], "It burned down at the end of the year", "1984"]
    parsed = parse_pdf(printed(pages))
    assert "Yearbook" not in parsed.text
    assert not any(paragraph in {"1", "2", "3", "4", "5"} for paragraph in parsed.text.split("\n"))
    for line in (line for page in pages for line in page):
        assert line in parsed.text
    assert parsed.metadata["pages"] == 5


def test_a_line_on_a_single_page_stays_whatever_it_looks_like():
    assert parse_pdf(printed([["It ended in the year", "1984"]], running=False)).text.endswith(
        "1984"
    )


def test_larger_lines_are_headings_where_there_is_no_outline():
    pdf = FPDF()
    pdf.add_page()
    for title, size in (("Lights", 22), ("Lamps", 16), ("Oil", 13), ("Keepers", 16)):
        pdf.set_font("Helvetica", size=size)
        pdf.cell(0, 12, title, new_x="LMARGIN", new_y="NEXT")
        pdf.set_font("Helvetica", size=10)
        pdf.multi_cell(0, 6, " ".join(SENTENCES[:6]), new_x="LMARGIN", new_y="NEXT")
    sections = parse_pdf(bytes(pdf.output())).sections
    assert [(section.level, section.title) for section in sections] == [
        (1, "Lights"),
        (2, "Lamps"),
        (3, "Oil"),
        (2, "Keepers"),
    ]


def test_a_file_that_is_encrypted_with_an_empty_password_is_read():
    pdf = FPDF()
    pdf.add_page()
    pdf.set_font("Helvetica", size=11)
    pdf.cell(0, 10, "Open to all.")
    pdf.set_encryption(owner_password="owner", user_password="")
    assert parse_pdf(bytes(pdf.output())).text == "Open to all."


@pytest.mark.slow
def test_a_chunk_knows_its_pages(tmp_path):
    (tmp_path / "lights.pdf").write_bytes(
        printed([SENTENCES[at : at + 8] for at in range(0, 40, 8)])
    )
    (document,) = load_documents(tmp_path).documents
    components = Components(Settings.model_validate({"chunking": {"max_tokens": 60}}))
    tree = build_tree([document], components=components)
    for leaf in tree.layers[0].nodes:
        first, last = leaf.metadata["page"], leaf.metadata["last_page"]
        found = [n // 8 + 1 for n, line in enumerate(SENTENCES) if line in leaf.text]
        assert (first, last) == (min(found), max(found))
    (hit, *_) = Retriever.from_trees([tree], components).search("week 140", Query("flat")).hits
    first, last = hit.node.pages
    assert Passage.from_node(hit.node).place.endswith(
        f", page {first}" if first == last else f", pages {first}-{last}"
    )


def test_an_outline_that_goes_round_in_circles_ends():
    entry = b"<</Title(Lamps)/Parent 7 0 R/Next 8 0 R/First 8 0 R/Dest[9 0 R/XYZ 0 0 0]>>"
    outline = b"<</Type/Outlines/First 8 0 R/Last 8 0 R/Count 1>>"
    page = text_at(50, 600, "Lamps burn")
    parsed = parse_pdf(pdf_of(page, objects=(outline, entry), catalog=b"/Outlines 7 0 R"))
    assert parsed.text == "Lamps burn"
    assert [section.title for section in parsed.sections] == ["Lamps"]
