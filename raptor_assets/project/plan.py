"""Decision on what is built and dropped, by the source, the records and the vector store.

The sensor and the command both use ``find_changes``. Its steps are functions of this module, each
over the results of the last ones. ``decide_removals`` judges documents that are missing.
"""

from collections import defaultdict
from collections.abc import Callable, Collection, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field

from raptor_assets import names
from raptor_assets.project.record_files import Records
from raptor_assets.versions import (
    REFUSED,
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
    Removals,
    decide_removals,
    document_partition,
)
from raptor_core.errors import DamagedTableError
from raptor_core.identity import digest
from raptor_core.settings import GroupingSettings, Settings

_NAMED = 10  # partitions that an explanation names
Grouped = Mapping[str, Mapping[str, Sequence[Document | Entry]]]  # documents by partition and tree
Known = Callable[[str], Iterable[Document]]
"""Function that reads the documents that a partition was last built from."""

Previous = Mapping[str, Sequence[Document] | None]
"""Documents that partitions were last built from; None for a damaged table."""

StoreState = tuple[Mapping[str, tuple[str, ...]], ...]
"""For each collection the marks (``published_mark``) of complete trees, by partition."""


@dataclass(frozen=True, slots=True)
class Renames:
    """Document ids before a rename by the ids after it, and partitions by the one they left."""

    documents: Mapping[str, str] = field(default_factory=dict)
    successors: Mapping[str, tuple[str, ...]] = field(default_factory=dict)


def find_renames(
    partitions: Grouped,
    to_build: Collection[str],
    shrunken: Collection[str],
    published: Collection[str],
    known: Known,
    present: Collection[str],
) -> Renames:
    """Pair missing documents with new ones of equal content, in the order of their ids.

    Partitions ``to_build`` may have new documents, ``shrunken`` ones have lost some. ``published``
    are those ``to_build`` whose known documents are the published ones. ``present`` are the known
    documents that the source still has.
    """
    if not to_build or not shrunken:
        return Renames()
    previous = {name: _documents(known, name) for name in sorted(shrunken)}
    missing = _missing_by_content(previous, present)
    if not missing:
        return Renames()
    unmoved = {document.id for name in published for document in previous.get(name, ())}
    renamed: dict[str, str] = {}
    successors: defaultdict[str, set[str]] = defaultdict(set)
    for name, document in _all(partitions, to_build):
        candidates = [] if document.id in unmoved else missing.get(document.content_hash, [])
        if candidates:
            renamed[document.id], place = candidates.pop()
            if place != name:
                successors[place].add(name)
    return Renames(renamed, {name: tuple(sorted(takers)) for name, takers in successors.items()})


def _missing_by_content(
    previous: Mapping[str, Sequence[Document]], present: Collection[str]
) -> dict[str, list[tuple[str, str]]]:
    """Return id and partition of each missing document by content, the first id last."""
    missing: defaultdict[str, list[tuple[str, str]]] = defaultdict(list)
    for name, documents in previous.items():
        for document in documents:
            if document.id not in present:
                missing[document.content_hash].append((document.id, name))
    return {content: sorted(places, reverse=True) for content, places in missing.items()}


def _documents(known: Known, partition: str) -> list[Document]:
    """Read the documents that a partition was built from, none from a damaged table."""
    try:
        return list(known(partition))
    except DamagedTableError:
        return []


def _all(partitions: Grouped, names: Iterable[str]) -> Iterator[tuple[str, Document | Entry]]:
    for name in sorted(names):
        for documents in partitions[name].values():
            for document in documents:
                yield name, document


@dataclass(frozen=True, slots=True)
class Changes:
    """Partitions by what happens to them, sorted; ``find_changes`` has the table of states.

    Attributes:
        tokens: differ whenever a partition of ``new``, ``changed`` or ``removed`` has to be built
            or dropped again, whatever its content was earlier.
        doubt: why a person has to confirm a removal, else "".
        renamed: previous ids of renamed documents, by new id.
        successors: partitions to build that took a renamed document, by the partition it left.
        unsettled: files that are being written.
        unreported: partitions of ``changed`` that lack only their report.
        lost: partitions of ``changed`` that the records have as published, but not the store.
        wiped: assets without their records, as after `dagster asset wipe`, by partition of
            ``changed`` that the store has, and the remaining records as up to date.
        refused: partitions of ``unchanged`` with summaries that the model refused. `raptor build`
            asks it again; the sensor does not, since it would ask without end.
    """

    new: tuple[str, ...]
    changed: tuple[str, ...]
    unchanged: tuple[str, ...]
    removed: tuple[str, ...]
    withheld: tuple[str, ...]
    tokens: Mapping[str, str]
    renamed: Mapping[str, str] = field(default_factory=dict)
    successors: Mapping[str, tuple[str, ...]] = field(default_factory=dict)
    unsettled: tuple[str, ...] = ()
    unreported: frozenset[str] = frozenset()
    lost: frozenset[str] = frozenset()
    wiped: Mapping[str, Sequence[str]] = field(default_factory=dict)
    refused: frozenset[str] = frozenset()
    orphaned: tuple[str, ...] = ()
    unconfirmed: tuple[str, ...] = ()
    doubt: str = ""

    @property
    def to_build(self) -> tuple[str, ...]:
        """New and changed partitions, sorted."""
        return tuple(sorted((*self.new, *self.changed)))

    @property
    def to_build_now(self) -> tuple[str, ...]:
        """Partitions that a person's build makes, sorted: also those with refused summaries."""
        return tuple(sorted({*self.to_build, *self.refused}))

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
        waiting = {*unfinished, *self.withheld, *self.unconfirmed}
        return tuple(
            name for name in self.removed if waiting.isdisjoint(self.successors.get(name, ()))
        )

    def in_order(self, partitions: Iterable[str]) -> list[str]:
        """Sort partitions, last those that documents leave, whose texts are then still kept."""
        return sorted(partitions, key=lambda name: (name in self.successors, name))


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
    """Decide what happens to each partition; the first row that fits counts.

    | partition | in ``Changes`` | action |
    | --- | --- | --- |
    | in the source, published from it, in the store, with its report | unchanged | none |
    | a document of it is unknown, or is being written | withheld | kept as it is |
    | lost documents, and a person has to confirm that | unconfirmed | nothing is built or dropped |
    | in the source, but not in the records | new | build |
    | in the source, but not as published, in the store, or with its report | changed | build |
    | in the source, and the records of a layer were wiped | changed | build |
    | not in the source, but in the records or in a table of this home | removed | drop |
    | not in the source, only in the store: published by another home | orphaned | kept as it is |

    While a removal is unconfirmed nothing at all is built: new trees would count as present, and
    the next look would let the removal pass.

    Args:
        build: code version of the trees to publish, see ``Resources.build_version``.
        known: reads the documents of a partition, to tell renamed, missing and unknown ones apart.
        store_state: contents of the vector store; None trusts the records.
        curation: decisions of people, an input like the documents.
        is_confirmed: a person confirmed that documents are gone; see ``decide_removals``.
    """
    source = read_source(inventory, settings.grouping, build, curation)
    recorded = read_recorded(records, settings)
    states = compare(source, recorded, build, store_state, known)
    previous = read_previous(known, states.absent, states.read_again)
    present = _present(inventory, previous)
    renames = find_renames(
        source.partitions,
        states.stale,
        previous,
        _as_published(states.read_again, recorded),
        lambda name: previous[name] or (),
        present,
    )
    removals = decide_removals(
        previous,
        present,
        inventory.skipped,
        settings=settings.source,
        grouping=settings.grouping,
        explained={*renames.documents.values(), *(curation.documents if curation else ())},
        empty_sources=inventory.empty_sources,
        n_others=_count_others(source, {*previous, *states.unpublished}),
        is_confirmed=is_confirmed,
    )
    return decide_changes(source, recorded, states, renames, removals)


def _as_published(partitions: Iterable[str], recorded: "RecordedState") -> set[str]:
    """Return the partitions whose snapshot is the published one; that of a failed run differs."""
    snapshots, published = recorded.snapshots, recorded.published
    return {n for n in partitions if published.get(n, "").startswith(snapshots.get(n, "")[:16])}


@dataclass(frozen=True, slots=True)
class SourceState:
    """Partitions of the source, with the versions of their documents.

    ``expected`` are beginnings of the versions that their publication will have. Documents of
    ``writing`` partitions are being written.
    """

    inventory: Inventory
    partitions: Partitions[Entry]
    versions: Mapping[str, str]
    expected: Mapping[str, str]
    writing: Collection[str]


def read_source(
    inventory: Inventory, grouping: GroupingSettings, build: str, curation: Curation | None
) -> SourceState:
    """Group the documents of the source and compute their versions."""
    partitions = inventory.partitions(grouping)
    versions = {name: documents_version(trees, curation) for name, trees in partitions.items()}
    expected = {name: source_version(version, build) for name, version in versions.items()}
    written = {document_id for ids in inventory.unsettled.values() for document_id in ids}
    writing = {document_partition(document_id, grouping) for document_id in written}
    return SourceState(inventory, partitions, versions, expected, writing)


@dataclass(frozen=True, slots=True)
class RecordedState:
    """Partitions in Dagster's records: versions of published trees and of their documents.

    ``numbers`` and ``latest`` are those of the trees' materializations, read first and last;
    ``reported`` are those of the reports. ``wiped`` are the assets that lack their records.
    """

    existing: Collection[str]
    published: Mapping[str, str]
    snapshots: Mapping[str, str]
    numbers: Mapping[str, int]
    reported: Mapping[str, int]
    latest: Mapping[str, int]
    wiped: Mapping[str, Sequence[str]] = field(default_factory=dict)


def read_recorded(records: Records, settings: Settings) -> RecordedState:
    """Read the records in an order that is safe while runs publish.

    A new tree keeps its old number and token, and no report seems newer than its tree.
    """
    numbers = records.latest(names.TREE)
    published = records.versions(names.TREE)
    snapshots = records.versions(names.DOCUMENTS)
    reported = records.latest(names.REPORT)
    latest = records.latest(names.TREE)
    max_layers = settings.tree.max_layers
    recorded = {asset: records.latest(asset).keys() for asset in names.chain(max_layers)}
    existing = set(records.partitions())
    missing = {name: find_wiped(name, recorded, max_layers) for name in existing}
    wiped = {name: assets for name, assets in missing.items() if assets}
    return RecordedState(existing, published, snapshots, numbers, reported, latest, wiped)


def find_wiped(
    partition: str, recorded: Mapping[str, Collection[str]], max_layers: int
) -> list[str]:
    """Return the assets that a published partition must have and that no record has.

    ``recorded`` are the partitions of each asset in the order of the chain. A layer exists where
    anything of it, or of the clusters over it, is recorded; each layer has clusters over it.
    """
    layers = (
        layer if asset != names.clusters(layer) else layer - 1
        for asset, partitions in recorded.items()
        if partition in partitions and (layer := names.layer_of(asset))
    )
    top = max(layers, default=0)
    expected = [*names.chain(top), *([names.clusters(top + 1)] if top < max_layers else [])]
    return [asset for asset in expected if partition not in recorded[asset]]


@dataclass(frozen=True, slots=True)
class PartitionStates:
    """Sets of partitions by how source, records and store agree.

    Attributes:
        recorded: published as expected, by the records.
        stored: of these, those that the store has as recorded.
        current: of these, those whose report is newer than their tree, with all records.
        wiped: of those that lack records, the ones that are stored or once had a tree.
        stale: in the source and not current.
        read_again: stale partitions whose documents differ from the recorded ones.
        absent: recorded or built in this home, and not in the source.
        orphaned: in the store only.
        unpublished: in the source only.
    """

    recorded: set[str]
    stored: set[str]
    current: set[str]
    wiped: set[str]
    stale: set[str]
    read_again: set[str]
    absent: set[str]
    orphaned: set[str]
    unpublished: set[str]


def compare(
    source: SourceState,
    recorded: RecordedState,
    build: str,
    store_state: StoreState | None,
    known: Known,
) -> PartitionStates:
    """Compare source, records and store; partitions outside of the records have tables or not."""
    expected, existing = source.expected, set(recorded.existing)
    as_expected = {
        name
        for name in existing & expected.keys()
        if recorded.published.get(name, "").startswith(f"{expected[name]}-")
        and recorded.snapshots.get(name, source.versions[name]) == source.versions[name]
    }
    stored = {
        name
        for name in as_expected
        if _is_stored(name, recorded.published[name], source.versions[name], build, store_state)
    }
    current = {name for name in stored if recorded.reported.get(name, 0) > recorded.latest[name]}
    current -= recorded.wiped.keys()
    stale = expected.keys() - current
    in_store = {name for marks in store_state or () for name in marks}
    had_tree = (in_store | recorded.reported.keys()) - recorded.published.keys()
    unrecorded = in_store - existing - expected.keys()
    built_here = {name for name in unrecorded if _documents(known, name)}
    return PartitionStates(
        recorded=as_expected,
        stored=stored,
        current=current,
        wiped=(stored | had_tree) & recorded.wiped.keys(),
        stale=stale,
        read_again={
            name
            for name in stale & existing
            if recorded.snapshots.get(name) != source.versions[name]
        },
        absent=built_here | (existing - expected.keys()),
        orphaned=unrecorded - built_here,
        unpublished=expected.keys() - existing - in_store,
    )


def _is_stored(
    name: str, published: str, version: str, build: str, store_state: StoreState | None
) -> bool:
    """Return whether a collection has a partition's trees as recorded; None trusts the records."""
    return store_state is None or any(
        published.startswith(published_version(version, build, marks.get(name, ())))
        for marks in store_state
    )


def read_previous(
    known: Known, absent: Iterable[str], read_again: Iterable[str]
) -> dict[str, Sequence[Document] | None]:
    """Return the documents of partitions that may have lost some, for ``decide_removals``.

    A damaged table of a partition in the source is left out, since it is written again.
    """
    previous: dict[str, Sequence[Document] | None] = {}
    for name in sorted(absent):
        try:
            previous[name] = list(known(name))
        except DamagedTableError:
            previous[name] = None
    for name in sorted(read_again):
        if documents := _documents(known, name):
            previous[name] = documents
    return previous


def _present(inventory: Inventory, previous: Previous) -> set[str]:
    ids = {document.id for documents in previous.values() for document in documents or ()}
    return ids.intersection(inventory.documents.ids()) if ids else ids


def _count_others(source: SourceState, excluded: Collection[str]) -> int:
    partitions = (source.partitions[name] for name in source.partitions.keys() & excluded)
    n_excluded = sum(len(members) for trees in partitions for members in trees.values())
    return len(source.inventory.documents) - n_excluded


def decide_changes(
    source: SourceState,
    recorded: RecordedState,
    states: PartitionStates,
    renames: Renames,
    removals: Removals,
) -> Changes:
    """Sort the partitions into ``Changes``, by the table of ``find_changes``."""
    existing, expected = set(recorded.existing), source.expected
    writing = (set(source.writing) & (existing | expected.keys())) - states.current
    withheld = removals.unknown.keys() | writing
    kept = withheld | removals.unconfirmed
    removed, to_build = states.absent - kept, states.stale - kept
    # The token of a missing report stays the same, so that a failed one is retried once.
    reports = {name: f"report of {recorded.published[name]}" for name in states.stored}
    previous = {**recorded.numbers, **reports}
    tokens = {
        name: digest(expected.get(name, "drop"), str(previous.get(name)))[:16]
        for name in to_build | removed
    }
    wiped = {name: recorded.wiped[name] for name in sorted(to_build & states.wiped)}
    rewritten = {name for name, assets in wiped.items() if assets != [names.REPORT]}
    return Changes(
        new=tuple(sorted(to_build - existing)),
        changed=tuple(sorted(to_build & existing)),
        unchanged=tuple(sorted(states.current)),
        removed=tuple(sorted(removed)),
        withheld=tuple(sorted(withheld)),
        tokens=tokens,
        renamed=renames.documents,
        successors=renames.successors,
        unsettled=tuple(sorted(source.inventory.unsettled)),
        unreported=frozenset(to_build & states.stored - rewritten),
        wiped=wiped,
        lost=frozenset(to_build & states.recorded - states.stored),
        refused=frozenset(n for n in states.current if recorded.published[n].endswith(REFUSED)),
        orphaned=tuple(sorted(states.orphaned)),
        unconfirmed=tuple(sorted(removals.unconfirmed - withheld)),
        doubt=removals.reason,
    )
