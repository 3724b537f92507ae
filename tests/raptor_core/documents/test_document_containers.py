"""PDF, Word documents and tables, read from real files."""

import docx
import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from fpdf import FPDF
from support.parsing import governed, outline, read

from raptor_core.documents import load_documents
from raptor_core.settings import SourceSettings


def make_pdf():
    pdf = FPDF()
    pdf.set_title("Lighthouses")
    pdf.set_author("Ada")
    for title in ("Lamps", "Keepers"):
        pdf.add_page()
        pdf.set_font("Helvetica", size=11)
        pdf.start_section(title)
        pdf.cell(0, 10, title, new_x="LMARGIN", new_y="NEXT")
        text = f"{title} burned oil first, and gas " + "and much later light " * 8
        for paragraph in (text, "A second paragraph stands here."):
            pdf.multi_cell(0, 6, paragraph, new_x="LMARGIN", new_y="NEXT")
    return bytes(pdf.output())


class TestPdf:
    def test_paragraphs_title_and_outline(self, tmp_path):
        document = read(tmp_path, "a.pdf", make_pdf())
        assert document.title == "Lighthouses"
        assert outline(document) == [(1, "Lamps"), (1, "Keepers")]
        assert governed(document, "Keepers").startswith("Keepers\n\nKeepers burned oil first")
        assert "\n\nA second paragraph stands here." in document.text
        assert "light and much later light" in document.text
        assert (document.metadata["pages"], document.metadata["author"]) == (2, "Ada")


class TestDocx:
    def test_styles_lists_tables_and_title(self, tmp_path):
        word = docx.Document()
        word.core_properties.title = "Ships"
        word.add_heading("Hull", 1)
        word.add_paragraph("Made of wood.")
        word.add_heading("Planks", 2)
        for item in ("oak", "pine"):
            word.add_paragraph(item, style="List Bullet")
        table = word.add_table(2, 2)
        for cell, text in zip(table._cells, ["Part", "Count", "Mast", "3"], strict=True):
            cell.text = text
        word.add_paragraph("The end.\nReally.")
        word.save(tmp_path / "a.docx")
        (document,) = load_documents(tmp_path / "a.docx").documents
        assert document.text == (
            "Hull\n\nMade of wood.\n\nPlanks\n\n- oak\n- pine\n\nPart | Count\nMast | 3\n\n"
            "The end.\nReally."
        )
        assert document.title == "Ships"
        assert outline(document) == [(1, "Hull"), (2, "Planks")]


class TestTables:
    ROWS = '{"id": 7, "text": "First.", "title": "One", "year": 1999, "metadata": {"kind": "a"}}\n'

    def test_row_fields_become_the_document(self, tmp_path):
        document = read(tmp_path, "a.jsonl", self.ROWS)
        assert (document.id, document.text, document.title) == ("7", "First.", "One")
        assert document.metadata == {"folder": ".", "format": "jsonl", "year": 1999, "kind": "a"}
        assert document.source == "a.jsonl"

    def test_nested_missing_and_infinite_values_are_left_out(self, tmp_path):
        values = '"list": [1, [2]], "object": {}, "none": null, "nan": NaN, "big": 9e999'
        row = f'{{"id": "a", "text": "T.", {values}}}'
        assert set(read(tmp_path, "a.jsonl", row).metadata) == {"folder", "format", "list"}

    @pytest.mark.parametrize(
        ("row", "expected"),
        [
            ('{"paper_id": "p1", "other_id": 2, "text": "T."}', "p1"),
            ('{"id": null, "doc_id": 3.0, "text": "T."}', "3"),
        ],
    )
    def test_the_id_of_a_row_is_found_in_its_usual_fields(self, tmp_path, row, expected):
        assert read(tmp_path, "a.jsonl", row).id == expected

    def test_row_without_id_is_named_by_its_text(self, tmp_path):
        one = read(tmp_path, "a.jsonl", '{"text": "Same."}')
        two = read(tmp_path, "b.jsonl", '{"n": 2, "text": "Same."}')
        assert one.id == two.id
        assert len(one.id) == 32

    def test_the_fields_that_settings_name_give_id_text_and_title(self, tmp_path):
        (tmp_path / "a.jsonl").write_text('{"key": "k", "body": "B.", "name": "N", "id": "x"}')
        settings = SourceSettings(id_field="key", text_field="body", title_field="name")
        (document,) = load_documents(tmp_path / "a.jsonl", settings=settings).documents
        assert (document.id, document.text, document.title) == ("k", "B.", "N")
        assert document.metadata["id"] == "x"

    def test_parquet_reads_like_json_lines(self, tmp_path):
        table = pa.table(
            {
                "id": [1, 2],
                "text": ["First\nText.", "Second."],
                "metadata": [{"kind": "a"}, {"kind": "b"}],
                "day": pa.array([0, 1], pa.date32()),
                "raw": [b"x", b"y"],
                "list": [[1], [2]],
            }
        )
        pq.write_table(table, tmp_path / "a.parquet")
        first, second = load_documents(tmp_path / "a.parquet").documents
        assert (first.id, second.id) == ("1", "2")
        assert second.metadata == {
            "folder": ".",
            "format": "parquet",
            "kind": "b",
            "day": "1970-01-02",
            "list": (2,),
        }
