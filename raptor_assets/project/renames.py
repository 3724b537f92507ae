"""Documents that stand under another id than before, recognised by their content."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Callable, Collection, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field

from raptor_core.documents import Document, Entry
from raptor_core.errors import DamagedTableError

Grouped = Mapping[str, Mapping[str, Sequence[Document | Entry]]]
"""Documents by partition and tree."""

Known = Callable[[str], Iterable[Document]]
"""The documents that a partition was last built from."""


@dataclass(frozen=True, slots=True)
class Renames:
    """Old document ids by new ones; and of a partition that documents left, who took them."""

    documents: Mapping[str, str] = field(default_factory=dict)
    successors: Mapping[str, tuple[str, ...]] = field(default_factory=dict)


def find_renames(
    partitions: Grouped,
    to_build: Collection[str],
    left: Collection[str],
    told: Collection[str],
    known: Known,
) -> Renames:
    """Pair documents that are gone with new ones of equal content, in the order of their ids.

    Args:
        partitions: what the source holds.
        to_build: partitions that may have taken documents.
        left: partitions that may have lost some.
        told: partitions of ``to_build`` whose known documents are the published ones.
        known: reads what a partition was built from; asked only of ``left``.
    """
    if not to_build or not left:
        return Renames()
    before = {name: _documents(known, name) for name in sorted(left)}
    ids = {document.id for documents in before.values() for document in documents}
    present = {document.id for _, document in _all(partitions, partitions) if document.id in ids}
    gone: defaultdict[str, list[tuple[str, str]]] = defaultdict(list)
    for name, documents in before.items():
        for document in documents:
            if document.id not in present:
                gone[document.content_hash].append((document.id, name))
    if not gone:
        return Renames()
    for places in gone.values():
        places.sort(reverse=True)
    published = {document.id for name in told for document in before.get(name, ())}
    renamed: dict[str, str] = {}
    successors: defaultdict[str, set[str]] = defaultdict(set)
    for name, new in _all(partitions, to_build):
        candidates = [] if new.id in published else gone.get(new.content_hash, [])
        if not candidates:
            continue
        renamed[new.id], place = candidates.pop()
        if place != name:
            successors[place].add(name)
    return Renames(renamed, {name: tuple(sorted(takers)) for name, takers in successors.items()})


def _documents(known: Known, partition: str) -> list[Document]:
    """What a partition was built from; nothing where the table that told it is damaged."""
    try:
        return list(known(partition))
    except DamagedTableError:
        return []


def _all(partitions: Grouped, names: Iterable[str]) -> Iterator[tuple[str, Document | Entry]]:
    """Documents of these partitions, with their partition."""
    for name in sorted(names):
        for documents in partitions[name].values():
            for document in documents:
                yield name, document
