"""Import: all files of an export are verified, then its trees are read for publication.

``format.py`` reads the files.
"""

from collections.abc import Iterator, Sequence
from dataclasses import replace

from raptor_core.errors import ExportError, StoreMismatchError, UnknownTreeError
from raptor_core.nodes import Node
from raptor_core.store.base import Edition, StoreIdentity
from raptor_core.store.store import VectorStore
from raptor_core.transfer.format import (
    MANIFEST,
    Export,
    ExportFolder,
    TreeFile,
    decode,
    decode_rows,
)
from raptor_core.vectors import Vectors

TOGETHER = 10
"""Number of trees in memory at a time; writing them together saves disk flushes."""


def read_export(folder: ExportFolder) -> Export:
    """Return the export of a folder; raise ExportError if it is incomplete, damaged or newer."""
    data = folder.find(MANIFEST)
    if data is None:
        raise ExportError(
            f"{folder.name} contains no {MANIFEST}: it is not an export, or an interrupted one. "
            "Export into it again"
        )
    return decode(data, folder.shown(MANIFEST))


def select_trees(export: Export, trees: Sequence[str]) -> Export:
    """Restrict an export to these trees, or keep all if none are named; all tables stay.

    Raises:
        UnknownTreeError: the export does not contain one of the trees.
    """
    known = {file.manifest.tree for file in export.trees}
    missing = [tree for tree in trees if tree not in known]
    if missing:
        some = ", ".join(sorted(known)[:5])
        raise UnknownTreeError(
            f"the export contains no tree {', '.join(map(repr, missing))}; "
            f"it contains {len(known)}: "
            f"{some}{' …' if len(known) > 5 else ''}"
        )
    if not trees:
        return export
    return replace(export, trees=tuple(f for f in export.trees if f.manifest.tree in set(trees)))


def check_embedder(export: Export, identity: StoreIdentity, where: str) -> None:
    """Raise StoreMismatchError if the export's embedder differs from that of the store."""
    if replace(export.identity, corpus=identity.corpus) != identity:
        raise StoreMismatchError(
            f"{where} contains vectors of {export.identity.embedder}; the settings ask for "
            f"{identity.embedder}. Set the embedder that it was exported with, or build from the "
            "source instead"
        )


def verify(folder: ExportFolder, export: Export) -> None:
    """Read every tree of the export; raise ExportError for a missing or damaged file."""
    for file in export.trees:
        _read(folder, file)


def read_editions(folder: ExportFolder, export: Export) -> Iterator[list[Edition]]:
    """Yield the trees of an export, some at a time; their manifests name no build and no pin.

    A tree whose documents are in the source is rebuilt by the next build, from the imported nodes.
    Any other tree stays until it is dropped by name.

    Raises:
        ExportError: a file is missing or damaged.
    """
    for at in range(0, len(export.trees), TOGETHER):
        yield [
            Edition(replace(file.manifest, inputs="", hold=""), *_read(folder, file))
            for file in export.trees[at : at + TOGETHER]
        ]


def differing_trees(store: VectorStore, export: Export) -> list[str]:
    """Return the trees of the export that are published with other content, sorted."""
    exported = {file.manifest.tree: file.manifest.build_id for file in export.trees}
    live = store.marks(sorted(exported))
    return sorted(mark.tree for mark in live if mark.build_id != exported[mark.tree])


def _read(folder: ExportFolder, file: TreeFile) -> tuple[tuple[Node, ...], dict[str, Vectors]]:
    """Return the nodes of a tree, and its vectors by embedding key."""
    nodes, rows = decode_rows(folder.read(file.name, file.stamp), folder.shown(file.name))
    known = zip(nodes, rows, strict=True)
    return nodes, {node.embedding_key: row for node, row in known if row is not None}
