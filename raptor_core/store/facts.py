"""Facts of nodes: what filters match, as hashes in the payload.

A leaf has facts of its document, of each folder above it, and of each item of its metadata. A
summary has the facts that all its children have. For exclusions it also has, as "some", each folder
of a leaf, and each key of metadata whose values differ among its leaves.

Readers follow the same rule from the documents of a node (``common_readers``). They change without
its content, so they are a field of their own.
"""

import re
from collections.abc import Iterable, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass
from datetime import UTC, date, datetime
from functools import lru_cache
from math import isfinite
from typing import Any

from raptor_core.documents.base import EVERYONE, FOLDER
from raptor_core.errors import SettingsError
from raptor_core.identity import composed, digest
from raptor_core.nodes import Node
from raptor_formats.base import MetadataScalar

UNKNOWN = "*"
"""Key of a node whose leaves are not known, as in the corpus tree; every exclusion leaves it out"""

_DATE = re.compile(r"\d{4}-\d\d-\d\d(?:[T ].+)?\Z")


@dataclass(frozen=True, slots=True)
class Facts:
    """Facts of one node.

    Attributes:
        places: hashes of the document and the folders that every leaf beneath it is in.
        values: by key of metadata that every leaf has, the texts that all have, as filters compare
            them.
        some: hashes for exclusions; see the module.
        numbers: numbers and dates that every leaf has, by the field that ``number_field`` names.
    """

    places: frozenset[str]
    values: Mapping[str, frozenset[str]]
    some: frozenset[str]
    numbers: Mapping[str, frozenset[float]]

    def payload(self) -> dict[str, Any]:
        """Return the fields of the payload."""
        keys = {fact("key", key) for key in self.values}
        values = {fact("value", key, text) for key, known in self.values.items() for text in known}
        numbers = {name: sorted(figures) for name, figures in sorted(self.numbers.items())}
        facts = {"facts": sorted(self.places | keys | values | self.some)}
        return facts | ({"numbers": numbers} if numbers else {})


@lru_cache(maxsize=1 << 16)
def fact(kind: str, *values: str) -> str:
    """Return the hash of a fact, the same for each form of its letters."""
    return digest("fact", kind, *map(composed, values))


def texts(value: MetadataScalar) -> tuple[str, ...]:
    """Return the texts of a single value: "true" for True, "2" and "2.0" for 2.0.

    They are compared, so 1.10 is 1.1 only where the format that has it reads numbers.
    """
    text = composed(str(value))
    if text.lower() in {"true", "false"}:
        return (text.lower(),)
    if isinstance(value, float) and value.is_integer():
        return (text, str(int(value)))
    return (text,)


def items(value: Any) -> tuple[MetadataScalar, ...]:
    """Return the items of a list, or a single value as the only one."""
    return tuple(value) if isinstance(value, tuple | list) else (value,)


def folder_of(name: str) -> str:
    """Return a folder as facts have it: with a slash at its end, "" for the folder of all."""
    name = name.removeprefix("./").strip("/")
    return f"{name}/" if name not in ("", ".") else ""


def number(value: MetadataScalar) -> tuple[str, float] | None:
    """Return "number" or "date" and a number: of a date, seconds since 1970. None for others."""
    if isinstance(value, bool):
        return None
    if isinstance(value, str) and _DATE.match(value):
        with suppress(ValueError):
            moment = datetime.fromisoformat(value)
            return "date", moment.replace(tzinfo=moment.tzinfo or UTC).timestamp()
    with suppress(ValueError, OverflowError):
        result = float(value)
        return ("number", result) if isfinite(result) else None
    return None


def number_field(key: str, kind: str) -> str:
    """Return the name under which a payload has the numbers, or the dates, of a key."""
    return fact(kind, key)


def read_bounds(key: str, bounds: Mapping[str, Any]) -> tuple[str, dict[str, float]]:
    """Return the kind of a range's bounds, and the bounds as numbers.

    Raises:
        SettingsError: a bound is neither a number nor a date, or both kinds are mixed.
    """
    numbers = {
        name: number(bound.isoformat() if isinstance(bound, date) else bound)
        for name, bound in bounds.items()
    }
    kinds = {pair[0] for pair in numbers.values() if pair is not None}
    if None in numbers.values() or len(kinds) != 1:
        raise SettingsError(
            f"where.metadata {key!r}: expected bounds that are all numbers, or all dates such as "
            f"2024-01-31, got {dict(bounds)!r:.120}"
        )
    return kinds.pop(), {name: pair[1] for name, pair in numbers.items() if pair is not None}


def facts_by_node(nodes: Sequence[Node]) -> dict[str, Facts]:
    """Return the facts of all nodes of a tree, by id; a node without its children has its own."""
    facts: dict[str, Facts] = {}
    for node in sorted(nodes, key=lambda node: node.layer):
        children = [facts.get(child) for child in node.children]
        below = [child for child in children if child is not None]
        is_whole = below and len(below) == len(children)
        facts[node.id] = _joined(below) if is_whole else own_facts(node)
    return facts


def common_readers(
    documents: Iterable[str], readers: Mapping[str, Sequence[str]]
) -> tuple[str, ...]:
    """Return who may read all of the documents, sorted; none where a document has no readers.

    Args:
        documents: ids of the documents under a node.
        readers: readers by document, of those that have some.
    """
    of_each = [readers.get(document, ()) for document in documents]
    bounded = [frozenset(names) for names in of_each if EVERYONE not in names]
    if bounded:
        return tuple(sorted(frozenset.intersection(*bounded)))
    return (EVERYONE,) if of_each else ()


def own_facts(node: Node) -> Facts:
    """Return the facts that a node shows without its leaves; those of a leaf are all it has."""
    folders = [list(_folders(node, document)) for document in node.documents]
    values = {
        key: frozenset(text for item in items(value) for text in texts(item))
        for key, value in node.metadata.items()
    }
    numbers: dict[str, set[float]] = {}
    for key, value in node.metadata.items():
        for kind, figure in filter(None, map(number, items(value))):
            numbers.setdefault(number_field(key, kind), set()).add(figure)
    shared = frozenset[str].intersection(*map(frozenset, folders)) if folders else frozenset[str]()
    places = {fact("document", document) for document in node.documents if len(node.documents) == 1}
    some = {fact("some folder", folder) for part in folders for folder in part}
    if not node.is_leaf or node.stands_for:
        some.add(fact("some", UNKNOWN))
    return Facts(
        places=frozenset(places | {fact("folder", folder) for folder in shared}),
        values=values,
        some=frozenset(some),
        numbers={name: frozenset(figures) for name, figures in numbers.items()},
    )


def _folders(node: Node, document: str) -> Iterable[str]:
    """Yield the folders above a document, from the folder of all down."""
    folder = str(node.metadata.get(FOLDER) or document.rpartition("/")[0])
    yield ""
    path = folder_of(folder)
    ends = (at + 1 for at, character in enumerate(path) if character == "/")
    yield from (path[:end] for end in ends)


def _joined(children: Sequence[Facts]) -> Facts:
    """Return the facts of a summary over these children."""
    keys = {key for child in children for key in child.values}
    differing = {
        fact("some", key)
        for key in keys
        if any(child.values.get(key) != children[0].values.get(key) for child in children)
    }
    return Facts(
        places=frozenset.intersection(*(child.places for child in children)),
        values=_shared([child.values for child in children]),
        some=frozenset(differing).union(*(child.some for child in children)),
        numbers={k: known for k, known in _shared([c.numbers for c in children]).items() if known},
    )


def _shared(parts: Sequence[Mapping[str, frozenset[Any]]]) -> dict[str, frozenset[Any]]:
    """Return the values that all parts have, by the keys that all have."""
    keys = (key for key in parts[0] if all(key in part for part in parts))
    return {key: frozenset.intersection(*(part[key] for part in parts)) for key in keys}
