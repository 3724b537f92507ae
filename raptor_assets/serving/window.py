"""Values of the pages about published trees: the corpus, one tree, the map.

All texts come from the published build, from the store that ``call_on_corpus_of`` opens. Tables
belong to the last build, which may have been rolled back or wait for approval; what they say about
a tree is only shown if it applies to the published build. The pages are in ``raptor_core.report``.
The functions raise UnknownTreeError, StoreError and TableError.
"""

from __future__ import annotations

import hashlib
import logging
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any, TypeVar

from raptor_assets.home.folder import Home
from raptor_assets.local.status import (
    TreeStatus,
    make_status,
    read_tree_records,
)
from raptor_assets.serving.values import NAMED_DOCUMENTS, make_link_function
from raptor_assets.shown.tree_records import TreeRecord, read_findings, read_partition_records
from raptor_core.checks.base import without_quotations
from raptor_core.disk import replace_file
from raptor_core.documents import partition_key
from raptor_core.home import HomeRetriever
from raptor_core.home.published import has_corpus_tree, require_trees
from raptor_core.identity import digest
from raptor_core.nodes import Node
from raptor_core.report.data import published_findings, reassemble_documents, settings_text
from raptor_core.report.layout import (
    LAYOUT_VERSION,
    compute_node_points,
    map_column_values,
    tree_titles,
)
from raptor_core.report.values import Report, ReportTree
from raptor_core.settings import Settings
from raptor_core.store.base import Where
from raptor_core.store.store import VectorStore
from raptor_core.tables.curation import read_curation
from raptor_core.tree.corpus_tree import is_corpus_tree

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray

ABOVE = "The corpus tree"


Values = TypeVar("Values")


def call_on_corpus_of(
    retriever: HomeRetriever,
    tree: str | None,
    call: Callable[[Home, Settings, VectorStore], Values],
) -> Values:
    """Return the result of ``call`` for the corpus of a tree, or for the trees if it is None.

    The store, and so the values, are restricted to what the retriever's caller may read.
    """
    return retriever.call_with_home(
        tree, lambda folder, settings, store: call(Home(folder.path), settings, store)
    )


def published_tree_values(home: Home, settings: Settings, store: VectorStore) -> dict[str, Any]:
    """Return each published tree with titles, sizes, checks and cost.

    Checks and costs are about whole partitions, so callers with readers do not get them.
    """
    if store.readers is not None:
        return _readable_tree_values(home, settings, store)
    status = make_status(home, settings, store.manifests())
    trees = status.trees
    titles = store.titles([tree.name for tree in trees])
    has_top = has_corpus_tree(home, settings)
    records = read_tree_records(home, settings, dict.fromkeys(tree.partition for tree in trees))
    rows = [_tree_values(tree, titles, records.get(tree.name), has_top=has_top) for tree in trees]
    return {
        "home": _corpus_title(home),
        "sources": settings.source.shown_paths(),
        "trees": rows,
        "unpublished": list(status.unpublished),
        "checks": [_check_values(result) for result in status.checks],
    }


def _corpus_title(home: Home) -> str:
    return home.path.parent.name if home.path.name.startswith(".") else home.path.name


def _readable_tree_values(home: Home, settings: Settings, store: VectorStore) -> dict[str, Any]:
    """Return the trees of which a caller with readers may read at least a part."""
    trees = [
        TreeStatus(manifest, partition_key(manifest.tree, settings.grouping), ())
        for manifest in store.manifests()
    ]
    titles = store.titles([tree.name for tree in trees])
    return {
        "home": _corpus_title(home),
        "sources": [],
        "trees": [_tree_values(tree, titles, None, has_top=False) for tree in trees],
        "unpublished": [],
        "checks": [],
    }


def _tree_values(
    tree: TreeStatus, titles: Mapping[str, str], record: TreeRecord | None, *, has_top: bool
) -> dict[str, Any]:
    manifest = tree.manifest
    documents = sorted(manifest.documents)
    if record and record.build_id != manifest.build_id:
        record = None
    above = has_top and is_corpus_tree(manifest.tree)
    title = titles.get(documents[0], "") if len(documents) == 1 else manifest.title
    return {
        "name": manifest.tree,
        "title": ABOVE if above else title,
        "partition": tree.partition,
        "above": above,
        "n_documents": len(documents),
        "documents": [[name, titles.get(name, "")] for name in documents[:NAMED_DOCUMENTS]],
        "layers": list(manifest.layer_sizes),
        "tokens": manifest.n_tokens,
        "published": manifest.published_at,
        "pin": manifest.pin,
        "build": manifest.build_id,
        "checks": len(tree.checks),
        "failed": [_check_values(result) for result in tree.checks if not result.passed],
        "passed": tree.structural_checks_passed,
        "cost": None if record is None or record.cost is None else dict(record.cost),
        "change": None
        if record is None
        else {
            "previous": record.change.previous,
            "removed": record.change.n_removed,
            "added": len(record.change.added),
        },
    }


def _check_values(result: Any) -> dict[str, Any]:
    """Return the result of a check, without quotations, which may come from another build."""
    names = ("asset", "name", "passed", "severity")
    described = {"description": without_quotations(result.description)}
    return {name: getattr(result, name) for name in names} | described


def read_report(
    home: Home, settings: Settings, store: VectorStore, tree: str, *, with_map: bool
) -> Report:
    """Return a published tree with its findings; ``with_map`` adds the layout of its nodes.

    The text of a document consists of its published chunks.
    """
    (manifest,) = require_trees(store, (tree,))
    nodes = store.nodes(Where(trees=(tree,)))
    tables = home.table_store(settings)
    partition = partition_key(tree, settings.grouping)
    layers = range(1, len(manifest.layer_sizes))
    findings = read_findings(tables, partition, layers, read_curation(tables))
    record = read_partition_records(tables, partition).get(tree) if store.readers is None else None
    if record and record.build_id != manifest.build_id:
        record = None
    shown = ReportTree(
        name=tree,
        build_id=manifest.build_id,
        published_at=manifest.published_at,
        ended=manifest.end,
        nodes=tuple(nodes),
        documents=reassemble_documents(nodes),
        change=record.change if record else None,
    )
    return Report(
        name=tree,
        trees=(shown,),
        findings=None if findings is None else published_findings(findings, nodes),
        settings=settings_text(settings) if store.readers is None else "",
        cost=record.cost if record else None,
        points=read_map_points(home, store, nodes, tree) if with_map else None,
        link_of=make_link_function(settings),
    )


def map_values(
    home: Home, _settings: Settings, store: VectorStore, tree: str | None
) -> dict[str, Any]:
    """Return all nodes of a tree, or of the corpus, in the format of the map."""
    if tree is not None:
        require_trees(store, (tree,))
    nodes = store.nodes(Where(trees=None if tree is None else (tree,)))
    points = read_map_points(home, store, nodes, tree or "")
    return map_column_values(nodes, points, tree_titles(nodes))


def read_map_points(
    home: Home, store: VectorStore, nodes: Sequence[Node], tree: str
) -> NDArray[np.float32]:
    """Return the positions of nodes on a plane, shape ``(n_nodes, 2)``.

    The layout is not part of a tree: it is computed when a page needs it, and cached in the home
    until the nodes change. There is one file per tree, and one for all trees under an empty name,
    each per set of readers.
    """
    import numpy as np

    parts = [LAYOUT_VERSION, *(f"{node.tree}\0{node.id}\0{node.embedding_key}" for node in nodes)]
    key = hashlib.sha256("\n".join(parts).encode()).digest()
    path = home.map_path(tree if store.readers is None else digest("map", tree, *store.readers))
    cached = _read_layout(path, key, len(nodes))
    if cached is not None:
        return cached
    points = compute_node_points(nodes, store.vectors(node.embedding_key for node in nodes))
    try:
        replace_file(path, key + points.astype("<f4").tobytes())
    except OSError as error:
        warning = "the map could not be cached at %s and will be computed again: %s"
        logging.getLogger(__name__).warning(warning, path, error)
    return np.asarray(points)


def _read_layout(path: Path, key: bytes, n_nodes: int) -> NDArray[np.float32] | None:
    import numpy as np

    try:
        data = path.read_bytes()
    except OSError:
        return None
    if not data.startswith(key) or len(data) != len(key) + 8 * n_nodes:
        return None
    return np.frombuffer(data[len(key) :], dtype="<f4").reshape(n_nodes, 2)
