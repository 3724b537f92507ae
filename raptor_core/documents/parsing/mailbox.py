"""Parsing of mailboxes (.mbox), in which each message is a document."""

import re
from collections.abc import Iterator

from raptor_core.documents.base import Skipped
from raptor_core.documents.parsing.names import Named, TableOrigin, to_document
from raptor_core.identity import digest
from raptor_core.settings import SourceSettings
from raptor_formats.base import EmptyFileError, UnreadableError
from raptor_formats.mail import parse_eml

_BEGIN = re.compile(rb"(?:\A|(?<=\n\n)|(?<=\n\r\n))From [^\r\n]*\r?\n(?=[!-9;-~]+:\s)")
_QUOTED = re.compile(rb"^>(>*From )", re.MULTILINE)
_ID = re.compile(rb"^message-id:\s*<?([^>\s]+)", re.MULTILINE | re.IGNORECASE)


def read_mailbox(
    data: bytes, table: TableOrigin, settings: SourceSettings
) -> Iterator[Named | Skipped]:
    """Yield the messages, named by number ("team.mbox:7"); their ids end in the Message-ID."""
    starts = [match.span() for match in _BEGIN.finditer(data)]
    if not starts:
        raise UnreadableError('is not a mailbox: no line begins with "From "')
    ends = [start for start, _ in starts[1:]] + [len(data)]
    for number, ((_, start), end) in enumerate(zip(starts, ends, strict=True), start=1):
        message = _QUOTED.sub(rb"\1", data[start:end])
        name = f"{table.name}:{number}"
        try:
            parsed = parse_eml(message, settings.encoding)
        except UnreadableError as error:
            is_empty = isinstance(error, EmptyFileError)
            yield Skipped(name, str(error), is_empty, table.name, readers=error.readers)
            continue
        match = _ID.search(message)
        key = match[1].decode("ascii", "replace") if match else digest("document", parsed.text)
        metadata = {**table.metadata, **parsed.metadata}
        yield name, to_document(parsed, f"{table.name}#{key}", table.source, metadata)
