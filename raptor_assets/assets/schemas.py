"""Columns of the tables of the chain, by kind of asset; ``specs`` shows them in Dagster."""

from __future__ import annotations

from raptor_core.tables.schema import Schema
from raptor_core.tables.values import CLUSTERS, DOCUMENTS, FINDINGS, NODES

TREES = Schema(
    ("tree", "string", "name of the published tree"),
    ("build_id", "string", "digest of all nodes"),
    ("layer_sizes", "json", "nodes by layer, leaves first"),
    ("n_nodes", "int"),
    ("n_tokens", "int"),
    ("ended", "string", "why the tree ended at its top layer"),
    ("published_at", "string", "ISO 8601, UTC"),
    ("change", "json", "when the build before was published, new nodes, number of those gone"),
    ("cost", "json", "figures of the build that made the tree, where they are known"),
)

SCHEMAS = {
    "documents": DOCUMENTS,
    "chunks": NODES,
    "summaries": NODES,
    "clusters": CLUSTERS,
    "findings": FINDINGS,
    "tree": TREES,
}
"""Schema by kind of asset; ``layer_k/embeddings`` has nodes and vectors."""
