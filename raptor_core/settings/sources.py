"""Settings of the source: files, folders, URLs, database tables, and readers of documents."""

import re
import shlex
from collections.abc import Mapping, Sequence
from urllib.parse import quote

from pydantic import Field, field_validator, model_validator

from raptor_core.identity import to_nfc
from raptor_core.redaction import hide_secrets
from raptor_core.settings.base import SettingsSection, setting


class DatabaseTable(SettingsSection):
    """A table or query of a database, in which each row is a document."""

    name: str = ""
    """First part of the documents' ids, ``name/id``; empty is ``table``."""
    url: str = Field("", repr=False)
    """SQLAlchemy URL, such as ``sqlite:////data/wiki.db`` or ``postgresql+psycopg2://host/wiki``;
    the driver must be installed.
    """
    url_env: str = ""
    """Environment variable with the URL, for a URL that contains a password."""
    table: str = ""
    """Name of the table or view, with its schema if necessary."""
    query: str = ""
    """A SELECT statement instead of ``table``."""
    id_field: str = "id"
    """Column with the id."""
    text_field: str = "text"
    """Column with the text."""
    title_field: str = "title"
    """Column with the title; optional."""
    updated_field: str = "updated_at"
    """Column that changes with every write of a row, such as a counter or a precise time; if it is
    empty, every row is read every time. The columns ``readers`` and ``metadata`` are compared, too.
    """

    @model_validator(mode="after")
    def _says_what_and_where(self) -> "DatabaseTable":
        if bool(self.url) == bool(self.url_env):
            raise ValueError("give either url or url_env, the variable with the URL")
        if bool(self.table) == bool(self.query):
            raise ValueError("give either table or query")
        if not self.label:
            raise ValueError("give a name; the ids of a query's documents begin with it")
        return self

    @property
    def label(self) -> str:
        """The name, or else the table."""
        return self.name or self.table


def find_pattern_fault(pattern: str) -> str:
    """Return why a pattern cannot match what its author intends, or ""."""
    if not pattern.strip() or pattern.lstrip().startswith("#"):
        return f"{pattern!r} is not a pattern; remove it"
    if re.search(r"\s#", pattern):
        return f"{pattern!r} has a comment, which would be part of it; write \\# if a name has #"
    if ".." in pattern.removeprefix("!").split("/"):
        return f"{pattern!r} points outside the source; patterns are relative to it"
    return ""


def _check_patterns(patterns: tuple[str, ...]) -> tuple[str, ...]:
    if fault := next(filter(None, map(find_pattern_fault, patterns)), ""):
        raise ValueError(fault)
    return patterns


class ReaderRule(SettingsSection):
    """Readers of the documents whose id or file path matches a pattern."""

    paths: tuple[str, ...] = Field(min_length=1)
    """Patterns of document ids, or of paths of files, as in .gitignore."""
    readers: tuple[str, ...]
    """Names of users and groups, "*" for everyone; empty is nobody."""

    @field_validator("paths")
    @classmethod
    def _paths_can_match(cls, paths: tuple[str, ...]) -> tuple[str, ...]:
        if all(path.startswith("!") for path in paths):
            raise ValueError("give a pattern without !, which the rule applies to")
        return _check_patterns(paths)

    @field_validator("readers")
    @classmethod
    def _names_have_text(cls, readers: tuple[str, ...]) -> tuple[str, ...]:
        if any(name != " ".join(name.split()) or not name for name in readers):
            raise ValueError(f"expected names in one line, such as group:hr, got {readers!r}")
        return tuple(map(to_nfc, readers))


class SourceSettings(SettingsSection):
    """Source of the documents."""

    paths: tuple[str, ...] = setting((), is_common=True)
    """Files, folders and fsspec URLs."""
    tables: tuple[DatabaseTable, ...] = ()
    """Database tables, each a table ``[[source.tables]]`` with ``url`` or ``url_env``, ``table`` or
    ``query``, and ``id_field``, ``text_field``, ``title_field``, ``updated_field``.
    """
    include: tuple[str, ...] = ()
    """Patterns of files to read, as in .gitignore, relative to the source. Empty includes every
    supported format except JSON, YAML and source code, whose patterns must end in their extension,
    such as ``*.py``.
    """
    exclude: tuple[str, ...] = setting((), is_common=True)
    """Patterns of files and folders to exclude, as in .gitignore, relative to the source."""
    readers: tuple[ReaderRule, ...] = ()
    """Rules for the readers of documents that declare none, each a ``[[source.readers]]`` with
    ``paths`` (patterns of ids or file paths, as in .gitignore) and ``readers``. The last rule that
    matches applies.
    """
    max_file_mb: float = setting(50.0, gt=0, is_common=True)
    """Maximum megabytes of a file; larger files are reported and skipped."""
    encoding: str = ""
    """Encoding of text files and mails without a byte order mark, such as ``cp1250``; if it is
    empty, each file's encoding is detected.
    """
    id_field: str = "auto"
    """Field with the id in the rows of a file; "auto" finds it."""
    text_field: str = "text"
    """Field with the text in the rows of a file."""
    title_field: str = "title"
    """Field with the title in the rows of a file."""
    parse_seconds: float = Field(120.0, gt=0)
    """Time limit for parsing a file, in seconds."""
    convert: Mapping[str, str] = {}
    """Commands that convert files of other types to Markdown, by extension, such as ``{".rtf" =
    "pandoc -t gfm {}"}``. A command reads its standard input, or the path that replaces ``{}``.
    """
    max_removed: float = Field(0.5, ge=0, le=1)
    """Maximum share of published documents that may be gone at once, 0 to 1. If more are gone, or a
    named source is empty, nothing changes until a person confirms it. With 0 every removal must be
    confirmed, with 1 none.
    """
    max_removed_documents: int = Field(1000, ge=0)
    """Maximum number of documents that may be gone at once."""
    max_age_hours: float = Field(0.0, ge=0)
    """Hours after which Dagster reports ``NAME/source`` as stale if it was not materialized again
    (a freshness policy); 0 means never. It applies only to a corpus with an upstream asset.
    """
    watch_seconds: int = Field(30, ge=5)
    """Minimum seconds between two scans of the source by the sensor."""
    watch: bool = setting(False, is_common=True)
    """Start with the sensor switched on; it builds changed documents without a command."""

    link: str = ""
    """Address where people read a document, such as ``https://wiki/{id}#page={page}``. Hits and
    answers link to it. ``{page}`` is the first page of the text, or 1 if there are no pages.
    """

    _patterns_can_match = field_validator("include", "exclude")(_check_patterns)

    @field_validator("link")
    @classmethod
    def _link_is_an_address(cls, link: str) -> str:
        if link and not re.match(r"[a-z][a-z0-9+.-]*://", link):
            raise ValueError(f"expected an address such as https://wiki/{{id}}, got {link!r}")
        places = set(re.findall(r"\{(\w*)\}", link))
        if unknown := sorted(places - {"id", "page"}):
            raise ValueError(f"it contains {{{unknown[0]}}}; only {{id}} and {{page}} are replaced")
        return link

    def document_link(self, documents: Sequence[str], pages: Sequence[int] = ()) -> str:
        """Return the address of a text of one document; "" for several documents or no ``link``.

        An id with a part ".." has none, because it could lead to another place on the server.
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
            raise ValueError(f"expected an encoding such as cp1250, got {encoding!r}") from error
        return encoding

    @model_validator(mode="after")
    def _table_names_are_unique(self) -> "SourceSettings":
        labels = [table.label for table in self.tables]
        twice = sorted({label for label in labels if labels.count(label) > 1})
        if twice:
            raise ValueError(f"two of source.tables are called {twice[0]!r}; name them differently")
        return self

    def shown_paths(self) -> list[str]:
        """Return ``paths`` without secrets."""
        return [hide_secrets(path) for path in self.paths]

    @property
    def has_sources(self) -> bool:
        """Whether the settings name a source."""
        return bool(self.paths or self.tables)
