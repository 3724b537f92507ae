"""Decision on what is built and dropped: the source against the manifests in the vector store.

Sensor, jobs and command use ``find_changes``. Dagster's log says what happened; nothing here reads
it. ``decide_removals`` judges documents that are missing.
"""

from collections import defaultdict
from collections.abc import Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace

from raptor_assets.assets import names
from raptor_assets.assets.versions import TreeVersion, documents_version
from raptor_assets.home.access import CorpusAccess
from raptor_assets.home.published import Previous, Published, documents_by_tree, holds_in_force
from raptor_assets.home.versions import trees_to_forget
from raptor_core.curation import Curation
from raptor_core.documents import (
    Document,
    Entry,
    Inventory,
    decide_removals,
    partition_key,
)
from raptor_core.settings import Settings

_NAMED = 10  # partitions that an explanation names


@dataclass(frozen=True, slots=True)
class Renames:
    """Document ids before a rename by the ids after it, and partitions by the one they left."""

    documents: Mapping[str, str] = field(default_factory=dict)
    successors: Mapping[str, tuple[str, ...]] = field(default_factory=dict)


def find_renames(
    partitions: Mapping[str, Mapping[str, Sequence[Document | Entry]]],
    to_build: Collection[str],
    previous: Previous,
    present: Collection[str],
) -> Renames:
    """Pair missing documents with new ones of equal content, in the order of their ids.

    A partition also follows another one that takes a document of it with its id, as after a change
    of its readers or of the grouping.

    Args:
        partitions: documents of the source by partition and tree.
        to_build: partitions that may have new documents.
        previous: published documents of partitions that may have lost some.
        present: ids of published documents that the source still has.
    """
    published = {document.id for documents in previous.values() for document in documents}
    missing: defaultdict[str, list[tuple[str, str]]] = defaultdict(list)
    for partition, documents in previous.items():
        for document in documents:
            if document.id not in present:
                missing[document.content_hash].append((document.id, partition))
    for places in missing.values():
        places.sort(reverse=True)
    renamed: dict[str, str] = {}
    successors: defaultdict[str, set[str]] = defaultdict(set)
    owners = {document.id: name for name, documents in previous.items() for document in documents}
    for partition in sorted(to_build) if owners else ():
        for entry in (d for members in partitions[partition].values() for d in members):
            if (owner := owners.get(entry.id, partition)) != partition:
                successors[owner].add(partition)
            candidates = missing.get(entry.content_hash)
            if candidates and entry.id not in published:
                renamed[entry.id], place = candidates.pop()
                if place != partition:
                    successors[place].add(partition)
    return Renames(renamed, {name: tuple(sorted(takers)) for name, takers in successors.items()})


@dataclass(frozen=True, slots=True)
class Changes:
    """Partitions by what happens to them, sorted; ``find_changes`` has the table of states.

    Attributes:
        doubt: why a person has to confirm a removal, else "".
        renamed: previous ids of renamed documents, by new id.
        successors: partitions to build that took a renamed document, by the partition it left.
        waiting: partitions whose build waits for approval.
        holds: why trees stay at an earlier build, by name: a person set them back.
        to_forget: held trees of which another build has a document that is gone.
        refused: partitions of ``unchanged`` with summaries that the model refused. `raptor build`
            asks it again; the sensor does not, since it would ask without end.
    """

    new: tuple[str, ...] = ()
    changed: tuple[str, ...] = ()
    unchanged: tuple[str, ...] = ()
    removed: tuple[str, ...] = ()
    withheld: tuple[str, ...] = ()
    renamed: Mapping[str, str] = field(default_factory=dict)
    successors: Mapping[str, tuple[str, ...]] = field(default_factory=dict)
    refused: frozenset[str] = frozenset()
    waiting: tuple[str, ...] = ()
    holds: Mapping[str, str] = field(default_factory=dict)
    to_forget: tuple[str, ...] = ()
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

    @property
    def buildable(self) -> set[str]:
        """Partitions of the source that a person may name for a build."""
        return {*self.to_build, *self.unchanged, *self.waiting}

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


def changes_of(
    access: CorpusAccess,
    begun: Collection[str] = (),
    inventory: Inventory | None = None,
    *,
    is_confirmed: bool = False,
) -> Changes:
    """Return the partitions of a corpus to build and to drop; see ``find_changes``.

    Raises:
        StoreMismatchError: the store was made for another embedder.
    """
    access.store.check_embedder()
    inventory = inventory or access.source.inventory()
    changes = find_changes(
        access.published(),
        access.settings,
        access.build_version,
        inventory,
        access.curation(),
        begun,
        is_confirmed=is_confirmed or access.source.is_confirmed,
    )
    return replace(changes, to_forget=trees_to_forget(access, changes.holds, inventory))


def find_changes(
    published: Published,
    settings: Settings,
    build: str,
    inventory: Inventory,
    curation: Curation | None = None,
    begun: Collection[str] = (),
    *,
    is_confirmed: bool = False,
) -> Changes:
    """Decide what happens to each partition; the first row that fits counts.

    | partition | in ``Changes`` | action |
    | --- | --- | --- |
    | in the source, and all its trees were published from it | unchanged | none |
    | its trees are held, and no document of theirs is gone | none, ``holds`` has the trees | none |
    | a document of it is unknown | withheld | kept as it is |
    | lost documents, and a person has to confirm that | unconfirmed | nothing is built or dropped |
    | in the source, and a build from it waits for approval | waiting | none |
    | in the source, and not published | new | build |
    | in the source, and published from other documents, decisions or settings | changed | build |
    | published from the source, and a build from other documents waits | changed | build |
    | not in the source, and published by a build, or begun | removed | drop |
    | not in the source, and published by hand or by an import | none | kept as it is |

    While a removal is unconfirmed nothing at all is built: new trees would count as present, and
    the next look would let the removal pass.

    Args:
        build: code version of the trees to publish, see ``versions.build_version``.
        curation: decisions of people, an input like the documents.
        begun: partitions that a build has begun, published or not.
        is_confirmed: a person confirmed that documents are gone; see ``decide_removals``.
    """
    grouping = settings.grouping
    source, holds = inventory.partitions(grouping), {}
    if published.holds:
        holds = holds_in_force(published.holds, documents_by_tree(source))
        source, published = inventory.partitions(grouping, holds), published.without(holds)
        begun = set(begun) - {partition_key(tree, grouping) for tree in holds}
    versions = {
        name: TreeVersion.of(name, documents_version(trees, curation), build)
        for name, trees in source.items()
    }
    current = {
        name
        for name, version in versions.items()
        if published.has_version(name, source[name], version)
    }
    inputs = published.waiting(source)
    current -= inputs.keys()  # what waits may have documents that are gone
    stale = source.keys() - current
    needs_approval = settings.runs.publish == "when_approved"
    waiting = {n for n in inputs if needs_approval and inputs[n] == versions[n].text}
    stored = published.partitions()
    absent = (stored | set(begun)) - source.keys()
    shrunken = {
        name
        for name in stale & stored
        if not published.has_documents(name, source[name], versions[name])
    }
    previous = published.documents(sorted(absent | shrunken))
    known = {document.id for documents in previous.values() for document in documents}
    present = known.intersection(inventory.ids()) if known else known
    renames = find_renames(source, stale, previous, present)
    removals = decide_removals(
        previous,
        present,
        inventory.skipped,
        settings=settings.source,
        grouping=grouping,
        explained={*renames.documents.values(), *(curation.documents if curation else ())},
        empty_sources=inventory.empty_sources,
        n_others=sum(
            len(members)
            for name in (stored & source.keys()) - previous.keys()
            for members in source[name].values()
        ),
        is_confirmed=is_confirmed,
    )
    withheld = removals.unknown.keys()
    kept = withheld | removals.unconfirmed
    removed, to_build = absent - kept, stale - kept - waiting
    return Changes(
        new=tuple(sorted(n for n in to_build if not published.is_built(n))),
        changed=tuple(sorted(n for n in to_build if published.is_built(n))),
        unchanged=tuple(sorted(current)),
        removed=tuple(sorted(removed)),
        withheld=tuple(sorted(withheld)),
        renamed=renames.documents,
        successors=renames.successors,
        waiting=tuple(sorted(waiting - kept)),
        holds=holds,
        refused=frozenset(filter(published.is_refused, current)),
        unconfirmed=tuple(sorted(removals.unconfirmed - withheld)),
        doubt=removals.reason,
    )
