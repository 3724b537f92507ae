"""Columns of the tables, by asset, and as the UI shows them."""

from __future__ import annotations

import dagster as dg

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
    ("rebuilds", "json", "the last rebuilds, newest first: sizes, cost, words before and after"),
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
"""By the last part of an asset's key; ``layer_k/embeddings`` has none, but nodes and vectors."""


def column_schema(key: dg.AssetKey) -> dg.TableSchema:
    """What readers of an asset get."""
    columns = [
        dg.TableColumn(column.name, column.kind, description=column.description or None)
        for column in SCHEMAS.get(key.path[-1], NODES).columns
    ]
    if key.path[-1] not in SCHEMAS:
        columns.append(dg.TableColumn("vector", "list[float]", description="from Qdrant"))
    return dg.TableSchema(columns)
