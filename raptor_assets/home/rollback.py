"""Roll a tree back to an earlier build, and release it again, without calling a model.

The jobs that do it in Dagster are in ``raptor_assets.corpus.version_jobs``.
"""

from collections.abc import Callable, Collection, Mapping, Sequence

from raptor_assets.assets.names import CHAIN_NAMES, table_paths
from raptor_assets.assets.versions import TreeVersion, documents_version
from raptor_assets.home.access import CorpusAccess
from raptor_assets.home.current_state import CurrentState
from raptor_assets.home.publication import PublishedBuild, open_publication
from raptor_core.documents import DocumentEntry, Inventory, PublishedDocument, partition_key
from raptor_core.errors import UnknownTreeError
from raptor_core.home.published import require_trees
from raptor_core.store.base import Manifest, TreeEdition, Where
from raptor_core.transfer.kept import choose_build


def roll_back(access: CorpusAccess, tree: str, to: str, note: str) -> PublishedBuild:
    """Publish a kept build of a tree and pin the tree to it.

    Args:
        to: id of the build, or its beginning; "" is the build before the published one.
        note: who rolls back, and why.

    Raises:
        UnknownTreeError: the tree is not published, no such build is kept, or a document of that
            build is gone from the source.
        ExportError: the build's file is damaged, or of another embedder.
    """
    inventory = access.source.complete_inventory()
    today = CurrentState.of(access, inventory)
    with access.store.open_existing() as store:
        (replaced,) = require_trees(store, [tree])
        name = choose_build(access.kept_builds.ids(tree), replaced, to)
        edition = access.kept_builds.read(tree, name, store.identity)
        require_no_gone_document(access, inventory, edition.manifest)
        with open_publication(access, store, today) as publication:
            (published,) = publication.publish([edition], pin=note)
    return published


def release_tree(access: CorpusAccess, tree: str) -> PublishedBuild:
    """Release a pinned tree, so that builds publish it again.

    If the newest kept build was made from the present documents and settings, it is published now.
    Otherwise the next build updates the tree.

    Raises:
        UnknownTreeError: the tree is not pinned.
    """
    inventory = access.source.complete_inventory()
    today = CurrentState.of(access, inventory)
    with access.store.open_existing() as store:
        (replaced,) = require_trees(store, [tree])
        if not replaced.pin:
            raise UnknownTreeError(f"the tree {tree!r} is not pinned; builds publish it")
        present = _current_inputs(access, tree, inventory)
        builds = [b for b in access.kept_builds.builds(tree) if b.manifest.inputs == present]
        if builds:
            edition = access.kept_builds.read(tree, builds[-1].id, store.identity)
        else:
            edition = TreeEdition(replaced, store.nodes(Where(trees=(tree,))))
        with open_publication(access, store, today) as publication:
            (published,) = publication.publish([edition], pin="")
    return published


def require_no_gone_document(
    access: CorpusAccess, inventory: Inventory, manifest: Manifest
) -> None:
    """Raise an UnknownTreeError if a build contains a document that was deleted."""
    present = {entry.id for entry in _source_documents(access, manifest.tree, inventory)}
    if missing := sorted(manifest.documents.keys() - present):
        raise UnknownTreeError(
            f"this build of {manifest.tree!r} has the document {missing[0]!r}, which is gone from "
            "the source; the next `raptor build` makes one without it and deletes this one"
        )


def pinned_trees_with_gone_texts(
    access: CorpusAccess, pins: Collection[str], inventory: Inventory
) -> tuple[str, ...]:
    """Return the pinned trees whose kept builds or tables contain a deleted document."""
    if not pins:
        return ()
    today, trees = CurrentState.of(access, inventory), []
    for tree in sorted(pins):
        is_gone = _is_gone(today, tree)
        if access.kept_builds.outdated_ids(tree, is_gone) or any(
            map(is_gone, _documents_in_tables(access, tree))
        ):
            trees.append(tree)
    return tuple(trees)


def delete_builds_with_gone_texts(
    access: CorpusAccess, trees: Collection[str], inventory: Inventory
) -> None:
    """Delete kept builds and tables of pinned trees that contain a deleted document.

    The trees stay pinned; ``publication.withdraw_texts`` takes the document out of what is
    published. The table of published trees stays, too; it has no text.
    """
    today = CurrentState.of(access, inventory)
    for tree in trees:
        is_gone = _is_gone(today, tree)
        access.kept_builds.delete_outdated(tree, is_gone)
        if any(map(is_gone, _documents_in_tables(access, tree))):
            partition = partition_key(tree, access.settings.grouping)
            for path in reversed(table_paths()):
                if path != CHAIN_NAMES.tree.table_path:
                    access.tables.delete(path, partition)


def _is_gone(today: CurrentState, tree: str) -> Callable[[PublishedDocument], bool]:
    return lambda document: today.is_gone(tree, document.id, document.source)


def _source_documents(
    access: CorpusAccess, tree: str, inventory: Inventory
) -> Sequence[DocumentEntry]:
    return _partition_documents(access, tree, inventory).get(tree, ())


def _documents_in_tables(access: CorpusAccess, tree: str) -> list[PublishedDocument]:
    """Return a tree's documents in the tables of its partition."""
    partition = partition_key(tree, access.settings.grouping)
    columns = ["tree", "id", "content_hash", "source"]
    table = access.tables.read_if_exists(CHAIN_NAMES.documents.table_path, partition, columns)
    rows = () if table is None else table.select(columns).to_pylist()
    return [
        PublishedDocument(row["id"], row["content_hash"], row["source"])
        for row in rows
        if row["tree"] == tree
    ]


def _partition_documents(
    access: CorpusAccess, tree: str, inventory: Inventory
) -> Mapping[str, Sequence[DocumentEntry]]:
    """Return the documents of a tree's partition in the source, by tree."""
    grouping = access.settings.grouping
    return inventory.group_into_partitions(grouping).get(partition_key(tree, grouping), {})


def _current_inputs(access: CorpusAccess, tree: str, inventory: Inventory) -> str:
    """Return ``Manifest.inputs`` of a build of the present documents and settings."""
    partition = partition_key(tree, access.settings.grouping)
    digest = documents_version(
        _partition_documents(access, tree, inventory), access.read_curation()
    )
    return TreeVersion.of(partition, digest, access.tree_code_version).text
