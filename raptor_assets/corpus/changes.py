"""Changes: what has to happen to published trees, by comparing the source with their manifests.

``decide_run`` returns the actions in their order, and ``corpus.sync`` executes them; the sensor
requests that job, the command and `raptor plan` print the same list. Dagster's log says what
happened; nothing here reads it. ``decide_partitions_to_keep`` judges documents that are missing.
"""

from collections.abc import Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from enum import Enum
from functools import cached_property

from raptor_assets.assets import names
from raptor_assets.assets.versions import TreeVersion, documents_version
from raptor_assets.corpus.renames import Renames, find_renames
from raptor_assets.home.access import CorpusAccess
from raptor_assets.home.current_state import CurrentState
from raptor_assets.home.publication import (
    explain_pin,
    find_trees_with_removed_texts,
    have_readers_changed,
)
from raptor_assets.home.published import (
    PublishedState,
    documents_by_tree,
    find_current_pins,
)
from raptor_assets.home.rollback import pinned_trees_with_gone_texts
from raptor_core.curation import Curation
from raptor_core.documents import (
    DocumentEntry,
    Inventory,
    decide_partitions_to_keep,
    partition_key,
)
from raptor_core.errors import SourceError, StoreMismatchError
from raptor_core.home.published import require_existing
from raptor_core.settings import Settings

_NAMED = 10  # partitions that an explanation names


class PartitionChange(Enum):
    """State of a partition, which decides what a build does with it; see ``find_change``."""

    UNCHANGED = "unchanged"
    NEW = "new"
    CHANGED = "changed"
    WAITING = "waiting"
    UNKNOWN = "withheld"
    UNCONFIRMED = "unconfirmed"
    REMOVED = "removed"


@dataclass(frozen=True, slots=True)
class Changes:
    """States of partitions, and what explains them.

    Attributes:
        states: state by partition, sorted; pinned trees have none, nor have trees that were
            published by hand or imported and are not in the source.
        removal_doubt: why a person has to confirm a removal, else "".
        renamed_documents: previous ids of renamed documents, by new id.
        successor_partitions: partitions to build that took a renamed document, by the partition
            that it left.
        pin_notes: notes of people who pinned trees to an earlier build, by tree name.
        ended_pin_notes: the same for trees that have no document in the source any more.
        refused_partitions: unchanged partitions with summaries that the model refused to write.
            `raptor build` requests these again; the sensor does not, since it would never end.
    """

    states: Mapping[str, PartitionChange] = field(default_factory=dict)
    renamed_documents: Mapping[str, str] = field(default_factory=dict)
    successor_partitions: Mapping[str, tuple[str, ...]] = field(default_factory=dict)
    refused_partitions: frozenset[str] = frozenset()
    pin_notes: Mapping[str, str] = field(default_factory=dict)
    ended_pin_notes: Mapping[str, str] = field(default_factory=dict)
    removal_doubt: str = ""

    def partitions_in(self, *states: PartitionChange) -> tuple[str, ...]:
        """Return the partitions in one of these states, sorted."""
        return tuple(name for name, state in self.states.items() if state in states)

    @property
    def to_build(self) -> tuple[str, ...]:
        """New and changed partitions, sorted."""
        return self.partitions_in(PartitionChange.NEW, PartitionChange.CHANGED)

    @property
    def to_build_now(self) -> tuple[str, ...]:
        """Partitions that `raptor build` makes, sorted: also those with refused summaries."""
        return tuple(sorted({*self.to_build, *self.refused_partitions}))

    @property
    def buildable(self) -> set[str]:
        """Partitions of the source that a person may name for a build."""
        others = self.partitions_in(PartitionChange.UNCHANGED, PartitionChange.WAITING)
        return {*self.to_build, *others}

    def explain_doubt(self) -> str:
        """Explain why nothing is built or dropped, and how a person confirms the removal."""
        return (
            f"{self.removal_doubt}. Nothing is built or removed; concerned are "
            f"{names.join_first(self.partitions_in(PartitionChange.UNCONFIRMED), _NAMED)}. Bring "
            "the documents back, or confirm by `raptor build --confirm-removal`"
        )

    def droppable(self, unpublished: Collection[str] = ()) -> tuple[str, ...]:
        """Return the removed partitions that can be dropped now.

        A partition whose documents moved stays until their new partition is published: until then
        it answers searches, and its texts and vectors save model calls.

        Args:
            unpublished: partitions whose build failed, or now waits for approval.
        """
        kept = PartitionChange.UNKNOWN, PartitionChange.UNCONFIRMED, PartitionChange.WAITING
        unfinished = {*unpublished, *self.partitions_in(*kept)}
        return tuple(
            name
            for name in self.partitions_in(PartitionChange.REMOVED)
            if unfinished.isdisjoint(self.successor_partitions.get(name, ()))
        )

    def sort_for_build(self, partitions: Iterable[str]) -> list[str]:
        """Sort partitions; those that documents leave come last, to keep their texts."""
        return sorted(partitions, key=lambda name: (name in self.successor_partitions, name))


@dataclass(frozen=True)
class UpdateReaders:
    """Update the readers of published trees to those that the source declares now."""


@dataclass(frozen=True)
class RefuseRun:
    """Stop: the source cannot be read, the embedder is another, or a removal is unconfirmed."""

    error: SourceError | StoreMismatchError


@dataclass(frozen=True)
class ForgetBuilds:
    """Delete kept builds and tables of pinned trees that contain a deleted document."""

    trees: tuple[str, ...]


@dataclass(frozen=True)
class BuildPartitions:
    """Build partitions, in this order, and publish their trees."""

    partitions: tuple[str, ...]


@dataclass(frozen=True)
class WithdrawTexts:
    """Remove set-aside and deleted texts from trees that this run does not build, as ``trees``."""

    trees: tuple[str, ...] = ()


@dataclass(frozen=True)
class DropPartitions:
    """Drop partitions whose documents are deleted, or published in another partition."""

    partitions: tuple[str, ...]


Action = UpdateReaders | RefuseRun | ForgetBuilds | BuildPartitions | WithdrawTexts | DropPartitions


@dataclass(frozen=True)
class SyncDecision:
    """Decision on a run: the changes of the source, and the actions in their order."""

    changes: Changes
    inventory: Inventory
    actions: tuple[Action, ...]

    @property
    def to_build(self) -> tuple[str, ...]:
        """Partitions that it builds."""
        return next((a.partitions for a in self.actions if isinstance(a, BuildPartitions)), ())

    @property
    def to_drop(self) -> tuple[str, ...]:
        """Partitions that it may drop."""
        return next((a.partitions for a in self.actions if isinstance(a, DropPartitions)), ())

    @property
    def does_anything(self) -> bool:
        """Whether it does anything but refuse."""
        return not all(isinstance(action, RefuseRun) for action in self.actions)

    @property
    def refusal(self) -> SourceError | StoreMismatchError | None:
        """Why it builds and drops nothing, if that is so."""
        return next((a.error for a in self.actions if isinstance(a, RefuseRun)), None)


def decide_run(
    access: CorpusAccess,
    begun: Collection[str] = (),
    inventory: Inventory | None = None,
    *,
    partitions: Collection[str] | None = None,
    force: bool = False,
    asks_again: bool = False,
    is_confirmed: bool = False,
) -> SyncDecision:
    """Decide what a run has to do; the actions are in their order, and readers come first.

    Args:
        begun: partitions that a build has begun, published or not.
        inventory: the documents of the source, if the caller has just scanned it.
        partitions: build only these, changed or not where ``force`` says so, and drop nothing.
        force: also build what is up to date; finished work is reused.
        asks_again: also build partitions with summaries that the model refused to write.
        is_confirmed: a person confirmed that documents are gone; see ``decide_partitions_to_keep``.

    Raises:
        SourceError: no source is named, or a named partition is pinned.
        UnknownTreeError: the source has no such partition.
    """
    inventory = inventory or access.source.current_inventory()
    actions: list[Action] = [UpdateReaders()] if have_readers_changed(access, inventory) else []
    if inventory.failure:
        return SyncDecision(Changes(), inventory, (*actions, RefuseRun(inventory.failure)))
    try:
        access.store.check_embedder()
    except StoreMismatchError as mismatch:
        return SyncDecision(Changes(), inventory, (*actions, RefuseRun(mismatch)))
    curation = access.read_curation()
    changes = find_changes(
        access.read_published(),
        access.settings,
        access.tree_code_version,
        inventory,
        curation,
        begun,
        access.components().cache.unfinished_trees(),
        is_confirmed=is_confirmed or access.source.is_confirmed,
    )
    if changes.removal_doubt:
        error = SourceError(changes.explain_doubt())
        return SyncDecision(changes, inventory, (*actions, RefuseRun(error)))
    if to_forget := pinned_trees_with_gone_texts(access, changes.pin_notes, inventory):
        actions.append(ForgetBuilds(to_forget))
    to_build = _select_partitions(changes, partitions, access, force=force, again=asks_again)
    if to_build:
        actions.append(BuildPartitions(tuple(changes.sort_for_build(to_build))))
    resting = _find_trees_not_built(access, changes)
    if to_build or find_trees_with_removed_texts(
        access, CurrentState.of(access, inventory), resting
    ):
        actions.append(WithdrawTexts(tuple(resting)))
    if partitions is None and (removed := changes.droppable()):
        actions.append(DropPartitions(removed))
    return SyncDecision(changes, inventory, tuple(actions))


def _select_partitions(
    changes: Changes,
    partitions: Collection[str] | None,
    access: CorpusAccess,
    *,
    force: bool,
    again: bool,
) -> set[str]:
    """Return the partitions to build, of these or of all."""
    selected = set(changes.to_build_now if again else changes.to_build)
    selected = changes.buildable if force else selected
    if partitions is None:
        return selected
    for tree, note in changes.pin_notes.items():
        if partition_key(tree, access.settings.grouping) in set(partitions) - changes.buildable:
            raise SourceError(explain_pin(tree, note))
    require_existing("partition is called", partitions, changes.buildable)
    return selected & set(partitions)


def _find_trees_not_built(access: CorpusAccess, changes: Changes) -> list[str]:
    """Return the published trees that may differ from the source but are not built now."""
    resting = {*changes.partitions_in(PartitionChange.WAITING, PartitionChange.UNKNOWN)}
    if not (resting or changes.pin_notes) or not access.store.exists():
        return []
    grouping = access.settings.grouping
    stored = access.store.list_trees()
    return [t for t in stored if t in changes.pin_notes or partition_key(t, grouping) in resting]


@dataclass
class _ChangeInputs:
    """Facts that decide the states: source and published trees, without pinned trees."""

    source: Mapping[str, Mapping[str, Sequence[DocumentEntry]]]
    published: PublishedState
    versions: Mapping[str, TreeVersion]
    waiting: Mapping[str, str]
    begun_partitions: Collection[str]
    unfinished_partitions: Collection[str]
    needs_approval: bool
    unknown_partitions: Collection[str] = ()
    unconfirmed_partitions: Collection[str] = ()

    @cached_property
    def up_to_date_partitions(self) -> set[str]:
        """Partitions published from the present source, whose last build is published, too."""
        return {
            name
            for name, version in self.versions.items()
            if name not in self.waiting
            and name not in self.unfinished_partitions
            and self.published.is_published_as(name, self.source[name], version)
        }


def find_change(partition: str, found: _ChangeInputs) -> PartitionChange | None:
    """Return the state of a partition; the first row that fits counts.

    | partition | state | action |
    | --- | --- | --- |
    | a document of it is unknown | UNKNOWN | kept as it is |
    | it lost documents, and a person has to confirm that | UNCONFIRMED | nothing is built at all |
    | not in the source, and published by a build, or begun | REMOVED | drop |
    | not in the source, and published by hand or by an import | none | kept as it is |
    | all its trees were published from the source as it is | UNCHANGED | none |
    | a build from the source as it is waits for approval | WAITING | none |
    | it is published, from other documents, decisions or settings | CHANGED | build |
    | it is published, but not its last build, which may have other documents | CHANGED | build |
    | it is not published | NEW | build |

    While a removal is unconfirmed nothing at all is built: new trees would count as present, and
    the next scan would let the removal pass.
    """
    if partition in found.unknown_partitions:
        return PartitionChange.UNKNOWN
    if partition in found.unconfirmed_partitions:
        return PartitionChange.UNCONFIRMED
    if partition not in found.source:
        is_ours = found.published.has_own_build(partition) or partition in found.begun_partitions
        return PartitionChange.REMOVED if is_ours else None
    if partition in found.up_to_date_partitions:
        return PartitionChange.UNCHANGED
    if found.needs_approval and found.waiting.get(partition) == found.versions[partition].text:
        return PartitionChange.WAITING
    is_built = found.published.has_own_build(partition)
    return PartitionChange.CHANGED if is_built else PartitionChange.NEW


def find_changes(
    published: PublishedState,
    settings: Settings,
    build: str,
    inventory: Inventory,
    curation: Curation | None = None,
    begun: Collection[str] = (),
    unfinished: Collection[str] = (),
    *,
    is_confirmed: bool = False,
) -> Changes:
    """Find the state of each partition, see ``find_change``.

    Trees that people pinned are left out. A pin ends when no document of its tree is left.

    Args:
        build: code version of the trees to publish, see ``versions.tree_code_version``.
        curation: decisions of people, an input like the documents.
        begun: partitions that a build has begun, published or not.
        unfinished: trees whose last build was not published. Its tables and answers may contain
            documents that are gone since, so the tree is built again, from finished work.
        is_confirmed: a person confirmed that documents are gone; see ``decide_partitions_to_keep``.
    """
    grouping = settings.grouping
    source, pins = inventory.group_into_partitions(grouping), {}
    if published.pins:
        pins = find_current_pins(published.pins, documents_by_tree(source))
        source = inventory.group_into_partitions(grouping, pins)
        published = published.without_trees(pins)
        begun = set(begun) - {partition_key(tree, grouping) for tree in pins}
    found = _ChangeInputs(
        source,
        published,
        {
            name: TreeVersion.of(name, documents_version(trees, curation), build)
            for name, trees in source.items()
        },
        published.read_waiting_inputs(source),
        begun,
        {partition_key(tree, grouping) for tree in unfinished},
        settings.runs.publish == "when_approved",
    )
    renames = _judge_removals(found, settings, inventory, curation, is_confirmed=is_confirmed)
    partitions = sorted({*source, *published.partitions_with_own_build(), *begun})
    states = {name: state for name in partitions if (state := find_change(name, found))}
    removed = {name for name, state in states.items() if state == PartitionChange.REMOVED}
    return Changes(
        states,
        renames.renamed_documents,
        renames.successor_partitions,
        frozenset(filter(published.has_refused_summary, found.up_to_date_partitions)),
        pins,
        {
            manifest.tree: manifest.pin
            for manifest in published.pins
            if manifest.tree not in pins and partition_key(manifest.tree, grouping) in removed
        },
        renames.removal_doubt,
    )


def _judge_removals(
    found: _ChangeInputs,
    settings: Settings,
    inventory: Inventory,
    curation: Curation | None,
    *,
    is_confirmed: bool,
) -> Renames:
    """Judge missing documents; set the unknown and unconfirmed partitions of ``found``."""
    source, published = found.source, found.published
    stale = source.keys() - found.up_to_date_partitions
    stored = published.partitions_with_own_build()
    shrunken = {
        name
        for name in stale & stored
        if not published.is_published_from_documents(name, source[name], found.versions[name])
    }
    absent = (stored | set(found.begun_partitions)) - source.keys()
    previous = published.read_documents(sorted(absent | shrunken))
    known = {document.id for documents in previous.values() for document in documents}
    present = known.intersection(inventory.document_ids()) if known else known
    renames = find_renames(source, stale, previous, present)
    aside = inventory.set_aside_ids.union(curation.set_aside_documents if curation else ())
    removals = decide_partitions_to_keep(
        previous,
        present.union(aside),
        inventory.skipped,
        settings=settings.source,
        grouping=settings.grouping,
        moved=set(renames.renamed_documents.values()),
        empty_sources=inventory.empty_sources,
        n_others=sum(
            len(members)
            for name in (stored & source.keys()) - previous.keys()
            for members in source[name].values()
        ),
        is_confirmed=is_confirmed,
    )
    found.unknown_partitions = removals.unknown_partitions.keys()
    found.unconfirmed_partitions = removals.unconfirmed_partitions
    return replace(renames, removal_doubt=removals.reason)
