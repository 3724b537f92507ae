"""Trees of an export into a store: all is verified first, then each is published whole."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from itertools import groupby

import numpy as np

from raptor_core.errors import ExportError, StoreMismatchError, UnknownTreeError
from raptor_core.nodes import Node
from raptor_core.store.base import Edition, PublicationCounts, StoreIdentity
from raptor_core.store.protocols import Publisher, Searcher
from raptor_core.store.publishing import check_vectors, without_vectors
from raptor_core.transfer.values import (
    MANIFEST,
    Export,
    ExportFolder,
    TableFile,
    TreeFile,
    decode,
    decode_rows,
)
from raptor_core.tree.publish import build_id
from raptor_core.vectors import Vectors


@dataclass(frozen=True, slots=True)
class Imported:
    """What importing one tree changed."""

    tree: str
    published: PublicationCounts


def read_export(folder: ExportFolder) -> Export:
    """What a folder holds.

    Raises:
        ExportError: it holds no whole export, a damaged or a newer one.
    """
    data = folder.find(MANIFEST)
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


def verify(folder: ExportFolder, export: Export, tables: Sequence[TableFile] = ()) -> None:
    """Read every tree of the export and these tables, and publish nothing.

    Raises:
        ExportError: a file is missing, cut short, or not what it was; it is named.
    """
    for file in export.trees:
        _read(folder, export, file)
    for table in tables:
        folder.read(table.name, table.stamp)


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
    """A tree's nodes and vectors, which are those of its manifest."""
    where = folder.shown(file.name)
    nodes, vectors = decode_rows(folder.read(file.name, file.stamp), where)
    sizes = tuple(len(list(layer)) for _, layer in groupby(nodes, key=lambda node: node.layer))
    manifest = file.manifest
    lost = without_vectors(manifest, nodes, vectors)
    if (build_id(nodes), sizes) != (manifest.build_id, manifest.layer_sizes) or lost:
        raise ExportError(
            f"{where} is not the tree {manifest.tree!r} of its manifest: layers of {sizes} nodes "
            f"where {manifest.layer_sizes} are named, {len(lost)} vectors missing; export again"
        )
    embedded = [node for node in nodes if node.embedding_key in vectors]
    if embedded:
        stacked = np.stack([vectors[node.embedding_key] for node in embedded])
        check_vectors(embedded, stacked, export.identity)
    return nodes, vectors
