"""Readers that a row or front matter declares.

A right that is misread can open a document to everyone. So a declaration has one place and one
form, and anything else that resembles one is an error: the document is named, and no one may read
it. Rules for the rest are in ``raptor_core.documents.reader_rules``.
"""

import json
import re
import unicodedata
from collections.abc import Collection, Iterable, Iterator, Mapping
from functools import lru_cache
from typing import Any

from raptor_formats.base import READERS, UnreadableError
from raptor_formats.text import one_line

METADATA = "metadata"
"""Field of a row with an object of further fields."""

CHUNKS = "chunks"
"""Field of a row with the chunks of its document, in place of a text."""

_EXPECTED = (
    'expected a name, or a list of names of users and groups, such as ["group:hr"]; leave the '
    "field out to declare none"
)
_QUOTES = "\"'`“”„«»‘’‚"
_ODD_NAME = re.compile(rf"[\[\]{{}}<>\ufffd]|^[{_QUOTES}]|[{_QUOTES}]\Z")
_SEPARATOR = re.compile(r"[,;]")
_SCALARS = (str, int, float, type(None))
_KEY = re.compile(r"[^\w#]*([^:=#]*)[:=]")


def declared_readers(
    fields: Mapping[Any, Any], nested: Collection[str] = (METADATA, CHUNKS)
) -> tuple[str, ...] | None:
    """Return the readers that a row declares, sorted; None if it declares none.

    ``nested`` are the fields whose objects may declare them, too.

    Raises:
        UnreadableError: they are malformed, differ between two places, or have a place or a name
            that is not read. Its ``readers`` are empty.
    """
    declared = set(_declarations(fields, nested))
    if len(declared) > 1:
        raise _fault(f"declares different {READERS} in several places; declare them once")
    return next(iter(declared), None)


def nested_fields(value: object) -> Mapping[str, Any] | None:
    """Return the fields of an object, also of one as JSON text or as pairs; None for other values.

    Raises:
        UnreadableError: the text begins like an object and is none. Its ``readers`` are empty.
    """
    if isinstance(value, str) and value.lstrip().startswith("{"):
        value = _from_json(value)
        if not isinstance(value, Mapping):
            raise _fault(f"its field {METADATA!r} begins like an object and is not valid JSON")
    if isinstance(value, list) and value and all(isinstance(pair, tuple) for pair in value):
        return dict(value)  # a map of Parquet
    return value if isinstance(value, Mapping) else None


def object_of_pairs(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    """Return the object of JSON pairs; raise UnreadableError if it declares readers twice."""
    fields = dict(pairs)
    if len(fields) < len(pairs):
        refuse_repeated([key for key, _ in pairs])
    return fields


def read_readers(value: object) -> tuple[str, ...] | None:
    """Return readers, sorted: of a list of names, of one name, or of one of these as JSON text.

    An empty list is no reader; None declares nothing.

    Raises:
        UnreadableError: any other value, several names in one text, or a name that is empty, has
            brackets or begins or ends with a quote. Its ``readers`` are empty.
    """
    if value is None:
        return None
    values = value
    if isinstance(value, str) and value.lstrip()[:1] in ("[", "{", '"'):  # a column of JSON
        values = _from_json(value)
    is_single = not isinstance(values, list | tuple)
    each = values if isinstance(values, list | tuple) else (values,)
    names = [one_line(name) if isinstance(name, str) else "" for name in each]
    is_odd = any(not name or _ODD_NAME.search(name) for name in names)
    if is_odd or (is_single and _SEPARATOR.search(names[0])):
        raise _fault(f"its field {READERS!r} holds {value!r:.60}, {_EXPECTED}")
    return tuple(sorted({unicodedata.normalize("NFC", name) for name in names}))


def _from_json(text: str) -> object:
    try:
        return json.loads(text, object_pairs_hook=object_of_pairs)
    except (ValueError, RecursionError):
        return None


def is_like_readers(key: object) -> bool:
    """Return whether a key is "readers" but for case, forms of letters, and further marks."""
    return isinstance(key, str) and _folded(key) == READERS


@lru_cache(maxsize=1 << 12)
def _folded(key: str) -> str:
    last = unicodedata.normalize("NFKC", key).rpartition(".")[2]
    return "".join(filter(str.isalnum, last.casefold()))


def resembles_declaration(line: str) -> bool:
    """Return whether a line of text begins with a key like "readers" and ":" or "=" after it."""
    key = _KEY.match(unicodedata.normalize("NFKC", line))
    return key is not None and is_like_readers(key[1])


def refuse_repeated(keys: Collection[object]) -> None:
    """Raise UnreadableError if keys of one object declare readers more than once."""
    if sum(map(is_like_readers, keys)) > 1:
        raise _fault(f"declares its {READERS} twice; declare them once")


def _declarations(fields: Mapping[Any, Any], nested: Collection[str]) -> Iterator[tuple[str, ...]]:
    """Yield the readers that a row and the objects that may declare them, declare."""
    for key, value in fields.items():
        if key == READERS:
            readers = read_readers(value)
            yield from () if readers is None else (readers,)
        elif is_like_readers(key):
            raise _fault(f"has the field {key!r:.60}; write {READERS!r}")
        elif key == METADATA and key in nested:
            yield from _declarations(nested_fields(value) or {}, ())
        elif key == CHUNKS and key in nested and isinstance(value, list):
            yield from _of_chunks(value)
        elif not isinstance(value, _SCALARS):
            _refuse_within(str(key), value)


def _of_chunks(chunks: Iterable[object]) -> Iterator[tuple[str, ...]]:
    """Yield the readers that all chunks of a row declare, if they do."""
    of_each = {declared_readers(c) if isinstance(c, Mapping) else None for c in chunks}
    if len(of_each) > 1:
        raise _fault(
            f"its chunks differ in their {READERS}, and all of a document is read by the same; "
            "make a document of the chunks of each set of readers"
        )
    yield from (readers for readers in of_each if readers is not None)


def _refuse_within(path: str, value: object) -> None:
    """Raise UnreadableError if an object inside of a value has a field like "readers"."""
    if isinstance(value, Mapping):
        for key, inner in value.items():
            if is_like_readers(key):
                raise _fault(f"has the field {f'{path}.{key}'!r:.90}; move it out of {path!r:.60}")
            _refuse_within(f"{path}.{key}", inner)
    elif isinstance(value, list | tuple):
        for inner in value:
            if not isinstance(inner, _SCALARS):
                _refuse_within(path, inner)


def _fault(message: str) -> UnreadableError:
    return UnreadableError(message, readers=())
