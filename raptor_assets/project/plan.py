"""What has to be built and dropped: the source and the settings against what is recorded.

The sensor and the command decide by one function, ``find_changes``. Documents that stand under
another id than before are recognised by their content.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Callable, Collection, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field

from raptor_assets import names
from raptor_assets.project.record_files import Records
from raptor_assets.versions import (
    documents_version,
    published_version,
    source_version,
)
from raptor_core.curation import Curation
from raptor_core.documents import (
    Document,
    Entry,
    Inventory,
    Partitions,
    decide_removals,
    document_partition,
)
from raptor_core.errors import DamagedTableError
from raptor_core.identity import digest
from raptor_core.settings import Settings

_NAMED = 10
"""Partitions that an explanation names."""

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


StoreState = tuple[Mapping[str, tuple[str, ...]], ...]
"""For each collection the marks (``published_mark``) of whole trees, by partition."""


@dataclass(frozen=True, slots=True)
class Changes:
    """Partition keys by what has to happen to them, each sorted.

    Attributes:
        new: in the source, and no partition yet.
        changed: their documents or the settings differ from what is published, or nothing is.
        unchanged: published from these documents with these settings.
        removed: partitions whose documents are gone; also those that are in no record any more,
            where a table shows that they were built here.
        held: partitions of documents that are unknown, or being written; they stay as they are.
        unconfirmed: partitions that lost documents, where so many are gone that a person has to
            confirm it. Until then nothing is built or dropped: what is built would be counted
            among the documents that are there, and the next look would let the removal pass.
        doubt: why a person has to; "" if nobody has to.
        tokens: of ``new``, ``changed`` and ``removed``: differs whenever the same partition has
            to be built or dropped again, whatever its content was before.
        renamed: ids of documents whose content stood under another id, now gone, by new id.
        successors: of a partition that such a document left: the ones to build that took it.
        unsettled: files that are being written.
        unreported: of ``changed``: published as they should be, without their report.
        lost: of ``changed``: published as they should be by the record, and not in the store.
        orphaned: published by another home, or by one that is lost; they stay as they are.
    """

    new: tuple[str, ...]
    changed: tuple[str, ...]
    unchanged: tuple[str, ...]
    removed: tuple[str, ...]
    held: tuple[str, ...]
    tokens: Mapping[str, str]
    renamed: Mapping[str, str] = field(default_factory=dict)
    successors: Mapping[str, tuple[str, ...]] = field(default_factory=dict)
    unsettled: tuple[str, ...] = ()
    unreported: frozenset[str] = frozenset()
    lost: frozenset[str] = frozenset()
    orphaned: tuple[str, ...] = ()
    unconfirmed: tuple[str, ...] = ()
    doubt: str = ""

    @property
    def to_build(self) -> tuple[str, ...]:
        """New and changed partitions, sorted."""
        return tuple(sorted((*self.new, *self.changed)))

    def explain_doubt(self) -> str:
        """Return why nothing is built or dropped, and how a person confirms the removal."""
        return (
            f"{self.doubt}. Nothing is built or removed; concerned are "
            f"{names.listed(self.unconfirmed, _NAMED)}. Bring the documents back, or confirm by "
            "`raptor build --confirm-removal`"
        )

    def droppable(self, unfinished: Collection[str]) -> tuple[str, ...]:
        """Return the removed partitions whose documents did not move to an unfinished one.

        Until the new place is published, the old one serves readers and spares model calls.
        """
        waiting = {*unfinished, *self.held, *self.unconfirmed}
        return tuple(
            name for name in self.removed if waiting.isdisjoint(self.successors.get(name, ()))
        )

    def in_order(self, due: Iterable[str]) -> list[str]:
        """Sorted, those last that documents leave: then what they paid for is still there."""
        return sorted(due, key=lambda name: (name in self.successors, name))


def find_changes(
    records: Records,
    settings: Settings,
    build: str,
    inventory: Inventory,
    known: Known = lambda _partition: (),
    store_state: StoreState | None = None,
    curation: Curation | None = None,
    *,
    is_confirmed: bool = False,
) -> Changes:
    """Compare what the source holds with what is recorded.

    Args:
        records: what is recorded.
        settings: of the corpus.
        build: code version of the trees to be published, see ``Resources.build_version``.
        inventory: what the source holds.
        known: gives the documents of a partition, by which those that are gone, unknown and
            renamed are told apart.
        store_state: what the vector store holds: what it lost counts as changed. None trusts the
            record.
        curation: what people decided: an input as the documents are.
        is_confirmed: a person confirmed that documents are gone; see ``decide_removals``.
    """
    grouping = settings.grouping
    partitions = inventory.partitions(grouping)
    versions = {name: documents_version(trees, curation) for name, trees in partitions.items()}
    written = {document_id for ids in inventory.unsettled.values() for document_id in ids}
    moving = {document_partition(document_id, grouping) for document_id in written}
    wanted = {name: source_version(version, build) for name, version in versions.items()}
    # Trees are published meanwhile: one told as old has its old number, so the token that it was
    # asked for by; and a report is never newer than its tree.
    numbers = records.latest(names.TREE)
    published = records.versions(names.TREE)
    snapshots = records.versions(names.DOCUMENTS)
    reported = records.latest(names.REPORT)
    latest = records.latest(names.TREE)
    existing = set(records.partitions())
    as_wanted = {n for n in existing if published.get(n, "").startswith(f"{wanted.get(n)}-")}
    recorded = {n for n in as_wanted if snapshots.get(n) == versions[n]}
    in_step = _in_store(recorded, published, versions, build, store_state)
    # A run that ended between a tree and its report left a page of what was published before.
    current = {name for name in in_step if reported.get(name, 0) > latest[name]}
    unrecorded, orphaned = _unrecorded(existing | wanted.keys(), store_state, known)
    absent = unrecorded | (existing - wanted.keys())
    stale = wanted.keys() - current
    read_anew = {name for name in stale & existing if snapshots.get(name) != versions[name]}
    previous = _previous(known, absent, read_anew)
    unpublished = wanted.keys() - existing - _stored(store_state)
    # A snapshot that a failed run wrote does not tell what is published.
    told = {n for n in read_anew if published.get(n, "").startswith(snapshots.get(n, "")[:16])}
    renames = find_renames(partitions, stale, previous, told, lambda n: previous[n] or ())
    removals = decide_removals(
        previous,
        _present(inventory, previous),
        inventory.skipped,
        settings=settings.source,
        grouping=grouping,
        explained={*renames.documents.values(), *(curation.documents if curation else ())},
        empty_sources=inventory.empty_sources,
        n_others=_count_others(inventory, partitions, {*previous, *unpublished}),
        is_confirmed=is_confirmed,
    )
    held = removals.unknown.keys() | (moving & (existing | wanted.keys())) - current
    kept = held | removals.unconfirmed
    removed, to_build = absent - kept, stale - kept
    # The same each time for a report alone, so that one that fails is tried once more.
    was = {**numbers, **{name: f"report of {published[name]}" for name in in_step}}
    return Changes(
        new=tuple(sorted(to_build - existing)),
        changed=tuple(sorted(to_build & existing)),
        unchanged=tuple(sorted(current)),
        removed=tuple(sorted(removed)),
        held=tuple(sorted(held)),
        tokens={n: digest(wanted.get(n, "drop"), str(was.get(n)))[:16] for n in to_build | removed},
        renamed=renames.documents,
        successors=renames.successors,
        unsettled=tuple(sorted(inventory.unsettled)),
        unreported=frozenset(to_build & in_step),
        lost=frozenset(to_build & recorded - in_step),
        orphaned=tuple(sorted(orphaned)),
        unconfirmed=tuple(sorted(removals.unconfirmed - held)),
        doubt=removals.reason,
    )


def _previous(
    known: Known, absent: Iterable[str], read_anew: Iterable[str]
) -> dict[str, Sequence[Document] | None]:
    """Return the documents of partitions that may have lost some, as ``decide_removals`` asks.

    A damaged table of a partition that is in the source is left out: it is written again.
    """
    previous: dict[str, Sequence[Document] | None] = {}
    for name in sorted(absent):
        try:
            previous[name] = list(known(name))
        except DamagedTableError:
            previous[name] = None
    for name in sorted(read_anew):
        if documents := _documents(known, name):
            previous[name] = documents
    return previous


def _present(inventory: Inventory, previous: Mapping[str, Sequence[Document] | None]) -> set[str]:
    """Return the ids of the previous documents that are in the source."""
    ids = {document.id for documents in previous.values() for document in documents or ()}
    return ids.intersection(inventory.documents.ids()) if ids else ids


def _count_others(
    inventory: Inventory, partitions: Partitions[Entry], excluded: Collection[str]
) -> int:
    """Return the number of documents in all partitions of the source but these."""
    names = partitions.keys() & excluded
    n_excluded = sum(len(members) for name in names for members in partitions[name].values())
    return len(inventory.documents) - n_excluded


def _unrecorded(
    recorded: Collection[str], store_state: StoreState | None, known: Known
) -> tuple[set[str], set[str]]:
    """Other partitions that are published: those that a table shows to be built here, and the rest.

    Records of Dagster are lost more easily than tables.
    """
    stored = _stored(store_state).difference(recorded)
    ours = {name for name in stored if _documents(known, name)}
    return ours, stored - ours


def _stored(store_state: StoreState | None) -> set[str]:
    """Return the partitions of which the vector store has trees."""
    return {name for marks in store_state or () for name in marks}


def _in_store(
    recorded: Collection[str],
    published: Mapping[str, str],
    versions: Mapping[str, str],
    build: str,
    store_state: StoreState | None,
) -> set[str]:
    """Those of the recorded partitions that the vector store holds as they are recorded."""
    return {
        name
        for name in recorded
        if store_state is None
        or any(
            published[name].startswith(published_version(versions[name], build, held.get(name, ())))
            for held in store_state
        )
    }
