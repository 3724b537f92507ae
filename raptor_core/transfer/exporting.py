"""Export: published trees are written from a store into a folder, tree by tree.

``importing.py`` reads them; the format is in ``format.py``.
"""

from collections.abc import Mapping, Sequence
from datetime import UTC, datetime
from typing import Any

from raptor_core.errors import DamagedTreeError, ExportError, UnknownTreeError
from raptor_core.store.base import Where
from raptor_core.store.store import VectorStore
from raptor_core.transfer.format import (
    MANIFEST,
    Export,
    ExportFolder,
    TableFile,
    TreeFile,
    encode,
    encode_rows,
    tree_file,
)
from raptor_core.tree.publish import build_id

_READS = 5
"""Attempts to read a tree while another process may publish it."""


def check_target(folder: ExportFolder) -> None:
    """Raise ExportError if a folder has a complete export; an interrupted one may be replaced."""
    if folder.exists(MANIFEST):
        raise ExportError(f"{folder.name} contains an export already; choose an empty folder")


def export_trees(
    store: VectorStore, folder: ExportFolder, trees: Sequence[str] | None = None
) -> tuple[TreeFile, ...]:
    """Write the files of some trees, or of all for None, with one tree in memory at a time.

    Raises:
        UnknownTreeError: a tree is not published.
        DamagedTreeError: nodes or vectors of a tree are missing in the store.
        ExportError: the folder cannot be written.
    """
    manifests = store.manifests(trees)
    missing = set(trees or ()) - {manifest.tree for manifest in manifests}
    if missing or not manifests:
        named = ", ".join(map(repr, sorted(missing))) or "any tree"
        raise UnknownTreeError(f"{store.identity.corpus!r} has not published {named}")
    return tuple(_export(store, folder, manifest.tree) for manifest in manifests)


def finish_export(
    folder: ExportFolder,
    store: VectorStore,
    trees: Sequence[TreeFile],
    tables: Sequence[TableFile] = (),
    grouping: Mapping[str, Any] | None = None,
) -> Export:
    """Write the manifest, which makes the export complete."""
    made_at = datetime.now(UTC).isoformat(timespec="seconds")
    export = Export(store.identity, tuple(trees), made_at, dict(grouping or {}), tuple(tables))
    folder.write(MANIFEST, encode(export))
    return export


def _export(store: VectorStore, folder: ExportFolder, tree: str) -> TreeFile:
    for _ in range(_READS):
        manifests = store.manifests([tree])
        if not manifests:
            raise UnknownTreeError(f"the tree {tree!r} was dropped while it was exported")
        manifest = manifests[0]
        nodes = store.nodes(Where(trees=(tree,)))
        vectors = store.vectors(node.embedding_key for node in nodes)
        missing = [node for node in nodes if node.embedding_key not in vectors]
        if build_id(nodes) == manifest.build_id and not missing:
            return TreeFile(manifest, folder.put(tree_file(tree), encode_rows(nodes, vectors)))
        # On a server, another process may have published between the reads.
    problem = "its nodes do not match its manifest"
    if missing:
        problem = f"{len(missing)} vectors are missing, first that of node {missing[0].id}"
    raise DamagedTreeError(
        f"the published tree {tree!r} is damaged: {problem}. Build it again with --force, then "
        "export"
    )
