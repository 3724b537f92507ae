"""Values of nodes that filters match, as hashes in the field ``facts`` of the payload.

A leaf has values of its document, of each folder above it, and of each item of its metadata. A
summary has the values that all its children have. For exclusions it also stores, as "some", the
union of its leaves' folders, and each metadata key whose values differ among them.

Readers follow the same rule, from the documents of a node (``common_readers``). They can change
while its content does not, so they are a separate field.
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
from raptor_core.identity import digest, to_nfc
from raptor_core.nodes import Node
from raptor_formats.base import MetadataScalar

UNKNOWN = "*"
"""Key of a node whose leaves are unknown, as in the corpus tree; every exclusion excludes it."""

_DATE = re.compile(r"\d{4}-\d\d-\d\d(?:[T ].+)?\Z")


@dataclass(frozen=True, slots=True)
class NodeFilterValues:
    """Filter values of one node.

    Attributes:
        place_hashes: hashes of the document and folders that contain every leaf below the node.
        metadata_texts: texts that every leaf has, by metadata key, normalized for filters.
        exclusion_hashes: hashes for exclusions; see the module.
        numbers: numbers and dates that every leaf has, by the field that ``number_field`` names.
    """

    place_hashes: frozenset[str]
    metadata_texts: Mapping[str, frozenset[str]]
    exclusion_hashes: frozenset[str]
    numbers: Mapping[str, frozenset[float]]

    def to_payload(self) -> dict[str, Any]:
        """Return the payload fields of the filter values."""
        keys = {hash_filter_value("key", key) for key in self.metadata_texts}
        values = {
            hash_filter_value("value", key, text)
            for key, known in self.metadata_texts.items()
            for text in known
        }
        numbers = {name: sorted(figures) for name, figures in sorted(self.numbers.items())}
        filter_values = {"facts": sorted(self.place_hashes | keys | values | self.exclusion_hashes)}
        return filter_values | ({"numbers": numbers} if numbers else {})


@lru_cache(maxsize=1 << 16)
def hash_filter_value(kind: str, *values: str) -> str:
    """Hash a filter value; equivalent Unicode forms give the same hash."""
    return digest("fact", kind, *map(to_nfc, values))


def matching_texts(value: MetadataScalar) -> tuple[str, ...]:
    """Return the texts that match a value: "true" for True, "2" and "2.0" for 2.0.

    Texts are compared, so 1.10 equals 1.1 only if the source format has numbers.
    """
    text = to_nfc(str(value))
    if text.lower() in {"true", "false"}:
        return (text.lower(),)
    if isinstance(value, float) and value.is_integer():
        return (text, str(int(value)))
    return (text,)


def to_items(value: Any) -> tuple[MetadataScalar, ...]:
    """Return the items of a list; a single value is its own only item."""
    return tuple(value) if isinstance(value, tuple | list) else (value,)


def normalize_folder(name: str) -> str:
    """Normalize a folder: with a slash at its end, "" for the root."""
    name = name.removeprefix("./").strip("/")
    return f"{name}/" if name not in ("", ".") else ""


def to_kind_and_number(value: MetadataScalar) -> tuple[str, float] | None:
    """Return "number" or "date" with its number (seconds since 1970 for dates); None for others."""
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
    """Return the payload field for the numbers, or the dates, of a key."""
    return hash_filter_value(kind, key)


def read_bounds(key: str, bounds: Mapping[str, Any]) -> tuple[str, dict[str, float]]:
    """Return the kind of a range, and its bounds as numbers.

    Raises:
        SettingsError: a bound is neither a number nor a date, or both kinds are mixed.
    """
    numbers = {
        name: to_kind_and_number(bound.isoformat() if isinstance(bound, date) else bound)
        for name, bound in bounds.items()
    }
    kinds = {pair[0] for pair in numbers.values() if pair is not None}
    if None in numbers.values() or len(kinds) != 1:
        raise SettingsError(
            f"where.metadata {key!r}: expected bounds that are all numbers, or all dates such as "
            f"2024-01-31, got {dict(bounds)!r:.120}"
        )
    return kinds.pop(), {name: pair[1] for name, pair in numbers.items() if pair is not None}


def filter_values_by_node(nodes: Sequence[Node]) -> dict[str, NodeFilterValues]:
    """Return the values of all nodes of a tree by id; a node without its children has its own."""
    filter_values: dict[str, NodeFilterValues] = {}
    for node in sorted(nodes, key=lambda node: node.layer):
        children = [filter_values.get(child) for child in node.children]
        below = [child for child in children if child is not None]
        is_whole = below and len(below) == len(children)
        filter_values[node.id] = (
            _merge_filter_values(below) if is_whole else own_filter_values(node)
        )
    return filter_values


def common_readers(
    documents: Iterable[str], readers: Mapping[str, Sequence[str]]
) -> tuple[str, ...]:
    """Return who may read all of the documents, sorted; nobody if one of them has no readers.

    Args:
        documents: ids of the documents below a node.
        readers: readers by document, for documents that have some.
    """
    of_each = [readers.get(document, ()) for document in documents]
    bounded = [frozenset(names) for names in of_each if EVERYONE not in names]
    if bounded:
        return tuple(sorted(frozenset.intersection(*bounded)))
    return (EVERYONE,) if of_each else ()


def own_filter_values(node: Node) -> NodeFilterValues:
    """Return the filter values that a node shows without its leaves; a leaf has no others."""
    folders = [list(_folders_above(node, document)) for document in node.documents]
    values = {
        key: frozenset(text for item in to_items(value) for text in matching_texts(item))
        for key, value in node.metadata.items()
    }
    numbers: dict[str, set[float]] = {}
    for key, value in node.metadata.items():
        for kind, figure in filter(None, map(to_kind_and_number, to_items(value))):
            numbers.setdefault(number_field(key, kind), set()).add(figure)
    shared = frozenset[str].intersection(*map(frozenset, folders)) if folders else frozenset[str]()
    places = {
        hash_filter_value("document", document)
        for document in node.documents
        if len(node.documents) == 1
    }
    some = {hash_filter_value("some folder", folder) for part in folders for folder in part}
    if not node.is_leaf or node.copied_node_id:
        some.add(hash_filter_value("some", UNKNOWN))
    return NodeFilterValues(
        place_hashes=frozenset(places | {hash_filter_value("folder", folder) for folder in shared}),
        metadata_texts=values,
        exclusion_hashes=frozenset(some),
        numbers={name: frozenset(figures) for name, figures in numbers.items()},
    )


def _folders_above(node: Node, document: str) -> Iterable[str]:
    """Yield the folders above a document, the root first."""
    folder = str(node.metadata.get(FOLDER) or document.rpartition("/")[0])
    yield ""
    path = normalize_folder(folder)
    ends = (at + 1 for at, character in enumerate(path) if character == "/")
    yield from (path[:end] for end in ends)


def _merge_filter_values(children: Sequence[NodeFilterValues]) -> NodeFilterValues:
    """Merge the filter values of the children of a summary."""
    keys = {key for child in children for key in child.metadata_texts}
    differing = {
        hash_filter_value("some", key)
        for key in keys
        if any(
            child.metadata_texts.get(key) != children[0].metadata_texts.get(key)
            for child in children
        )
    }
    return NodeFilterValues(
        place_hashes=frozenset.intersection(*(child.place_hashes for child in children)),
        metadata_texts=_shared_values([child.metadata_texts for child in children]),
        exclusion_hashes=frozenset(differing).union(
            *(child.exclusion_hashes for child in children)
        ),
        numbers={
            k: known for k, known in _shared_values([c.numbers for c in children]).items() if known
        },
    )


def _shared_values(parts: Sequence[Mapping[str, frozenset[Any]]]) -> dict[str, frozenset[Any]]:
    """Return the values that all parts share, for the keys that all share."""
    keys = (key for key in parts[0] if all(key in part for part in parts))
    return {key: frozenset.intersection(*(part[key] for part in parts)) for key in keys}
