"""Pages that are only pictures: told where nothing is switched on, else read by tesseract."""

import io

import pypdfium2 as pdfium
import pytest
from fpdf import FPDF
from support import tesseract

from raptor_core.documents import load_documents, parser_fingerprint
from raptor_core.documents.formats.parsed import UnreadableError
from raptor_core.documents.formats.parser_process import PARSER
from raptor_core.documents.formats.pdf import parse_pdf
from raptor_core.settings import SourceSettings

pytestmark = pytest.mark.slow

FIRST = (
    "The keeper of the northern light wrote down wind, oil and ships of every week of the year. "
    "He did so for nineteen years, and nobody ever asked him to read it aloud."
)
SECOND = "In the storm of January the sea broke the windows of the gallery."


def printed(*paragraphs):
    pdf = FPDF()
    pdf.add_page()
    pdf.set_font("Helvetica", size=12)
    for paragraph in paragraphs:
        pdf.multi_cell(0, 7, paragraph, new_x="LMARGIN", new_y="NEXT")
        pdf.ln(8)
    return bytes(pdf.output())


def scanned(*pages):
    """The pages as a scanner would give them: one picture each."""
    pdf = FPDF()
    for page in pages:
        picture = pdfium.PdfDocument(page)[0].render(scale=200 / 72).to_pil()
        out = io.BytesIO()
        picture.save(out, format="PNG")
        pdf.add_page()
        pdf.image(out, x=0, y=0, w=pdf.w)
    return bytes(pdf.output())


@pytest.fixture(autouse=True)
def installed():
    assert tesseract.find_tesseract(), tesseract.MISSING


def test_scanned_pages_are_told_and_read_once_it_is_switched_on(tmp_path):
    (tmp_path / "log.pdf").write_bytes(scanned(printed(FIRST, SECOND), printed(SECOND)))
    (tmp_path / "a.md").write_text("Else.")
    told = load_documents(tmp_path)
    assert [item.name for item in told.skipped] == ["log.pdf"]
    assert "only images; it needs OCR first, or source.ocr" in told.skipped[0].reason
    read = load_documents(tmp_path, settings=SourceSettings(ocr="eng"))
    (_, log) = read.documents
    assert log.text == f"{FIRST}\n\n{SECOND}\n\n{SECOND}"
    assert (log.metadata["ocr_pages"], len(log.pages)) == (2, 2)
    assert log.page(log.text.rindex("storm")) == 2


def test_a_page_with_text_is_not_read_from_its_picture():
    assert "ocr_pages" not in parse_pdf(printed(FIRST), "eng").metadata


def test_a_language_that_is_not_installed_is_told():
    with pytest.raises(UnreadableError, match=r"source\.ocr = 'xyz'.*xyz"):
        PARSER.parse(scanned(printed(SECOND)), 60, "xyz")


def test_without_the_program_it_is_named(monkeypatch):
    page = scanned(printed(SECOND))
    monkeypatch.setenv("PATH", "")
    with pytest.raises(UnreadableError, match="apt install tesseract-ocr"):
        parse_pdf(page, "eng")


def test_only_the_switch_makes_files_be_read_anew():
    off = parser_fingerprint(SourceSettings())
    assert parser_fingerprint(SourceSettings(ocr="")) == off
    assert parser_fingerprint(SourceSettings(ocr="eng")) != off
