"""What cannot be read is named with its reason; the rest is read."""

import os
import zipfile

import docx
import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from fpdf import FPDF
from pypdf import PdfReader, PdfWriter

from raptor_core.documents import load_documents
from raptor_core.documents.formats.parser_process import PARSERS
from raptor_core.errors import MissingExtraError
from raptor_core.settings import SourceSettings


def skipped(tmp_path, name, content, **settings):
    """Reasons for what is skipped of one file beside a good one, by name."""
    (tmp_path / "good.md").write_text("# Good\n\nText.")
    (tmp_path / name).write_bytes(content)
    corpus = load_documents(tmp_path, settings=SourceSettings(**settings))
    assert "good.md" in {document.id for document in corpus.documents}
    return {item.name: item.reason for item in corpus.skipped}


@pytest.mark.parametrize(
    ("name", "content", "reason"),
    [
        ("a.txt", b"", "is empty"),
        ("a.txt", b" \n\t\r\n ", "is empty"),
        ("a.md", "\u3000\u00a0\n".encode(), "holds no text"),
        ("a.txt", b"\xef\xbb\xbf", "holds no text"),
        ("a.html", b"<script>x</script><p> </p>", "holds no text"),
        ("a.txt", b"\x89PNG\r\n\x1a\n\x00\x00\x00\rIHDR\xff", "binary data"),
        ("a.md", bytes(200), "binary data"),
        ("a.md", b"\x01\x02\x03\x04 x", "binary data"),
        ("a.txt", b"\xff\xfea\x00b", "begins with the mark of utf-16"),
        ("a.pdf", b"not a pdf", "damaged, or no PDF"),
        ("a.pdf", b"%PDF-1.4\n1 0 obj\n<< /Type", "damaged, or no PDF"),
        ("a.docx", b"not a zip", "damaged, or no Word"),
        ("a.docx", b"\xd0\xcf\x11\xe0 old", "encrypted, or in the old .doc format"),
        ("a.parquet", b"not parquet", "damaged, or no Parquet"),
    ],
)
def test_unreadable_files(tmp_path, name, content, reason):
    found = skipped(tmp_path, name, content)
    assert list(found) == [name]
    assert reason in found[name]


def test_oversized_file(tmp_path):
    found = skipped(tmp_path, "a.txt", b"x" * 20_000, max_file_mb=0.01)
    assert found == {"a.txt": "0.0 MB is over the limit of 0.01 MB (source.max_file_mb)"}


def test_file_without_permission(tmp_path, monkeypatch):
    original = os.open

    def refuse(path, *args, **kwargs):
        if str(path).endswith("locked.txt"):
            raise PermissionError(13, "Permission denied", str(path))
        return original(path, *args, **kwargs)

    monkeypatch.setattr(os, "open", refuse)
    found = skipped(tmp_path, "locked.txt", b"Text.")
    assert found == {"locked.txt": "cannot be read: Permission denied"}


def make_pdf(text):
    pdf = FPDF()
    pdf.add_page()
    pdf.set_font("Helvetica", size=11)
    if text:
        pdf.cell(0, 10, text)
    return bytes(pdf.output())


def test_pdf_with_empty_pages_is_named(tmp_path):
    assert "holds no text" in skipped(tmp_path, "a.pdf", make_pdf(""))["a.pdf"]


def test_encrypted_pdf(tmp_path):
    writer = PdfWriter()
    (tmp_path / "plain").write_bytes(make_pdf("Secret."))
    writer.append(PdfReader(tmp_path / "plain"))
    (tmp_path / "plain").unlink()
    writer.encrypt("password", algorithm="RC4-128")
    writer.write(tmp_path / "a.pdf")
    found = skipped(tmp_path, "a.pdf", (tmp_path / "a.pdf").read_bytes())
    assert "encrypted with a password" in found["a.pdf"]


def test_truncated_pdf_and_docx_and_parquet(tmp_path):
    word = docx.Document()
    word.add_paragraph("Text. " * 50)
    word.save(tmp_path / "a.docx")
    pq.write_table(pa.table({"text": ["x" * 500]}), tmp_path / "a.parquet")
    (tmp_path / "a.pdf").write_bytes(make_pdf("Text."))
    for name in ("a.docx", "a.parquet", "a.pdf"):
        path = tmp_path / name
        path.write_bytes(path.read_bytes()[: path.stat().st_size // 3])
    (tmp_path / "good.md").write_text("Text.")
    corpus = load_documents(tmp_path)
    assert [item.name for item in corpus.skipped] == ["a.docx", "a.parquet", "a.pdf"]
    assert all("damaged" in item.reason for item in corpus.skipped)


def test_archive_that_is_no_word_document(tmp_path):
    with zipfile.ZipFile(tmp_path / "z", "w") as archive:
        archive.writestr("x.txt", "x")
    content = (tmp_path / "z").read_bytes()
    (tmp_path / "z").unlink()
    assert "no Word document" in skipped(tmp_path, "a.docx", content)["a.docx"]


def test_word_document_with_broken_xml(tmp_path):
    docx.Document().save(tmp_path / "whole")
    with (
        zipfile.ZipFile(tmp_path / "whole") as whole,
        zipfile.ZipFile(tmp_path / "broken", "w") as broken,
    ):
        for name in whole.namelist():
            broken.writestr(name, b"<w:p" if name == "word/document.xml" else whole.read(name))
    content = (tmp_path / "broken").read_bytes()
    for name in ("whole", "broken"):
        (tmp_path / name).unlink()
    assert "is damaged" in skipped(tmp_path, "a.docx", content)["a.docx"]


def test_word_document_that_unpacks_beyond_bounds(tmp_path):
    with zipfile.ZipFile(tmp_path / "bomb", "w", zipfile.ZIP_DEFLATED) as archive:
        archive.writestr("word/media/image.bmp", b"0" * 3_000_000)
    content = (tmp_path / "bomb").read_bytes()
    (tmp_path / "bomb").unlink()
    found = skipped(tmp_path, "a.docx", content, max_file_mb=0.5)
    assert "3 MB uncompressed is over the limit of 2 MB" in found["a.docx"]


def test_parquet_that_unpacks_beyond_bounds(tmp_path):
    table = pa.table({"text": [str(number) * 100 for number in range(10_000)]})
    pq.write_table(table, tmp_path / "big", compression="zstd", use_dictionary=False)
    content = (tmp_path / "big").read_bytes()
    (tmp_path / "big").unlink()
    found = skipped(tmp_path, "a.parquet", content, max_file_mb=0.15)
    assert "4 MB uncompressed is over the limit of 3 MB" in found["a.parquet"]


def test_bad_lines_are_named_by_number_and_the_rest_is_read(tmp_path):
    lines = [
        '{"id": "a", "text": "Good."}',
        "{broken",
        "[1]",
        '{"id": "b"}',
        '{"id": "c", "text": 5}',
        '{"id": "d", "text": "  "}',
        "",
        "[" * 100_000,
        '{"id": "a", "text": "Again."}',
        '{"id": "e", "n": ' + "1" * 5000 + "}",
        '{"id": "f", "text": "Lone \\ud800 surrogate \\u0000."}',
    ]
    (tmp_path / "rows.jsonl").write_text("\n".join(lines))
    corpus = load_documents(tmp_path / "rows.jsonl")
    assert {d.id: d.text for d in corpus.documents} == {
        "a": "Good.",
        "f": "Lone \ufffd surrogate  .",
    }
    found = {item.name: item.reason for item in corpus.skipped}
    assert sorted(found) == sorted(f"rows.jsonl:{n}" for n in (2, 3, 4, 5, 6, 8, 9, 10))
    assert "not valid JSON" in found["rows.jsonl:2"]
    assert "expected an object" in found["rows.jsonl:3"]
    assert "'text' is missing" in found["rows.jsonl:4"]
    assert "a JSON number" in found["rows.jsonl:5"]
    assert "id 'a' is taken, by another document" in found["rows.jsonl:9"]


def test_row_without_the_id_that_was_named(tmp_path):
    found = skipped(tmp_path, "a.jsonl", b'{"id": "x", "text": "T."}', id_field="key")
    assert "'key' holds no id" in found["a.jsonl:1"]


def test_table_without_the_text_column(tmp_path):
    pq.write_table(pa.table({"body": ["x"]}), tmp_path / "x")
    content = (tmp_path / "x").read_bytes()
    (tmp_path / "x").unlink()
    assert "no column 'text'" in skipped(tmp_path, "a.parquet", content)["a.parquet"]


def test_missing_reader_names_the_extra(tmp_path, monkeypatch):
    """Parsers run in processes of their own, so that the library is missing for these, too."""
    (tmp_path / "a.pdf").write_bytes(b"x")
    broken = tmp_path / "path"
    broken.mkdir()
    (broken / "pypdfium2.py").write_text("raise ImportError")
    monkeypatch.syspath_prepend(broken)
    PARSERS.close()
    with pytest.raises(MissingExtraError, match=r"raptor-assets\[pdf\]"):
        load_documents(tmp_path / "a.pdf")
    PARSERS.close()


@pytest.mark.rare
def test_five_megabytes_of_text(tmp_path):
    part = "# Part\n\n" + "The quick brown fox jumps over the lazy dog.\n" * 20
    (tmp_path / "big.md").write_text(part * 5_600)
    (document,) = load_documents(tmp_path).documents
    assert len(document.text) > 5_000_000
    assert len(document.sections) == 5_600
    assert document.text[document.sections[-1].start :] == part


@pytest.mark.rare
@pytest.mark.slow
def test_hundred_thousand_rows(tmp_path):
    rows = "".join(f'{{"id": {n}, "text": "Row number {n}."}}\n' for n in range(100_000))
    (tmp_path / "rows.jsonl").write_text(rows)
    assert len(load_documents(tmp_path).documents) == 100_000
