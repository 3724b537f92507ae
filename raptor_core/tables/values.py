"""Documents, nodes, clusters, findings and costs as tables and back, without loss.

``schema.py`` converts rows to columns; ``files.py`` stores the tables.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import asdict
from operator import attrgetter
from typing import TYPE_CHECKING, Any

from raptor_core.audit.base import SentenceFinding
from raptor_core.audit.report import AuditReport
from raptor_core.documents.base import Document, lists_to_tuples
from raptor_core.nodes import NODE_FIELDS, ClusterFit, Node, TreeEnd
from raptor_core.tables.schema import Schema
from raptor_core.tree.cluster import Clustering
from raptor_formats.blocks import Section

if TYPE_CHECKING:
    import pyarrow as pa

NODES = Schema(*NODE_FIELDS)
"""Fields of a node, in their order."""

DOCUMENTS = Schema(
    ("tree", "string", "tree that the document belongs to"),
    ("id", "string", "unique in the corpus"),
    ("title", "string"),
    ("source", "string", "path or URL"),
    ("text", "string", "what spans refer to"),
    ("sections", "json", "headings with the spans that they govern"),
    ("metadata", "json"),
    ("content_hash", "string", "changes with what the document says, not with its place"),
    ("pages", "json", "starts of its pages in the text, where it has any"),
    ("blocks", "string", "its headings, paragraphs, rows and code, in packed form"),
    ("readers", "list[string]", "users and groups who may read it"),
)

CLUSTERS = Schema(
    ("tree", "string", "name of the tree"),
    ("layer", "int", "layer that was clustered"),
    ("cluster", "int", "number of the cluster; -1 where the tree ended"),
    ("slot", "string", "identity of the cluster, kept while its members change"),
    ("node_ids", "list[string]", "members in document order"),
    ("responsibilities", "json", "of the mixture's component for each, where it was fitted now"),
    ("ended", "string", "why the tree ended at this layer"),
    ("details", "json", "numbers that explain the clustering"),
    ("fit", "json", "the last fit of the layer, and how far it has moved since"),
)


def nodes_to_table(nodes: Iterable[Node]) -> pa.Table:
    """Return a table with a row for each node."""
    return NODES.to_table(map(attrgetter(*NODES.names), nodes))


def table_to_nodes(table: pa.Table) -> tuple[Node, ...]:
    """Return the nodes of a table that ``nodes_to_table`` made."""
    rows = (dict(zip(NODES.names, row, strict=True)) for row in NODES.rows(table))
    return tuple(
        Node(
            **{
                **row,
                "metadata": lists_to_tuples(row["metadata"]),
                "paragraphs": tuple((start, n) for start, n in row["paragraphs"]),
            }
        )
        for row in rows
    )


def documents_to_table(documents: Mapping[str, Sequence[Document]]) -> pa.Table:
    """Return a table with a row for each document; ``documents`` are by tree."""
    return DOCUMENTS.to_table(
        (
            tree,
            *(document.id, document.title, document.source, document.text),
            [asdict(section) for section in document.sections],
            document.metadata,
            document.content_hash,
            document.pages,
            document.blocks,
            document.readers or (),
        )
        for tree, members in documents.items()
        for document in members
    )


def table_to_documents(table: pa.Table) -> dict[str, tuple[Document, ...]]:
    """Return the documents of a table that ``documents_to_table`` made, by tree."""
    documents_of: dict[str, list[Document]] = {}
    for row in DOCUMENTS.rows(table):
        tree, name, title, source, text, sections, metadata, _, pages, blocks, readers = row
        document = Document(
            id=name,
            text=text,
            title=title,
            source=source,
            sections=tuple(Section(**section) for section in sections),
            metadata=lists_to_tuples(metadata),
            pages=tuple(pages),
            blocks=blocks,
            readers=tuple(readers) or None,
        )
        documents_of.setdefault(tree, []).append(document)
    return {tree: tuple(documents) for tree, documents in documents_of.items()}


def clusterings_to_table(clusterings: Iterable[Clustering]) -> pa.Table:
    """Return a table with a row for each cluster; a tree that ended has one row with its reason."""
    rows: list[tuple[Any, ...]] = []
    for layer in clusterings:
        shared = (layer.details, asdict(layer.fit) if layer.fit else None)
        if layer.end:
            rows.append((layer.tree, layer.layer, -1, "", (), None, layer.end.reason, *shared))
        responsibilities = layer.responsibilities or ((),) * len(layer.groups)
        rows += [
            (layer.tree, layer.layer, number, slot, group, values or None, "", *shared)
            for number, (group, slot, values) in enumerate(
                zip(layer.groups, layer.slots, responsibilities, strict=True)
            )
        ]
    return CLUSTERS.to_table(rows)


def table_to_clusterings(table: pa.Table) -> dict[str, Clustering]:
    """Return the clusterings of a table that ``clusterings_to_table`` made, by tree."""
    rows_of: dict[str, list[tuple[Any, ...]]] = {}
    for row in CLUSTERS.rows(table):
        rows_of.setdefault(row[0], []).append(row)
    return {tree: _rows_to_clustering(rows) for tree, rows in rows_of.items()}


def _rows_to_clustering(rows: Sequence[tuple[Any, ...]]) -> Clustering:
    (tree, layer, _, _, _, _, reason, details, fit), *_ = rows
    groups = () if reason else rows
    responsibilities = tuple(tuple(row[5] or ()) for row in groups)
    return Clustering(
        tree=tree,
        layer=layer,
        groups=tuple(row[4] for row in groups),
        end=TreeEnd(layer, reason) if reason else None,
        details=details,
        slots=tuple(row[3] for row in groups),
        responsibilities=responsibilities if any(responsibilities) else (),
        fit=ClusterFit(**fit) if fit else None,
    )


FINDINGS = Schema(
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


def audit_to_table(report: AuditReport) -> pa.Table:
    """Return a table with a row for each sentence of an audited node, in order."""
    return FINDINGS.to_table(
        (
            node.tree,
            node.id,
            position,
            *(finding.sentence, finding.judgement, finding.score, finding.missing),
            finding.evidence_child or "",
            finding.evidence,
            finding.reason,
            report.judge,
            report.version,
            key,
        )
        for node, key, findings in zip(
            report.audited_nodes, report.audit_keys, report.findings_by_node, strict=True
        )
        for position, finding in enumerate(findings)
    )


def table_to_findings(table: pa.Table) -> list[SentenceFinding]:
    """Return the findings of a table that ``audit_to_table`` made, in order."""
    rows = FINDINGS.rows(table)
    return [
        SentenceFinding(node_id, text, judgement, score, missing, child or None, evidence, reason)
        for _, node_id, _, text, judgement, score, missing, child, evidence, reason, *_ in rows
    ]


def findings_by_audit_key(table: pa.Table) -> dict[str, Sequence[SentenceFinding]]:
    """Return findings by audit key; if two nodes have equal texts, those of the first."""
    findings: dict[str, list[SentenceFinding]] = {}
    keys = table.column("audit_key").to_pylist()
    for key, finding in zip(keys, table_to_findings(table), strict=True):
        of_key = findings.setdefault(key, [])
        if not of_key or of_key[0].node_id == finding.node_id:
            of_key.append(finding)
    return dict(findings)
