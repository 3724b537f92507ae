"""Columns of the tables of the chain, by kind of asset; ``specs`` shows them in Dagster."""

from __future__ import annotations

from collections.abc import Iterable
from typing import TYPE_CHECKING

from raptor_core.store.base import Manifest
from raptor_core.tables.schema import Schema
from raptor_core.tables.values import CLUSTERS, DOCUMENTS, FINDINGS, NODES

if TYPE_CHECKING:
    import pyarrow as pa

TREES = Schema(
    ("tree", "string", "name of the published tree"),
    ("build_id", "string", "digest of all nodes"),
    ("layer_sizes", "json", "nodes by layer, leaves first"),
    ("n_nodes", "int"),
    ("n_tokens", "int"),
    ("ended", "string", "why the tree ended at its top layer"),
    ("published_at", "string", "ISO 8601, UTC"),
)

REPORTS = Schema(
    ("tree", "string", "name of the tree"),
    ("build_id", "string", "digest of all nodes"),
    ("published_at", "string", "when these nodes were first published; ISO 8601, UTC"),
    ("node_ids", "list[string]", "what the next build's change is measured from"),
    ("change", "json", "new nodes, and the number of those that are gone"),
    ("cost", "json", "figures of the build that made the tree, where they are known"),
)

SCHEMAS = {
    "documents": DOCUMENTS,
    "chunks": NODES,
    "summaries": NODES,
    "clusters": CLUSTERS,
    "findings": FINDINGS,
    "tree": TREES,
    "tree_report": REPORTS,
}
"""Schema by kind of asset; ``layer_k/embeddings`` has nodes and vectors."""


def trees_table(manifests: Iterable[Manifest]) -> pa.Table:
    """Return the table of a partition's published trees."""
    return TREES.table(
        (m.tree, m.build_id, m.layer_sizes, sum(m.layer_sizes), m.n_tokens, m.end, m.published_at)
        for m in manifests
    )
