"""Settings of the source: files, folders, URLs, and tables of databases."""

import re
import shlex
from collections.abc import Mapping, Sequence
from urllib.parse import quote

from pydantic import Field, field_validator, model_validator

from raptor_core.identity import composed
from raptor_core.redaction import hide_secrets
from raptor_core.settings.base import Part, setting


class DatabaseTable(Part):
    """A table or a query of a database, one document for each row."""

    name: str = ""
    """First part of the documents' ids, ``name/id``; empty is ``table``."""
    url: str = Field("", repr=False)
    """SQLAlchemy URL, such as ``sqlite:////data/wiki.db`` or ``postgresql+psycopg2://host/wiki``;
    the driver has to be installed.
    """
    url_env: str = ""
    """Environment variable that holds the URL, for a URL with a password."""
    table: str = ""
    """Name of the table or view, with its schema where it needs one."""
    query: str = ""
    """A SELECT instead of ``table``."""
    id_field: str = "id"
    """Column with the id."""
    text_field: str = "text"
    """Column with the text."""
    title_field: str = "title"
    """Column with the title; it may be missing."""
    updated_field: str = "updated_at"
    """Column that changes with every write of a row, such as a counter or a precise time; empty
    reads every row every time. The columns ``readers`` and ``metadata`` are compared as well.
    """

    @model_validator(mode="after")
    def _says_what_and_where(self) -> "DatabaseTable":
        if bool(self.url) == bool(self.url_env):
            raise ValueError("give either url or url_env, the variable that holds the URL")
        if bool(self.table) == bool(self.query):
            raise ValueError("give either table or query")
        if not self.label:
            raise ValueError("give a name; the documents of a query are called by it")
        return self

    @property
    def label(self) -> str:
        """The name, or the table where there is no name."""
        return self.name or self.table


def pattern_fault(pattern: str) -> str:
    """Return why a pattern can match nothing that its author means, or ""."""
    if not pattern.strip() or pattern.lstrip().startswith("#"):
        return f"{pattern!r} is no pattern; leave it out"
    if re.search(r"\s#", pattern):
        return f"{pattern!r} has a comment, which would be part of it; write \\# for a name"
    if ".." in pattern.removeprefix("!").split("/"):
        return f"{pattern!r} leads out of the source; patterns are relative to it"
    return ""


def _check_patterns(patterns: tuple[str, ...]) -> tuple[str, ...]:
    if fault := next(filter(None, map(pattern_fault, patterns)), ""):
        raise ValueError(fault)
    return patterns


class ReaderRule(Part):
    """Readers of the documents whose ids, or the paths of whose files, match patterns."""

    paths: tuple[str, ...] = Field(min_length=1)
    """Patterns of document ids, or of paths of files, as in .gitignore."""
    readers: tuple[str, ...]
    """Names of users and groups, "*" for everyone; empty is nobody."""

    @field_validator("paths")
    @classmethod
    def _paths_can_match(cls, paths: tuple[str, ...]) -> tuple[str, ...]:
        if all(path.startswith("!") for path in paths):
            raise ValueError("give a pattern without !, of what the rule is for")
        return _check_patterns(paths)

    @field_validator("readers")
    @classmethod
    def _names_have_text(cls, readers: tuple[str, ...]) -> tuple[str, ...]:
        if any(name != " ".join(name.split()) or not name for name in readers):
            raise ValueError(f"a reader is a name in one line, such as group:hr, got {readers!r}")
        return tuple(map(composed, readers))


class SourceSettings(Part):
    """Source of the documents."""

    paths: tuple[str, ...] = setting((), is_common=True)
    """Files, folders and fsspec URLs."""
    tables: tuple[DatabaseTable, ...] = ()
    """Tables of databases, each a ``[[source.tables]]`` with ``url`` or ``url_env``, ``table`` or
    ``query``, and ``id_field``, ``text_field``, ``title_field``, ``updated_field``.
    """
    include: tuple[str, ...] = ()
    """Patterns of relative paths, as in .gitignore, of files to read; empty is every supported
    format but JSON, YAML and source code, whose patterns have to end in their type, such as
    ``*.py``.
    """
    exclude: tuple[str, ...] = setting((), is_common=True)
    """Patterns of relative paths, as in .gitignore, of files and folders to leave out."""
    readers: tuple[ReaderRule, ...] = ()
    """Readers of documents that declare none, each rule a ``[[source.readers]]`` with ``paths``,
    patterns as in .gitignore of ids or paths of files, and ``readers``. The last rule that matches
    counts.
    """
    timeout_seconds: float = Field(60.0, gt=0, le=3600)
    """Seconds that a storage may be silent. A file may take 10 times as long in all, and a listing
    60 times.
    """
    max_file_mb: float = setting(50.0, gt=0, is_common=True)
    """Most megabytes of a file; larger files are reported and skipped."""
    encoding: str = ""
    """Encoding of text files and mails that begin with no byte order mark, such as ``cp1250``;
    empty recognizes it file by file.
    """
    id_field: str = "auto"
    """Field with the id in the rows of a file; "auto" finds it."""
    text_field: str = "text"
    """Field with the text in the rows of a file."""
    title_field: str = "title"
    """Field with the title in the rows of a file."""
    parse_seconds: float = Field(120.0, gt=0)
    """Time limit for reading a file, in seconds."""
    convert: Mapping[str, str] = {}
    """Commands that write files of other types as Markdown, by extension, such as ``{".rtf" =
    "pandoc -t gfm {}"}``. A command gets the file on its standard input, or its path at ``{}``.
    """
    max_removed: float = Field(0.5, ge=0, le=1)
    """Share of the published documents that may be gone at once, 0 to 1. A look that misses more
    changes nothing until a person confirms it, nor one that finds a named source empty. 0 asks for
    every document, 1 never asks.
    """
    max_removed_documents: int = Field(1000, ge=0)
    """Most documents that may be gone at once."""
    watch_seconds: int = Field(30, ge=5)
    """Seconds between two looks of the sensor at the source, at least."""
    watch: bool = setting(False, is_common=True)
    """Switch the sensor on from the start; it builds changed documents without a command."""

    link: str = ""
    """Address of a document where people read it, such as ``https://wiki/{id}#page={page}``. Hits
    and answers link to it. ``{page}`` is the first page of the text, 1 if there are no pages.
    """

    _patterns_can_match = field_validator("include", "exclude")(_check_patterns)

    @field_validator("link")
    @classmethod
    def _link_is_an_address(cls, link: str) -> str:
        if link and not re.match(r"[a-z][a-z0-9+.-]*://", link):
            raise ValueError(f"expected an address such as https://wiki/{{id}}, got {link!r}")
        places = set(re.findall(r"\{(\w*)\}", link))
        if unknown := sorted(places - {"id", "page"}):
            raise ValueError(f"it holds {{{unknown[0]}}}; what is filled in is {{id}} and {{page}}")
        return link

    def link_to(self, documents: Sequence[str], pages: Sequence[int] = ()) -> str:
        """Return the address of the only one of ``documents``; "" for several or without ``link``.

        An id with a part ".." has none, since it could lead to another place of the server.
        """
        if not self.link or len(documents) != 1 or ".." in documents[0].split("/"):
            return ""
        name = quote(documents[0].encode("utf-8", "replace"), safe="/")
        return self.link.replace("{page}", str(pages[0] if pages else 1)).replace("{id}", name)

    @field_validator("convert")
    @classmethod
    def _commands_are_whole(cls, convert: Mapping[str, str]) -> Mapping[str, str]:
        for extension, command in convert.items():
            if not extension.startswith(".") or extension != extension.lower():
                raise ValueError(f'give an extension such as ".rtf", got {extension!r}')
            try:
                words = shlex.split(command)
            except ValueError as error:
                raise ValueError(f"the command for {extension} is malformed: {error}") from error
            if not words:
                raise ValueError(f"the command for {extension} is empty; name one, or remove it")
        return convert

    @field_validator("encoding")
    @classmethod
    def _encoding_is_known(cls, encoding: str) -> str:
        try:
            "a".encode(encoding or "ascii")
        except LookupError as error:
            raise ValueError(f"{encoding!r} is no text encoding, such as cp1250") from error
        return encoding

    @model_validator(mode="after")
    def _tables_have_names_of_their_own(self) -> "SourceSettings":
        labels = [table.label for table in self.tables]
        twice = sorted({label for label in labels if labels.count(label) > 1})
        if twice:
            raise ValueError(f"two of source.tables are called {twice[0]!r}; give each a name")
        return self

    def shown_paths(self) -> list[str]:
        """Return ``paths`` without secrets."""
        return [hide_secrets(path) for path in self.paths]

    @property
    def is_named(self) -> bool:
        """Whether anything is named to read."""
        return bool(self.paths or self.tables)
