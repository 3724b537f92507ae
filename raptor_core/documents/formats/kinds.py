"""Tables of formats by file name extension, read and unread; parsers are in ``parsers``."""

import posixpath
from typing import NamedTuple

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
        """Format of the file; its extension for one that a command converts."""
        return FORMATS.get(self.extension, self.extension[1:])


_COMMANDS = {
    **dict.fromkeys((".rtf", ".org", ".tex", ".textile", ".mediawiki"), "pandoc -t gfm {}"),
    **dict.fromkeys((".doc", ".dot", ".wps", ".wpd", ".sxw"), "soffice --headless --cat {}"),
    **dict.fromkeys((".adoc", ".asciidoc"), "pandoc -s -f asciidoc -t gfm"),
    ".ipynb": "jupyter nbconvert --to markdown --stdout {}",
    ".msg": "markitdown {}",
}
"""Command for ``source.convert`` by extension of files that are not read without one."""

_OFFICE = {
    **dict.fromkeys((".xls", ".xlsb", ".xlt"), "xlsx"),
    **dict.fromkeys((".ppt", ".pps", ".pot"), "pptx"),
    ".pages": "odt",
}
"""Format to which LibreOffice converts files of a type that is not read."""


def explain_unsupported(kind: str) -> str:
    """Return why files with an extension, such as ".doc" or "", are not read, and a remedy."""
    remedy = ""
    if command := _COMMANDS.get(kind):
        remedy = f'; name a command for them: source.convert = {{"{kind}" = "{command}"}}'
    elif new := _OFFICE.get(kind):
        remedy = f"; convert it: soffice --headless --convert-to {new} FILE{kind}"
    elif kind == ".xml":
        remedy = "; convert its text to .html, .md or .txt, for example by XSLT"
    name = f"files of type {kind}" if kind else "files without an extension"
    return f"{name} are not supported{remedy}"


def describe_formats() -> str:
    """Return the types of files that are read, for people."""
    return f"supported: {' '.join(sorted(FORMATS))}"
