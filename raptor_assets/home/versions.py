"""Back to an earlier build of a tree, and forward again; no text is made and no model called.

The job that does it in Dagster is in ``raptor_assets.corpus.versions``.
"""

from collections.abc import Callable, Collection, Mapping, Sequence
from dataclasses import dataclass, replace

from raptor_assets.assets.names import CHAIN_NAMES, table_paths
from raptor_assets.assets.versions import TreeVersion, documents_version
from raptor_assets.home.access import CorpusAccess
from raptor_assets.home.readers import declared_readers
from raptor_core.documents import Entry, Inventory, partition_key
from raptor_core.documents.removal import Unread
from raptor_core.errors import UnknownTreeError
from raptor_core.home.published import require_trees
from raptor_core.store.base import Edition, Manifest, PublicationCounts, Where
from raptor_core.store.store import VectorStore
from raptor_core.transfer.kept import choose_build

Trees = Mapping[str, Sequence[Entry]]
"""Documents of a partition in the source, by tree."""


@dataclass(frozen=True, slots=True)
class Published:
    """Build that was published: its manifest, the one before it, and what changed."""

    manifest: Manifest
    replaced: Manifest
    counts: PublicationCounts


def roll_back(access: CorpusAccess, tree: str, to: str, note: str) -> Published:
    """Publish a kept build of a tree and hold the tree there.

    Args:
        to: id of the build, or its beginning; "" is the build before the published one.
        note: who goes back, and why.

    Raises:
        UnknownTreeError: the tree is not published, no such build is kept, or a document of that
            build is gone from the source.
        ExportError: the build's file is damaged, or of another embedder.
    """
    trees = _partition(access, tree)
    with access.store.open_existing() as store:
        (replaced,) = require_trees(store, [tree])
        name = choose_build(access.kept.ids(tree), replaced, to)
        edition = access.kept.read(tree, name, store.identity)
        present = {entry.id for entry in trees.get(tree, ())}
        missing = sorted(edition.manifest.documents.keys() - present)
        if missing:
            raise UnknownTreeError(
                f"the build {name} of {tree!r} has the document {missing[0]!r}, which is gone from "
                "the source; the next `raptor build` deletes that build"
            )
        return _publish(access, store, replaced, edition, note, trees)


def release(access: CorpusAccess, tree: str) -> Published:
    """End the hold of a tree: builds publish it again.

    Where the newest kept build is that of the present documents and settings, it is published now.
    Else the next build updates the tree.

    Raises:
        UnknownTreeError: the tree is not held.
    """
    trees = _partition(access, tree)
    with access.store.open_existing() as store:
        (replaced,) = require_trees(store, [tree])
        if not replaced.hold:
            raise UnknownTreeError(f"the tree {tree!r} is not held; builds publish it")
        present = _version(access, tree, trees)
        builds = [b for b in access.kept.builds(tree) if b.manifest.inputs == present]
        if builds:
            edition = access.kept.read(tree, builds[-1].id, store.identity)
        else:
            nodes = store.nodes(Where(trees=(tree,)))
            edition = Edition(replaced, nodes)
        return _publish(access, store, replaced, edition, "", trees)


def _publish(
    access: CorpusAccess,
    store: VectorStore,
    replaced: Manifest,
    edition: Edition,
    note: str,
    trees: Trees,
) -> Published:
    """Publish an edition with the readers of today, and keep what it replaces."""
    entries = trees.get(edition.manifest.tree, ())
    readers = declared_readers(entries, edition.manifest.documents)
    manifest = replace(edition.manifest, hold=note, readers=readers)
    if replaced.build_id != manifest.build_id:
        access.kept.keep(store, replaced, notes_of(access, replaced))
        access.reports.delete(partition_key(manifest.tree, access.settings.grouping))
    counts = store.publish(manifest, edition.nodes, edition.vectors)
    access.kept.prune(manifest, access.settings.runs.keep_builds)
    return Published(manifest, replaced, counts)


def trees_to_forget(
    access: CorpusAccess, holds: Collection[str], inventory: Inventory
) -> tuple[str, ...]:
    """Return the held trees with a document that is gone, in kept builds or in tables."""
    trees = []
    for tree in sorted(holds):
        is_gone = _is_gone(access, tree, inventory)
        if access.kept.outdated(tree, is_gone) or any(map(is_gone, _tabled(access, tree))):
            trees.append(tree)
    return tuple(trees)


def forget_gone(access: CorpusAccess, trees: Collection[str]) -> None:
    """Delete kept builds, tables and pages of held trees that have a document that is gone.

    The trees stay held, since the builds that are published have none. The table of published
    trees stays, too; it has no text.
    """
    inventory = access.source.inventory() if trees else Inventory(())
    for tree in trees:
        is_gone = _is_gone(access, tree, inventory)
        access.kept.forget(tree, is_gone)
        if any(map(is_gone, _tabled(access, tree))):
            partition = partition_key(tree, access.settings.grouping)
            access.reports.delete(partition)
            for path in reversed(table_paths()):
                if path != CHAIN_NAMES.tree.path:
                    access.tables.delete(path, partition)
    if trees:
        with access.store.open_existing() as store:
            store.optimize()


def _is_gone(access: CorpusAccess, tree: str, inventory: Inventory) -> Callable[[str], bool]:
    """Return the test if a document of a tree is gone; one that cannot be read is not."""
    grouping = access.settings.grouping
    trees = inventory.partitions(grouping).get(partition_key(tree, grouping), {})
    present, unread = {entry.id for entry in trees.get(tree, ())}, Unread(inventory.skipped)
    return lambda name: name not in present and not unread.place_of(name, name)


def _tabled(access: CorpusAccess, tree: str) -> list[str]:
    """Return the ids of a tree's documents in the tables of its partition."""
    partition = partition_key(tree, access.settings.grouping)
    table = access.tables.find(CHAIN_NAMES.documents.path, partition, ["tree", "id"])
    rows = () if table is None else zip(*(part.to_pylist() for part in table.columns), strict=True)
    return [document for of_tree, document in rows if of_tree == tree]


def notes_of(access: CorpusAccess, published: Manifest) -> dict[str, object]:
    """Return what a published build says of itself, where its report's record is there."""
    from raptor_assets.shown.report_records import read_records  # loads Dagster

    partition = partition_key(published.tree, access.settings.grouping)
    record = read_records(access.tables, partition).get(published.tree)
    return record.notes() if record and record.build_id == published.build_id else {}


def _partition(access: CorpusAccess, tree: str) -> Trees:
    """Return the documents of a tree's partition in the source; it is scanned for this."""
    grouping = access.settings.grouping
    return access.source.inventory().partitions(grouping).get(partition_key(tree, grouping), {})


def _version(access: CorpusAccess, tree: str, trees: Trees) -> str:
    """Return ``Manifest.inputs`` of a build of the present documents and settings."""
    partition = partition_key(tree, access.settings.grouping)
    digest = documents_version(trees, access.curation())
    return TreeVersion.of(partition, digest, access.build_version).text
