"""Audit reports as tables, and their findings back: a row for each sentence."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

from raptor_core.audit.base import SentenceFinding
from raptor_core.audit.report import AuditReport
from raptor_core.tables.schema import Schema

if TYPE_CHECKING:
    import pyarrow as pa

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
    """One row per sentence of an audited node, in order; ``position`` counts within the node."""
    return FINDINGS.table(
        (
            node.tree,
            node.id,
            position,
            finding.sentence,
            finding.judgement,
            finding.score,
            finding.missing,
            finding.evidence_child or "",
            finding.evidence,
            finding.reason,
            report.judge,
            report.version,
            key,
        )
        for node, key, found in zip(report.audited, report.keys, report.by_node, strict=True)
        for position, finding in enumerate(found)
    )


def table_to_findings(table: pa.Table) -> list[SentenceFinding]:
    """The findings of a table that ``audit_to_table`` made, in order."""
    rows = FINDINGS.rows(table)
    return [
        SentenceFinding(node_id, text, judgement, score, missing, child or None, evidence, reason)
        for _, node_id, _, text, judgement, score, missing, child, evidence, reason, *_ in rows
    ]


def known_findings(table: pa.Table) -> dict[str, Sequence[SentenceFinding]]:
    """The same by audit key; where two nodes have the same texts, the first one's."""
    found: dict[str, list[SentenceFinding]] = {}
    keys = table.column("audit_key").to_pylist()
    for key, finding in zip(keys, table_to_findings(table), strict=True):
        of_key = found.setdefault(key, [])
        if not of_key or of_key[0].node_id == finding.node_id:
            of_key.append(finding)
    return dict(found)
