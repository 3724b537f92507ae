"""Metadata of audits: what was judged, what was found, how much of it is told again above."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import dagster as dg

from raptor_assets.metadata import BUILT, SHOWN_ROWS, usage_metadata
from raptor_assets.partition_state import PartitionState
from raptor_assets.report_links import NodeLink
from raptor_assets.tables_markdown import markdown_table, shorten
from raptor_core.audit.report import AuditReport, Propagation, measure_propagation
from raptor_core.models.money import Usage
from raptor_core.nodes import Tree

Metadata = dict[str, Any]
SHOWN_CHARS = 160


def findings_metadata(report: AuditReport, usage: Usage, link: NodeLink = str) -> Metadata:
    """Of ``layer_k/findings``.

    ``usage`` is what the judge's endpoint took: the partition's share by nodes, where it was asked
    about several partitions at once; ``link`` makes the cell of a node from its id.
    """
    rows = [
        (
            link(f.node_id),
            shorten(f.sentence, SHOWN_CHARS),
            f"{f.score:.2f}",
            shorten("; ".join((f.reason, *f.missing[:3])), SHOWN_CHARS),
            shorten(f.evidence, SHOWN_CHARS),
        )
        for f in report.unsupported[:SHOWN_ROWS]
    ]
    found: Metadata = {
        "state": BUILT,
        "judge": f"{report.judge} {report.version}",
        "n_summaries": report.population,
        "n_audited": len(report.audited),
        "n_judged": report.n_judged,
        "n_unsupported": len(report.unsupported_nodes),
        "n_sentences": len(report.findings),
        "n_sentences_unsupported": len(report.unsupported),
        "n_sentences_not_judged": len(report.not_judged),
    }
    if usage.calls:
        found |= usage_metadata(usage)
    if rows:
        head = ("node", "sentence", "score", "why", "closest passage")
        found["unsupported_sentences"] = dg.MetadataValue.md(markdown_table(head, rows))
    return found


def audit_metadata(state: PartitionState, trees: Sequence[Tree]) -> Metadata:
    """What this run's audits found, and how much of it the layers above tell again."""
    if not state.audits:
        return {}
    total = Propagation()
    for number, report in state.audits.items():
        above = [n for t in trees if number + 1 < len(t.layers) for n in t.layers[number + 1].nodes]
        total += measure_propagation(report.findings, above)
    audits, usage = state.audits.values(), state.audit_usage
    found: Metadata = {
        "summaries_audited": sum(len(report.audited) for report in audits),
        "summaries_judged": sum(report.n_judged for report in audits),
        "summaries_unsupported": sum(len(report.unsupported_nodes) for report in audits),
        "findings_traceable": total.n_traceable,
        "findings_repeated_above": total.n_repeated,
    }
    if usage.calls:
        found |= {f"audit_{name}": value for name, value in usage_metadata(usage).items()}
    return found
