"""Mailboxes (.mbox): a document for each message."""

from __future__ import annotations

import re
from collections.abc import Iterator

from raptor_core.documents.base import Document, Skipped
from raptor_core.documents.formats.mail import parse_eml
from raptor_core.documents.formats.parsed import EmptyFileError, UnreadableError
from raptor_core.documents.formats.records import Named, TableOrigin
from raptor_core.identity import digest
from raptor_core.settings import SourceSettings

_BEGIN = re.compile(rb"(?:\A|(?<=\n\n)|(?<=\n\r\n))From [^\r\n]*\r?\n")
_QUOTED = re.compile(rb"^>(>*From )", re.MULTILINE)
_ID = re.compile(rb"^message-id:\s*<?([^>\s]+)", re.MULTILINE | re.IGNORECASE)


def read_mailbox(
    data: bytes, table: TableOrigin, settings: SourceSettings
) -> Iterator[Named | Skipped]:
    """Yield the messages, named by their numbers ("team.mbox:7"), with ids of their Message-IDs."""
    del settings
    starts = [match.span() for match in _BEGIN.finditer(data)]
    if not starts:
        raise UnreadableError('is no mailbox: no line begins with "From "')
    ends = [start for start, _ in starts[1:]] + [len(data)]
    for number, ((_, start), end) in enumerate(zip(starts, ends, strict=True), start=1):
        message = _QUOTED.sub(rb"\1", data[start:end])
        name = f"{table.name}:{number}"
        try:
            parsed = parse_eml(message)
        except UnreadableError as error:
            yield Skipped(name, str(error), isinstance(error, EmptyFileError), table.name)
            continue
        known = _ID.search(message)
        key = known[1].decode("ascii", "replace") if known else digest("document", parsed.text)
        metadata = {**table.metadata, **parsed.metadata}
        yield (
            name,
            Document(
                f"{table.name}#{key}",
                parsed.text,
                parsed.title,
                table.source,
                parsed.sections,
                metadata,
            ),
        )
