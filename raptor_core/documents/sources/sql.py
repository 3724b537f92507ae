"""Sources in databases: tables and queries, through SQLAlchemy, whose rows are documents.

A listing selects the ids, the column that shows changes, and columns that may declare readers. A
whole row is read only if one of these changed. No message contains the URL, because it may contain
a password.
"""

import itertools
import os
from collections import defaultdict
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import replace
from decimal import Decimal
from functools import partial
from typing import Any
from uuid import UUID

import sqlalchemy as sa

from raptor_core.documents.base import FOLDER, Skipped
from raptor_core.documents.parsing.names import Named, TableOrigin
from raptor_core.documents.parsing.records import row_document
from raptor_core.documents.sources.base import FileContent, SourceFile, SourceListing
from raptor_core.errors import SourceError
from raptor_core.identity import digest, to_nfc
from raptor_core.settings import DatabaseTable, SourceSettings
from raptor_formats.base import READERS, MetadataValue, UnreadableError
from raptor_formats.declared import METADATA, resembles_readers_key
from raptor_formats.text import one_line

ROWS_PER_READ = 500
"""Maximum number of ids in a SELECT, because databases limit the parameters of a statement."""


class SqlSource:
    """A table or query whose rows are documents; see ``Source``."""

    def __init__(self, table: DatabaseTable) -> None:
        self.name = f"table {table.label!r}"
        self._table = table
        self._raw_ids: defaultdict[str, set[Any]] = defaultdict(set)

    def list(self) -> SourceListing:
        """List the rows; see ``Source.list``."""
        table = self._table
        fields = [table.id_field, *([table.updated_field] if table.updated_field else [])]
        found: defaultdict[tuple[str, str], list[Sequence[Any]]] = defaultdict(list)
        skipped: list[Skipped] = []
        with self._open_connection() as connection:
            rights = self._readers_columns(connection)
            columns: Any = [sa.column(name) for name in (*fields, *rights)]
            query: Any = sa.select(*columns).select_from(self._from_clause())
            for number, row in enumerate(connection.execute(query), start=1):
                name = _id_text(row[0])
                if not name:
                    reason = f"has no id: {row[0]!r:.60}"
                    skipped.append(Skipped(f"{table.label}:{number}", reason))
                    continue
                place = f"{table.label}/{name}", f"{table.label}:{name}"
                found[place].append(row[1:])
                self._raw_ids[place[0]].add(row[0])
        is_dated = len(fields) > 1
        return SourceListing(
            [_rows_to_file(place, found[place], is_dated=is_dated) for place in sorted(found)],
            tuple(skipped),
        )

    def _readers_columns(self, connection: sa.Connection) -> Sequence[str]:
        """Return the columns that may declare readers.

        They are compared, because in a query they may come from another table and change alone.
        """
        names = [*connection.execute(self._select_rows(sa.false())).keys()]
        like = [
            name for name in names if resembles_readers_key(name.partition(":")[0])
        ]  # SQLite: "a:1"
        if len(like) > 1:
            raise SourceError(
                f"the {self.name} has several columns like {READERS!r}: {', '.join(like)}; rename "
                "all but one"
            )
        return [name for name in names if name == METADATA or name in like]

    def load(self, files: Sequence[SourceFile]) -> Iterator[FileContent]:
        """Read listed rows; see ``Source.load``. A row that was deleted since then is skipped."""
        for start in range(0, len(files), ROWS_PER_READ):
            batch = files[start : start + ROWS_PER_READ]
            rows = self._read_rows([each for file in batch for each in self._raw_ids[file.id]])
            for file in batch:
                yield self._rows_to_content(file, rows.get(file.id, ()))

    def _read_rows(self, ids: Sequence[Any]) -> Mapping[str, Sequence[Mapping[str, Any]]]:
        condition = sa.column(self._table.id_field).in_(ids)
        with self._open_connection() as connection:
            mappings = connection.execute(self._select_rows(condition)).mappings().all()
        label = self._table.label
        rows: defaultdict[str, list[Mapping[str, Any]]] = defaultdict(list)
        for mapping in mappings:
            row = {str(name): _to_plain_value(value) for name, value in mapping.items()}
            rows[f"{label}/{_id_text(row.get(self._table.id_field))}"].append(row)
        return rows

    def _rows_to_content(self, file: SourceFile, rows: Sequence[Mapping[str, Any]]) -> FileContent:
        if not rows:
            problem = Skipped(file.id, "was deleted from the table since it was listed")
            return FileContent("", partial(list[Named | Skipped], (problem,)))
        ordered = sorted(rows, key=_row_text)
        content = digest("rows", *map(_row_text, ordered))
        return FileContent(content, partial(_parse_rows, self._table, file.id, ordered))

    def _select_rows(self, condition: Any) -> Any:
        return sa.select(sa.literal_column("*")).select_from(self._from_clause()).where(condition)

    def _from_clause(self) -> Any:
        if self._table.query:
            # SQLAlchemy would treat an unescaped colon as a parameter.
            text = self._table.query.rstrip("; \n\t").replace(":", "\\:")
            return sa.text(f"({text}) AS documents")
        schema, _, name = self._table.table.rpartition(".")
        return sa.table(name, schema=schema or None)

    @contextmanager
    def _open_connection(self) -> Iterator[sa.Connection]:
        url = self._url()
        try:
            engine = sa.create_engine(url, poolclass=sa.pool.NullPool)
            with engine.connect() as connection:
                yield connection
        except (sa.exc.SQLAlchemyError, ImportError) as error:
            # Raised without its cause, because a driver's message may repeat the URL.
            reason = one_line(str(getattr(error, "orig", None) or error)) or "no reason given"
            kind = type(getattr(error, "orig", None) or error).__name__
            raise SourceError(
                f"cannot read the {self.name}: {_without_secrets(f'{kind}: {reason}', url)}. "
                "Check its url, table or query and fields under [[source.tables]], and that the "
                "database can be reached"
            ) from None

    def _url(self) -> sa.URL:
        name = self._table.url_env
        text = os.environ.get(name, "") if name else self._table.url
        if not text:
            raise SourceError(
                f"the environment variable {name} is not set; it must contain the URL of the table "
                f"{self._table.label!r} (url_env under [[source.tables]])"
            )
        try:
            return sa.make_url(text)
        except (sa.exc.ArgumentError, ValueError):
            where = f"the environment variable {name}" if name else "url under [[source.tables]]"
            raise SourceError(
                f"the URL of the table {self._table.label!r} is malformed; {where} must have the "
                "form dialect://user:password@host/database, with special characters "
                "percent-encoded"
            ) from None


def _row_text(row: Mapping[str, Any]) -> str:
    return repr(sorted(row.items()))


def _rows_to_file(
    place: tuple[str, str], rows: Sequence[Sequence[Any]], *, is_dated: bool
) -> SourceFile:
    """Return the file of the rows with one id, from their dates and what may declare readers."""
    dates = sorted(str(row[0]) for row in rows if is_dated and row[0] is not None)
    key = repr(sorted(repr(tuple(row[is_dated:])) for row in rows))
    version = ", ".join(dates) if len(dates) == len(rows) else ""
    return SourceFile(*place, size_bytes=None, etag=version, change_key=key)


def _parse_rows(
    table: DatabaseTable, name: str, rows: Sequence[Mapping[str, Any]]
) -> list[Named | Skipped]:
    """Return the documents of the rows with one id; ``FirstOfEachId`` keeps only one of them."""
    return [item for row in rows for item in _parse_row(table, name, row)]


def _parse_row(table: DatabaseTable, name: str, row: Mapping[str, Any]) -> list[Named | Skipped]:
    """Return the document of a row, without the column that shows changes."""
    fields = SourceSettings(
        id_field=table.id_field, text_field=table.text_field, title_field=table.title_field
    )
    shared: dict[str, MetadataValue] = {FOLDER: table.label, "format": "sql"}
    kept = {field: value for field, value in row.items() if field != table.updated_field}
    try:
        document = row_document(kept, TableOrigin(table.label, table.label, shared), fields)
    except UnreadableError as error:
        # If the text is now empty, the previous document is gone.
        is_empty = table.text_field in row and not str(row[table.text_field] or "").strip()
        return [Skipped(name, str(error), is_empty, readers=error.readers)]
    return [(name, replace(document, id=name))]


def _without_secrets(text: str, url: sa.URL) -> str:
    """Replace the URL's password and the values of its query in a text by ``***``."""
    values = itertools.chain.from_iterable(
        [value] if isinstance(value, str) else value for value in url.query.values()
    )
    # Small numbers such as a timeout are no secrets, and also occur in addresses and ports.
    hidden = (value for value in values if len(value) > 2 or not value.isdigit())
    secrets = {str(url.password or ""), *hidden} - {""}
    for secret in sorted(secrets, key=len, reverse=True):
        text = text.replace(secret, "***")
    return text


def _id_text(value: object) -> str:
    value = _to_plain_value(value)
    is_id = isinstance(value, str | int | float) and not isinstance(value, bool)
    return to_nfc(one_line(str(value))) if is_id else ""


def _to_plain_value(value: Any) -> Any:
    """Convert a value of a driver's own type to one that documents can contain."""
    if isinstance(value, UUID):
        return str(value)
    if isinstance(value, Decimal):
        is_integer = value.is_finite() and value == value.to_integral_value()
        return int(value) if is_integer else float(value)
    return value
