"""Findings of people, in a small table next to the findings of a layer's judge.

Builds and audits neither make nor change them, and no version of a tree contains them. Reports,
drops and exports treat them like the judge's.
"""

from collections import defaultdict
from collections.abc import Iterable, Sequence

from raptor_assets.assets.names import manual_findings
from raptor_core.audit.base import SentenceFinding
from raptor_core.audit.report import AuditReport
from raptor_core.documents import partition_key
from raptor_core.identity import digest
from raptor_core.nodes import Node
from raptor_core.settings import Settings
from raptor_core.tables.files import TableStore
from raptor_core.tables.values import FINDINGS, audit_to_table

JUDGE = "hand"


def keep_manual_findings(
    tables: TableStore,
    settings: Settings,
    nodes: Sequence[Node],
    findings: Iterable[SentenceFinding],
) -> None:
    """Save findings on ``nodes`` in their partitions, in place of earlier ones on these nodes."""
    by_node: dict[str, list[SentenceFinding]] = defaultdict(list)
    for finding in findings:
        by_node[finding.node_id].append(finding)
    places: dict[tuple[str, int], list[Node]] = defaultdict(list)
    for node in nodes:
        if node.id in by_node:
            places[partition_key(node.tree, settings.grouping), node.layer].append(node)
    for (partition, layer), members in places.items():
        report = AuditReport(
            judge=JUDGE,
            version="1",
            population=len(members),
            audited=tuple(members),
            keys=tuple(digest(JUDGE, node.id, node.text) for node in members),
            by_node=tuple(tuple(by_node[node.id]) for node in members),
        )
        key = manual_findings(layer).path
        previous = tables.find(key, partition)
        judged = {node.id for node in members}
        rows = [] if previous is None else FINDINGS.rows(previous)
        kept = [row for row in rows if row[1] not in judged]
        table = FINDINGS.table([*kept, *FINDINGS.rows(audit_to_table(report))])
        tables.write(key, partition, table)
