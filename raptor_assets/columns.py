"""Column schemas of the tables, for the UI."""

from __future__ import annotations

import dagster as dg

_NODES = (
    ("id", "string", "UUIDv5 of tree, layer and content"),
    ("tree", "string", "name of the tree"),
    ("layer", "int", "0 for leaves"),
    ("content_key", "string", "digest of text and settings; for a summary, of its children"),
    ("text", "string", "the chunk, or the summary"),
    ("n_tokens", "int", "tokens of text"),
    ("position", "int", "order in its document; of a summary, of its first child"),
    ("documents", "list[string]", "ids of the documents under the node"),
    ("children", "list[string]", "ids of the nodes that it summarizes"),
    ("fingerprint", "string", "settings that made the text"),
    ("embedding_key", "string", "key of the node's vector"),
    ("start", "int", "first character in the document; -1 for a summary"),
    ("end", "int", "character after the last; -1 for a summary"),
    ("section", "list[string]", "headings over the span, outermost first"),
    ("source", "string", "path or URL of the document"),
    ("context", "string", "what the embedder reads before the text"),
    ("metadata", "json", "of the document; of a summary, what its children agree on"),
    ("quality", "json", "numbers that judge the node"),
    ("slot", "string", "of a summary: identity of its cluster, kept while its text changes"),
)
_DOCUMENTS = (
    ("tree", "string", "tree that the document belongs to"),
    ("id", "string", "unique in the corpus"),
    ("title", "string", ""),
    ("source", "string", "path or URL"),
    ("text", "string", "what spans refer to"),
    ("sections", "json", "headings with the spans that they govern"),
    ("metadata", "json", ""),
    ("content_hash", "string", "changes with what the document says, not with its place"),
)
_CLUSTERS = (
    ("tree", "string", "name of the tree"),
    ("layer", "int", "layer that was clustered"),
    ("cluster", "int", "number of the cluster; -1 where the tree ended"),
    ("slot", "string", "identity of the cluster, kept while its members change"),
    ("node_ids", "list[string]", "members in document order"),
    ("ended", "string", "why the tree ended at this layer"),
    ("details", "json", "numbers that explain the clustering"),
    ("fit", "json", "the last fit of the layer, and how far it has moved since"),
)
_EMBEDDINGS = (
    ("tree", "string", "name of the tree"),
    ("id", "string", "id of the node"),
    ("embedding_key", "string", "key of its vector in Qdrant"),
)
_FINDINGS = (
    ("tree", "string", "name of the tree"),
    ("node_id", "string", "the audited summary"),
    ("position", "int", "number of the sentence in it, from 0"),
    ("sentence", "string", "as it stands in the summary"),
    ("judgement", "string", "supported, unsupported, or not judged"),
    ("score", "float", "support in [0, 1], on the judge's own scale"),
    ("missing", "list[string]", "what no child holds"),
    ("evidence_child", "string", "id of the child that comes closest; empty for none"),
    ("evidence", "string", "its words"),
    ("reason", "string", "why it is not supported, or not judged"),
    ("judge", "string", "who judged"),
    ("version", "string", "of the judge"),
    ("audit_key", "string", "digest of judge and texts: an equal one is not judged again"),
)
_TREES = (
    ("tree", "string", "name of the published tree"),
    ("build_id", "string", "digest of all nodes"),
    ("layer_sizes", "json", "nodes by layer, leaves first"),
    ("n_nodes", "int", ""),
    ("n_tokens", "int", ""),
    ("ended", "string", "why the tree ended at its top layer"),
    ("published_at", "string", "ISO 8601, UTC"),
)
_REPORTS = (
    ("tree", "string", "name of the tree"),
    ("build_id", "string", "digest of all nodes"),
    ("published_at", "string", "when these nodes were first published; ISO 8601, UTC"),
    ("node_ids", "list[string]", "what the next build's change is measured from"),
    ("change", "json", "new nodes, and the number of those that are gone"),
    ("cost", "json", "figures of the build that made the tree, where they are known"),
)
_BY_NAME = {
    "documents": _DOCUMENTS,
    "chunks": _NODES,
    "summaries": _NODES,
    "clusters": _CLUSTERS,
    "findings": _FINDINGS,
    "embeddings": _EMBEDDINGS,
    "tree": _TREES,
    "tree_report": _REPORTS,
}


def column_schema(key: dg.AssetKey) -> dg.TableSchema:
    """The columns of an asset's table."""
    columns = _BY_NAME[key.path[-1]]
    return dg.TableSchema(
        columns=[
            dg.TableColumn(name, kind, description=description or None)
            for name, kind, description in columns
        ]
    )
