"""Columns of the tables of the chain, by kind of asset; ``specs`` shows them in Dagster."""

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
