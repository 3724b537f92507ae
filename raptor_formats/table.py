"""Table of the formats: their file name extensions and their parsers."""

from collections.abc import Mapping
from dataclasses import replace

from raptor_formats.base import EmptyFileError, MetadataValue, Parsed, Parser, ParserOptions
from raptor_formats.encoding.decoding import convert_to_utf8, decode
from raptor_formats.mail import parse_eml
from raptor_formats.markup.front_matter import HEAD_CHARS, refuse_readers_declaration
from raptor_formats.markup.html import parse_html
from raptor_formats.markup.markdown import parse_markdown
from raptor_formats.markup.rst import parse_rst
from raptor_formats.markup.subtitles import parse_subtitles
from raptor_formats.office.docx import parse_docx
from raptor_formats.office.epub import parse_epub
from raptor_formats.office.odt import parse_odt
from raptor_formats.office.pptx import parse_pptx
from raptor_formats.office.xlsx import parse_xlsx
from raptor_formats.pdf.parser import parse_pdf
from raptor_formats.rows import parse_csv
from raptor_formats.text import clean_text

CODE_AND_DATA = (
    "c cc cpp cs go h hpp java js json kt lua php pl py r rb rs scala sh sql swift ts yaml yml"
)
_EXTENSIONS = {
    "docx": "docx docm dotx dotm",
    "html": "html htm xhtml",
    "markdown": "md markdown mdx",
    "odp": "odp otp",
    "ods": "ods ots",
    "odt": "odt ott",
    "pptx": "pptx pptm potx potm ppsx ppsm",
    "subtitles": "srt vtt",
    "text": f"txt {CODE_AND_DATA}",
    "xlsx": "xlsx xlsm xltx xltm",
    "csv": "csv tsv",
    **{kind: kind for kind in ("eml", "epub", "jsonl", "mbox", "parquet", "pdf", "rst")},
}
FORMATS = {f".{name}": kind for kind, names in _EXTENSIONS.items() for name in names.split()}
"""Name of the format by file name extension, lower case."""

OPTIONAL = tuple(f".{name}" for name in CODE_AND_DATA.split())
"""Extensions of code and data, which are only read if ``source.include`` names one of them."""

MANY_DOCUMENTS = frozenset({"jsonl", "mbox", "parquet"})
"""Formats whose files contain one document for each row or message."""

PARSERS: Mapping[str, Parser] = {
    "text": lambda data, _: Parsed(clean_text(decode(data))),
    "markdown": lambda data, _: parse_markdown(data),
    "rst": lambda data, _: parse_rst(data),
    "html": lambda data, _: parse_html(data),
    "pdf": lambda data, _: parse_pdf(data),
    "docx": lambda data, options: parse_docx(data, options.max_file_mb),
    "pptx": lambda data, options: parse_pptx(data, options.max_file_mb),
    "xlsx": lambda data, options: parse_xlsx(data, options.max_file_mb),
    **dict.fromkeys(
        ("odt", "ods", "odp"), lambda data, options: parse_odt(data, options.max_file_mb)
    ),
    "subtitles": lambda data, _: parse_subtitles(data),
    "epub": lambda data, options: parse_epub(data, options.max_file_mb),
    "csv": lambda data, _: parse_csv(data),
    "eml": lambda data, options: parse_eml(data, options.encoding),
}
"""Parser by format name. Formats in ``MANY_DOCUMENTS`` are absent; their rows are documents."""

_IN_TEXT = frozenset({"text", "markdown", "rst", "html", "csv", "subtitles"})


def parse_by_extension(data: bytes, extension: str, options: ParserOptions) -> Parsed:
    """Parse a file by its extension, such as ".pdf", in lower case.

    Raises:
        EmptyFileError: the file contains no text.
        UnreadableError, MissingLibraryError: see ``Parser``.
    """
    kind = FORMATS[extension]
    encoding: dict[str, MetadataValue] = {}
    if kind in _IN_TEXT:
        data, encoding = convert_to_utf8(data, options.encoding)
        if kind != "markdown" and extension not in OPTIONAL:
            refuse_readers_declaration(data[:HEAD_CHARS].decode("utf-8-sig", "replace"))
    parsed = PARSERS[kind](data, options)
    if not parsed.list_blocks():
        raise EmptyFileError("contains no text", parsed.readers)
    return replace(parsed, metadata={**encoding, **parsed.metadata})
