"""What cannot be read is named with its reason; the rest is read."""

import io
import os

import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from fpdf import FPDF

from raptor_core.documents import load_documents
from raptor_core.documents.parsing.process import PARSERS
from raptor_core.errors import MissingExtraError
from raptor_core.settings import SourceSettings


def skipped(tmp_path, name, content, **settings):
    """Reasons for what is skipped of one file beside a good one, by name."""
    (tmp_path / "good.md").write_text("# Good\n\nText.")
    (tmp_path / name).write_bytes(content)
    corpus = load_documents(tmp_path, settings=SourceSettings(**settings))
    assert "good.md" in {document.id for document in corpus.documents}
    return {item.name: item.reason for item in corpus.skipped}


def parquet(**columns):
    out = io.BytesIO()
    pq.write_table(pa.table(columns), out, compression="zstd", use_dictionary=False)
    return out.getvalue()


def encrypted_pdf():
    pdf = FPDF()
    pdf.add_page()
    pdf.set_encryption(owner_password="o", user_password="u")
    return bytes(pdf.output())


@pytest.mark.parametrize(
    ("name", "content", "reason"),
    [
        ("a.txt", b"", "is empty"),
        ("a.txt", b" \n\t\r\n ", "is empty"),
        ("a.md", "\u3000\u00a0\n".encode(), "contains no text"),
        ("a.txt", b"\xef\xbb\xbf", "contains no text"),
        ("a.html", b"<script>x</script><p> </p>", "contains no text"),
        ("a.txt", b"\x89PNG\r\n\x1a\n\x00\x00\x00\rIHDR\xff", "binary data"),
        ("a.txt", b"\xff\xfea\x00b", "begins with the byte order mark of utf-16"),
        ("a.pdf", b"not a pdf", "damaged, or not a valid PDF"),
        ("a.pdf", b"%PDF-1.4\n1 0 obj\n<< /Type", "damaged, or not a valid PDF"),
        ("a.docx", b"not a zip", "damaged, or not a valid Word"),
        ("a.docx", b"\xd0\xcf\x11\xe0 old", "encrypted, or in the old .doc format"),
        ("a.parquet", b"not parquet", "damaged, or not a valid Parquet"),
        ("a.pdf", encrypted_pdf(), "encrypted with a password"),
        ("a.parquet", parquet(body=["x"]), "no column 'text'"),
        (
            "a.parquet",
            parquet(text=[str(number) * 100 for number in range(10_000)]),
            "4 MB uncompressed is over the limit of 3 MB",
        ),
        ("a.txt", b"x" * 200_000, "0.2 MB is over the limit of 0.15 MB (source.max_file_mb)"),
    ],
    ids=lambda value: value if isinstance(value, str) else "",
)
def test_a_file_that_cannot_be_read_is_named_with_the_reason(tmp_path, name, content, reason):
    found = skipped(tmp_path, name, content, max_file_mb=0.15)
    assert list(found) == [name]
    assert reason in found[name]


def test_a_file_without_permission_is_named_and_the_rest_is_read(tmp_path, monkeypatch):
    original = os.open

    def refuse(path, *args, **kwargs):
        if str(path).endswith("locked.txt"):
            raise PermissionError(13, "Permission denied", str(path))
        return original(path, *args, **kwargs)

    monkeypatch.setattr(os, "open", refuse)
    found = skipped(tmp_path, "locked.txt", b"Text.")
    assert found == {"locked.txt": "cannot be read: Permission denied"}


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
