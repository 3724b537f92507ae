"""Table of formats by file name extension; their parsers are in ``parsers``."""

import posixpath
from typing import NamedTuple

CODE_AND_DATA = (
    "c cc cpp cs go h hpp java js json kt lua php pl py r rb rs scala sh sql swift ts yaml yml"
)
_EXTENSIONS = {
    "docx": "docx docm dotx dotm",
    "html": "html htm xhtml",
    "markdown": "md markdown",
    "notebook": "ipynb",
    "odp": "odp otp",
    "ods": "ods ots",
    "odt": "odt ott",
    "pptx": "pptx pptm potx potm ppsx ppsm",
    "subtitles": "srt vtt",
    "text": f"txt {CODE_AND_DATA}",
    "xlsx": "xlsx xlsm xltx xltm",
    "csv": "csv tsv",
    **{kind: kind for kind in ("eml", "epub", "jsonl", "mbox", "mdx", "parquet", "pdf", "rst")},
}
FORMATS = {f".{name}": kind for kind, names in _EXTENSIONS.items() for name in names.split()}
"""Name of the format by file name extension, lower case."""

OPTIONAL = tuple(f".{name}" for name in CODE_AND_DATA.split())
"""Extensions of programs and data, which are read where ``source.include`` ends in one of them."""

MANY_DOCUMENTS = frozenset({"jsonl", "mbox", "parquet"})
"""Formats whose files hold a document for each row or message."""

SIMPLE = frozenset({"markdown", "mdx", "rst", "text"})
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
        """Format of the file; its extension for one that a command converts."""
        return FORMATS.get(self.extension, self.extension[1:])


def describe_formats() -> str:
    """Return the types of files that are read, for people."""
    return f"supported: {' '.join(sorted(FORMATS))}"
