"""Trees of an export into a store: all is verified first, then each is published whole."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace

from raptor_core.errors import ExportError, StoreMismatchError, UnknownTreeError
from raptor_core.nodes import Node
from raptor_core.store.base import Edition, Published, StoreIdentity
from raptor_core.store.protocols import Publisher, Searcher
from raptor_core.transfer.checks import check_tree
from raptor_core.transfer.manifest import MAX_BYTES, decode
from raptor_core.transfer.rows import decode_rows
from raptor_core.transfer.values import MANIFEST, Export, ExportFolder, TreeFile
from raptor_core.vectors import Vectors


@dataclass(frozen=True, slots=True)
class Imported:
    """What importing one tree changed."""

    tree: str
    published: Published


def read_export(folder: ExportFolder) -> Export:
    """What a folder holds.

    Raises:
        ExportError: it holds no whole export, a damaged or a newer one.
    """
    data = folder.find(MANIFEST, MAX_BYTES)
    if data is None:
        raise ExportError(
            f"{folder.name} holds no {MANIFEST}: it is no export, or one that was broken off. "
            "Export again into it"
        )
    return decode(data, folder.shown(MANIFEST))


def chosen(export: Export, trees: Sequence[str]) -> Export:
    """The export with these trees only; all of it for none. Tables of other trees' go later.

    Raises:
        UnknownTreeError: the export does not hold one of them.
    """
    known = {file.manifest.tree for file in export.trees}
    missing = [tree for tree in trees if tree not in known]
    if missing:
        some = ", ".join(sorted(known)[:5])
        raise UnknownTreeError(
            f"the export holds no tree {', '.join(map(repr, missing))}; it holds {len(known)}: "
            f"{some}{' …' if len(known) > 5 else ''}"
        )
    if not trees:
        return export
    return replace(export, trees=tuple(f for f in export.trees if f.manifest.tree in set(trees)))


def check_embedder(export: Export, wanted: StoreIdentity, where: str) -> None:
    """Refuse vectors of another embedder than the settings'; the corpus may have another name.

    Raises:
        StoreMismatchError: naming both.
    """
    if replace(export.identity, corpus=wanted.corpus) != wanted:
        raise StoreMismatchError(
            f"{where} holds vectors of {export.identity.embedder}; the settings ask for "
            f"{wanted.embedder}. Set the embedder that it was exported with, or build from the "
            "source instead"
        )


def verify(folder: ExportFolder, export: Export) -> None:
    """Read and check every tree of the export; nothing is published.

    Raises:
        ExportError: naming a file that is missing, cut short, damaged or forged.
    """
    for file in export.trees:
        _read(folder, export, file)


def import_trees(store: Publisher, folder: ExportFolder, export: Export) -> list[Imported]:
    """Publish the trees as they were exported, some in one commit; again is the same as once.

    Raises:
        ExportError: a file is damaged.
        StoreError: the store refuses; what was published stays.
    """
    done = []
    with store.publishing() as publishing:
        for file in export.trees:
            edition = Edition(file.manifest, *_read(folder, export, file))
            (published,) = publishing.publish([edition])
            done.append(Imported(file.manifest.tree, published))
    return done


def differing(store: Searcher, export: Export) -> list[str]:
    """Trees of the export that are published with other content, sorted."""
    wanted = {file.manifest.tree: file.manifest for file in export.trees}
    live = store.manifests(sorted(wanted))
    return sorted(m.tree for m in live if m.mark != wanted[m.tree].mark)


def _read(
    folder: ExportFolder, export: Export, file: TreeFile
) -> tuple[tuple[Node, ...], dict[str, Vectors]]:
    """Return the nodes of a tree and its vectors by embedding key, once all of it was checked."""
    where, manifest = folder.shown(file.name), file.manifest
    data = folder.read(file.name, file.stamp)
    nodes, rows = decode_rows(data, where, sum(manifest.layer_sizes))
    check_tree(nodes, rows, manifest, export.identity, where)
    known = zip(nodes, rows, strict=True)
    return nodes, {node.embedding_key: row for node, row in known if row is not None}
