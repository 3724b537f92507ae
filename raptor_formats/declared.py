"""Readers that a row or front matter declares.

A misread right can open a document to everyone. So a declaration has exactly one place and form;
anything else that resembles one is an error that names the document, which nobody may read then.
Rules for documents without a declaration are in ``raptor_core.documents.reader_rules``.
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
"""Field of a row that contains an object with further fields."""

CHUNKS = "chunks"
"""Field of a row that contains the chunks of its document, instead of a text."""

_EXPECTED = (
    'expected a name, or a list of names of users and groups, such as ["group:hr"]; leave the '
    "field out to declare none"
)
_QUOTES = "\"'`“”„«»‘’‚"
_ODD_NAME = re.compile(rf"[\[\]{{}}<>\ufffd]|^[{_QUOTES}]|[{_QUOTES}]\Z")
_SEPARATOR = re.compile(r"[,;]")
_SCALARS = (str, int, float, type(None))
_PATH = re.compile(r"(?:[.:]|__)(?=\w)")
_KEY = re.compile(r"[^\w#]*([^:=#]*)[:=]")


def declared_readers(
    fields: Mapping[Any, Any], nested: Collection[str] = (METADATA, CHUNKS)
) -> tuple[str, ...] | None:
    """Return the readers that a row declares, sorted; None if it declares none.

    ``nested`` names the fields whose objects may declare readers, too.

    Raises:
        UnreadableError: they are malformed, differ between two places, or stand in a place or under
            a name that is not supported. Its ``readers`` are empty.
    """
    declared = set(_find_declarations(fields, nested))
    if len(declared) > 1:
        raise _make_error(f"declares different {READERS} in several places; declare them once")
    return next(iter(declared), None)


def parse_nested_fields(value: object) -> Mapping[str, Any] | None:
    """Return the fields of an object, of JSON text or of pairs; None for other values.

    Raises:
        UnreadableError: the text begins like an object but is not one. Its ``readers`` are empty.
    """
    if isinstance(value, str) and value.lstrip().startswith("{"):
        value = _from_json(value)
        if not isinstance(value, Mapping):
            raise _make_error(f"its field {METADATA!r} begins like an object but is not valid JSON")
    if isinstance(value, list) and value and all(isinstance(pair, tuple) for pair in value):
        return dict(value)  # a Parquet map
    return value if isinstance(value, Mapping) else None


def object_from_pairs(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    """Return the object made of pairs; raise UnreadableError if a repeated key concerns readers."""
    fields = dict(pairs)
    if len(fields) < len(pairs):
        refuse_repeated_readers([key for key, _ in pairs])
        for key, value in pairs:
            if value is not fields[key]:
                _refuse_readers_within(key, _decode_nested_json(key, value))
    return fields


def read_readers(value: object) -> tuple[str, ...] | None:
    """Return sorted readers from a list of names, one name, or one of these as JSON text.

    An empty list means that nobody may read; None means that nothing is declared.

    Raises:
        UnreadableError: any other value, several names in one text, or a name that is empty,
            contains brackets, or begins or ends with a quote. Its ``readers`` are empty.
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
        raise _make_error(f"its field {READERS!r} contains {value!r:.60}, {_EXPECTED}")
    return tuple(sorted({unicodedata.normalize("NFC", name) for name in names}))


def _from_json(text: str) -> object:
    try:
        return json.loads(text, object_pairs_hook=object_from_pairs)
    except (ValueError, RecursionError):
        return None


def resembles_readers_key(key: object) -> bool:
    """Return whether a key is "readers" apart from case, letter forms, and extra punctuation."""
    return isinstance(key, str) and _fold_key(key) == READERS


@lru_cache(maxsize=1 << 12)
def _fold_key(key: str) -> str:
    last = _PATH.split(unicodedata.normalize("NFKC", key))[-1]
    return "".join(filter(str.isalnum, last.casefold()))


def resembles_readers_declaration(line: str) -> bool:
    """Return whether a line consists of a key like "readers", then ":" or "="."""
    key = _KEY.match(unicodedata.normalize("NFKC", line))
    return key is not None and resembles_readers_key(key[1])


def refuse_readers_key(key: str) -> None:
    """Raise UnreadableError if metadata that cannot declare readers has a key like "readers"."""
    if resembles_readers_key(key):
        raise _make_error(f"declares readers in a place that is not supported: {key!r:.60}")


def refuse_repeated_readers(keys: Collection[object]) -> None:
    """Raise UnreadableError if keys of one object declare readers more than once."""
    if sum(map(resembles_readers_key, keys)) > 1:
        raise _make_error(f"declares its {READERS} twice; declare them once")


def _find_declarations(
    fields: Mapping[Any, Any], nested: Collection[str]
) -> Iterator[tuple[str, ...]]:
    """Yield the readers that a row, or an object nested in it, declares."""
    for key, value in fields.items():
        if key == READERS:
            readers = read_readers(value)
            yield from () if readers is None else (readers,)
        elif resembles_readers_key(key):
            raise _make_error(f"has the field {key!r:.60}; write {READERS!r}")
        elif (
            key == METADATA and key in nested and (inner := parse_nested_fields(value)) is not None
        ):
            yield from _find_declarations(inner, ())
        elif key == CHUNKS and key in nested and isinstance(value, list):
            yield from _find_readers_of_chunks(value)
        else:
            _refuse_readers_within(str(key), _decode_nested_json(key, value))


def _find_readers_of_chunks(chunks: Iterable[object]) -> Iterator[tuple[str, ...]]:
    """Yield the readers that the chunks of a row declare, if any; they must all be the same."""
    of_each = {declared_readers(c) if isinstance(c, Mapping) else None for c in chunks}
    if len(of_each) > 1:
        raise _make_error(
            f"its chunks differ in their {READERS}, but a document has one set of readers; "
            "make one document of the chunks of each set"
        )
    yield from (readers for readers in of_each if readers is not None)


def _refuse_readers_within(path: str, value: object) -> None:
    """Raise UnreadableError if an object inside a value has a field like "readers"."""
    if isinstance(value, Mapping):
        for key, inner in value.items():
            if resembles_readers_key(key):
                raise _make_error(
                    f"has the field {f'{path}.{key}'!r:.90}; move it out of {path!r:.60}"
                )
            _refuse_readers_within(f"{path}.{key}", _decode_nested_json(key, inner))
    elif isinstance(value, list | tuple):
        for inner in value:
            if not isinstance(inner, _SCALARS):
                _refuse_readers_within(path, inner)


def _decode_nested_json(key: object, value: object) -> object:
    """Return the value of JSON text, however often encoded, in a field like "metadata"."""
    while _fold_key(str(key)) in (METADATA, CHUNKS) and isinstance(value, str | bytes):
        text = value.decode("utf-8", "replace") if isinstance(value, bytes) else value
        value = _from_json(text.lstrip("\ufeff"))
    return value


def _make_error(message: str) -> UnreadableError:
    return UnreadableError(message, readers=())
