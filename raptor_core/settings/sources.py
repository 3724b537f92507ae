"""Settings of the source: files, folders, URLs, and tables of databases."""

from __future__ import annotations

from pydantic import Field, model_validator

from raptor_core.redaction import hide_secrets
from raptor_core.settings.base import Part

PROTOCOLS = (
    *("s3", "s3a", "gs", "gcs", "abfs", "abfss", "az", "adl"),
    *("http", "https", "sftp", "ssh", "ftp", "github", "hf"),
    *("file", "memory", "zip", "tar", "simplecache", "filecache", "blockcache"),
)
"""Storages of documents, and archives and caches of them."""


class DatabaseTable(Part):
    """A table or a query of a database, one document for each row.

    Attributes:
        name: what documents of it are called by: their ids are ``name/id``; empty is ``table``.
        url: SQLAlchemy URL, such as ``sqlite:////data/wiki.db`` or
            ``postgresql+psycopg2://host/wiki``; the driver has to be installed.
        url_env: environment variable that holds the URL, where it has a password in it.
        table: name of the table or view, with its schema where it needs one.
        query: a SELECT in place of ``table``.
        id_field: column that holds the id.
        text_field: column that holds the text.
        title_field: column that holds the title, if there is one.
        updated_field: column that changes whenever a row does, such as a time or a counter;
            empty reads every row every time.
    """

    name: str = ""
    url: str = Field("", repr=False)
    url_env: str = ""
    table: str = ""
    query: str = ""
    id_field: str = "id"
    text_field: str = "text"
    title_field: str = "title"
    updated_field: str = "updated_at"

    @model_validator(mode="after")
    def _says_what_and_where(self) -> DatabaseTable:
        if bool(self.url) == bool(self.url_env):
            raise ValueError("give either url or url_env, the variable that holds the URL")
        if bool(self.table) == bool(self.query):
            raise ValueError("give either table or query")
        if not self.label:
            raise ValueError("give a name; the documents of a query are called by it")
        return self

    @property
    def label(self) -> str:
        """The name, or else the table."""
        return self.name or self.table


class SourceSettings(Part):
    """Where documents come from.

    Attributes:
        paths: files, folders, tables or fsspec URLs, read together.
        tables: tables of databases, each a ``[[source.tables]]`` with ``url`` or ``url_env``,
            ``table`` or ``query``, and ``id_field``, ``text_field``, ``title_field``,
            ``updated_field``.
        include: patterns of relative paths as in .gitignore; empty means every supported format.
        exclude: such patterns of what is left out.
        protocols: protocols of fsspec URLs that may be read, each part of a chained one included.
        private_hosts: hosts that http and https may reach although their address is not public:
            this machine, the private network.
        max_file_mb: larger files are reported and skipped, in megabytes.
        whole_pages: read web pages with the navigation, sidebars and footers around their content.
        id_field: field of a table's rows that holds the id; "auto" finds it.
        text_field: field of a table's rows that holds the text.
        title_field: field of a table's rows that holds the title.
        settle_seconds: the sensor leaves a file alone that was written within this time, since
            more may follow; 0 takes every file as it is.
        parse_seconds: after which a PDF file that is still being read is given up.
        ocr: languages of tesseract, such as ``eng`` or ``deu+eng``, by which pages of PDF files
            that are only pictures are read; empty reads none. The program has to be installed.
        max_removed: share of the published documents that may be gone at once, 0 to 1. More are
            kept until a person confirms; so are all while a named source holds nothing. 0 asks for
            every document, 1 never asks.
        max_removed_documents: number of documents that may be gone at once.
        watch: the sensor is on from the start, and builds changed documents unasked.
    """

    paths: tuple[str, ...] = ()
    tables: tuple[DatabaseTable, ...] = ()
    include: tuple[str, ...] = ()
    exclude: tuple[str, ...] = ()
    protocols: tuple[str, ...] = PROTOCOLS
    private_hosts: tuple[str, ...] = ()
    max_file_mb: float = Field(50.0, gt=0)
    whole_pages: bool = False
    id_field: str = "auto"
    text_field: str = "text"
    title_field: str = "title"
    settle_seconds: float = Field(2.0, ge=0, le=3600)
    parse_seconds: float = Field(120.0, gt=0)
    ocr: str = Field("", pattern=r"^[A-Za-z_+]*$")
    max_removed: float = Field(0.5, ge=0, le=1)
    max_removed_documents: int = Field(1000, ge=0)
    watch: bool = False

    @model_validator(mode="after")
    def _tables_have_names_of_their_own(self) -> SourceSettings:
        labels = [table.label for table in self.tables]
        twice = sorted({label for label in labels if labels.count(label) > 1})
        if twice:
            raise ValueError(f"two of source.tables are called {twice[0]!r}; give each a name")
        return self

    def shown_paths(self) -> list[str]:
        """``paths`` as they may be shown: without secrets."""
        return [hide_secrets(path) for path in self.paths]

    @property
    def is_named(self) -> bool:
        """Whether anything is named to read."""
        return bool(self.paths or self.tables)
