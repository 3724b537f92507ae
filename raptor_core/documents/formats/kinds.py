"""Table of formats by file name extension; their parsers are in ``parsers``."""

import posixpath
from typing import NamedTuple

SOURCE_CODE = "c cc cpp cs go h hpp java js kt lua php pl r rb rs scala sh sql swift ts"
_EXTENSIONS = {
    "docx": "docx docm dotx dotm",
    "html": "html htm xhtml",
    "markdown": "md markdown",
    "notebook": "ipynb",
    "odp": "odp otp",
    "ods": "ods ots",
    "odt": "odt ott",
    "pptx": "pptx pptm potx potm ppsx ppsm",
    "python": "py",
    "subtitles": "srt vtt",
    "text": f"txt {SOURCE_CODE}",
    "xlsx": "xlsx xlsm xltx xltm",
    "yaml": "yaml yml",
    "csv": "csv tsv",
    **{kind: kind for kind in ("eml", "epub", "json", "jsonl", "mbox", "msg", "parquet", "pdf")},
    **{kind: kind for kind in ("rst", "rtf")},
}
FORMATS = {f".{name}": kind for kind, names in _EXTENSIONS.items() for name in names.split()}
"""Name of the format by file name extension, lower case."""

OPTIONAL = tuple(f".{name}" for name in f"json py yaml yml {SOURCE_CODE}".split())
"""Extensions of programs and data, which are read where ``source.include`` ends in one of them."""

MANY_DOCUMENTS = frozenset({"jsonl", "mbox", "parquet"})
"""Formats whose files hold a document for each row or message."""

SIMPLE = frozenset({"markdown", "rst", "text"})
"""Formats that are parsed in this process; files of others can take all memory, or run on."""


class FileName(NamedTuple):
    """Name of a file to parse: its id, its ``SourceFile.source``, and whether a person named it."""

    id: str
    source: str
    is_named: bool = False

    @property
    def extension(self) -> str:
        """Extension of the id with its dot, lower case; empty if there is none."""
        return posixpath.splitext(self.id)[1].lower()

    @property
    def kind(self) -> str:
        """Format of the file."""
        return FORMATS[self.extension]


def describe_formats() -> str:
    """Return the types of files that are read, for people."""
    return f"supported: {' '.join(sorted(FORMATS))}"
