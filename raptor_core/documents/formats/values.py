"""JSON and YAML: each record a paragraph, each value a line with its path."""

from __future__ import annotations

import json
from collections.abc import Iterator
from typing import Any

from raptor_core.documents.base import MEGABYTE
from raptor_core.documents.formats.archive import MAX_TEXT_MB, refuse_damage
from raptor_core.documents.formats.encoding import decode
from raptor_core.documents.formats.parsed import Blocks, Parsed, UnreadableError, clean_text

_TITLES = ("title", "name", "heading", "question", "id")


def parse_json(data: bytes) -> Parsed:
    """Parse a JSON value."""
    with refuse_damage("JSON file"):
        return _parse([json.loads(clean_text(decode(data)))])


def parse_yaml(data: bytes) -> Parsed:
    """Parse the documents of a YAML stream; scalars stay as they are written, tags count not."""
    import yaml

    loader = getattr(yaml, "CBaseLoader", yaml.BaseLoader)
    with refuse_damage("YAML file"):
        return _parse(yaml.load_all(clean_text(decode(data)), loader))


def _parse(values: Any) -> Parsed:
    blocks = Blocks()
    n_chars = 0
    for value in values:
        for title, lines in _records(value):
            if title:
                blocks.begin_heading(1)
                blocks.paragraph(title)
            for line in lines:
                n_chars += len(line)
                if n_chars > MAX_TEXT_MB * MEGABYTE:  # aliases of YAML multiply
                    raise UnreadableError(f"has more than {MAX_TEXT_MB} MB of text; split it")
                blocks.text(line)
                blocks.line_break()
            blocks.leave()
    return blocks.parsed()


def _records(value: Any) -> Iterator[tuple[str, Iterator[str]]]:
    """Yield records with their titles: items of a list, values of an object."""
    if isinstance(value, list):
        for item in value:
            yield _title(item), _lines("", item)
    elif isinstance(value, dict):
        nested = {k: v for k, v in value.items() if isinstance(v, dict | list) and v}
        yield "", _lines("", {k: v for k, v in value.items() if k not in nested})
        for key, item in nested.items():
            rows = (
                item
                if isinstance(item, list) and all(isinstance(r, dict) for r in item)
                else [item]
            )
            for number, row in enumerate(rows):
                yield "" if number else str(key), _lines("", row)
    else:
        yield "", _lines("", value)


def _title(item: Any) -> str:
    keys = _TITLES if isinstance(item, dict) else ()
    return next(
        (str(item[k]) for k in keys if isinstance(item.get(k), str) and item[k].strip()), ""
    )


def _lines(path: str, value: Any) -> Iterator[str]:
    """Yield a line for each value with its path, such as "address.city: Brest"."""
    if isinstance(value, dict):
        for key, item in value.items():
            yield from _lines(f"{path}.{key}" if path else str(key), item)
    elif isinstance(value, list):
        if any(isinstance(item, dict | list) for item in value):
            for item in value:
                yield from _lines(path, item)
        elif value:
            yield from _lines(path, ", ".join(map(_scalar, value)))
    elif value not in (None, ""):
        yield f"{path}: {_scalar(value)}" if path else _scalar(value)


def _scalar(value: object) -> str:
    return json.dumps(value) if isinstance(value, bool) or value is None else str(value)
