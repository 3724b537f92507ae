"""Small files that would unpack to gigabytes, and documents of random bytes."""

import io
import zipfile
import zlib
from contextlib import suppress

import pytest
from hypothesis import given
from hypothesis import strategies as st
from support import offices
from support.examples import examples

from raptor_core.documents.parsing.files import parse_file
from raptor_core.documents.parsing.names import FileName
from raptor_core.documents.parsing.process import PARSERS
from raptor_core.settings import SourceSettings
from raptor_formats.base import UnreadableError

WORD = "http://schemas.openxmlformats.org/wordprocessingml/2006/main"


def parse(extension, data):
    """Documents and reasons of a file with this content."""
    return list(parse_file(FileName(f"a.{extension}", f"a.{extension}"), data, SourceSettings()))


def word(body):
    """A Word document with this XML as its text."""
    import docx

    whole, made = io.BytesIO(), io.BytesIO()
    docx.Document().save(whole)
    with zipfile.ZipFile(whole) as read, zipfile.ZipFile(made, "w", zipfile.ZIP_DEFLATED) as write:
        for name in read.namelist():
            write.writestr(name, body if name == "word/document.xml" else read.read(name))
    return made.getvalue()


def pdf(stream, filters=b"/FlateDecode"):
    """A PDF of one page with this stream as its content."""
    objects = [
        b"<</Type/Catalog/Pages 2 0 R>>",
        b"<</Type/Pages/Kids[3 0 R]/Count 1>>",
        b"<</Type/Page/Parent 2 0 R/MediaBox[0 0 9 9]/Contents 4 0 R/Resources 5 0 R>>",
        b"<</Length %d/Filter[%s]>>stream\n%s\nendstream" % (len(stream), filters, stream),
        b"<</Font<</F1<</Type/Font/Subtype/Type1/BaseFont/Helvetica>>>>>>",
    ]
    out, places = b"%PDF-1.4\n", []
    for number, item in enumerate(objects, start=1):
        places.append(len(out))
        out += b"%d 0 obj%sendobj\n" % (number, item)
    table = b"".join(b"%010d 00000 n \n" % place for place in places)
    end = b"trailer<</Size 6/Root 1 0 R>>\nstartxref\n%d\n%%%%EOF" % len(out)
    return out + b"xref\n0 6\n0000000000 65535 f \n" + table + end


def test_an_entity_that_names_a_file_brings_none_of_it_in(tmp_path):
    (tmp_path / "secret").write_text("hidden words")
    body = (
        f'<?xml version="1.0"?><!DOCTYPE l [<!ENTITY f SYSTEM "file://{tmp_path}/secret">]>'
        f'<w:document xmlns:w="{WORD}"><w:body><w:p><w:r><w:t>open &f;</w:t></w:r></w:p></w:body>'
        "</w:document>"
    )
    with pytest.raises(UnreadableError, match="declares XML entities"):
        parse("docx", word(body.encode()))


@pytest.mark.slow
@pytest.mark.rare
@pytest.mark.parametrize("rounds", [1, 2])
def test_a_pdf_that_unpacks_to_two_hundred_megabytes_is_refused(rounds):
    data = b"BT /F1 9 Tf " + b"(a) Tj " * (200 * 2**20 // 7) + b"ET"
    for _ in range(rounds):
        data = zlib.compress(data, 9)
    name = FileName("a.pdf", "a.pdf")
    (skipped,) = PARSERS.parse(name, pdf(data, b"/FlateDecode" * rounds), SourceSettings())
    assert "needs more than 2048 MB to parse" in skipped.reason


TABLE = (
    b'{"id": "a", "text": "Words of a row.", "n": 1.5, "metadata": {"k": [1]}}\n',
    b"# Title\n\n| a | b |\n|---|---|\n| 1 | 2 |\n\n- item\n\n```\ncode\n```\n",
    b"<html><head><title>T</title></head><body><h1>A</h1><p>b &amp; c</p></body></html>",
    b"Title\n=====\n\n.. note:: x\n\ntext `link <x>`_\n",
)


def whole_files():
    """One good file of each format."""
    import pyarrow as pa
    import pyarrow.parquet as pq

    table = io.BytesIO()
    pq.write_table(pa.table({"id": ["a", "b"], "text": ["Words.", "More."]}), table)
    body = f'<w:document xmlns:w="{WORD}"><w:body><w:p><w:r><w:t>W</w:t></w:r></w:p></w:body>'
    return {
        "jsonl": TABLE[0],
        "md": TABLE[1],
        "html": TABLE[2],
        "rst": TABLE[3],
        "txt": TABLE[1],
        "parquet": table.getvalue(),
        "docx": word(body.encode() + b"</w:document>"),
        "pdf": pdf(zlib.compress(b"BT (Words) Tj ET")),
        "pptx": offices.deck(),
        "xlsx": offices.workbook(),
        "epub": offices.epub(),
        "odt": offices.odt(),
        "eml": offices.message(),
        "csv": b"a,b\n1,2\n",
    }


@pytest.mark.parametrize("rows", ["999", "9" * 5000])
def test_cells_that_span_many_rows_repeat_their_labels_within_a_bound(rows):
    cells = f"<th rowspan={rows}>{'label ' * 20}</th>" * 100
    page = f"<table><tr>{cells}</tr>{'<tr><td>x</td></tr>' * 400}</table>"
    ((_, document),) = parse("html", page.encode())
    assert len(document.text) < 2_000_000


FILES = whole_files()
CHANGES = st.lists(st.tuples(st.floats(0, 1), st.binary(max_size=6)), min_size=1, max_size=4)


def changed(data, changes):
    made = bytearray(data)
    for place, piece in changes:
        at = int(place * len(made))
        made[at : at + len(piece)] = piece
    return bytes(made)


@pytest.mark.parametrize("extension", ["docx", "epub", "odt", "pptx", "xlsx"])
@examples(60)
@given(changes=CHANGES, place=st.floats(0, 0.999))
def test_an_archive_with_a_changed_part_is_documents_or_a_reason(extension, changes, place):
    with zipfile.ZipFile(io.BytesIO(FILES[extension])) as archive:
        parts = {name: archive.read(name) for name in archive.namelist()}
    name = list(parts)[int(place * len(parts))]
    made = offices.archived({**parts, name: changed(parts[name], changes)})
    with suppress(UnreadableError):
        assert all(parse(extension, made))


@pytest.mark.parametrize("extension", sorted(FILES))
@examples(100)
@given(changes=CHANGES, cut=st.floats(0, 1), whole=st.booleans())
def test_a_file_of_changed_bytes_is_documents_or_a_reason(extension, changes, cut, whole):
    data = changed(FILES[extension], changes)
    with suppress(UnreadableError):
        assert all(parse(extension, data if whole else data[: int(cut * len(data))]))
