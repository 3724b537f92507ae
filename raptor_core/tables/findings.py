"""Audit reports as data frames, and their findings back: a row for each sentence."""

from __future__ import annotations

from collections.abc import Hashable, Mapping, Sequence
from typing import TYPE_CHECKING, Any

from raptor_core.audit.base import SentenceFinding
from raptor_core.audit.report import AuditReport

if TYPE_CHECKING:
    import pandas as pd

FINDING_COLUMNS = (
    *("tree", "node_id", "position", "sentence", "judgement", "score", "missing"),
    *("evidence_child", "evidence", "reason", "judge", "version", "audit_key"),
)


def audit_to_frame(report: AuditReport) -> pd.DataFrame:
    """One row per sentence of an audited node, in order; ``position`` counts within the node."""
    import pandas as pd

    rows: list[tuple[Any, ...]] = [
        (
            node.tree,
            node.id,
            position,
            finding.sentence,
            finding.judgement,
            finding.score,
            list(finding.missing),
            finding.evidence_child or "",
            finding.evidence,
            finding.reason,
            report.judge,
            report.version,
            key,
        )
        for node, key, found in zip(report.audited, report.keys, report.by_node, strict=True)
        for position, finding in enumerate(found)
    ]
    return pd.DataFrame(rows, columns=list(FINDING_COLUMNS))


def frame_to_findings(frame: pd.DataFrame) -> list[SentenceFinding]:
    """The findings of a frame that ``audit_to_frame`` made, in order."""
    return [_finding(row) for row in frame.to_dict("records")]


def known_findings(frame: pd.DataFrame) -> dict[str, Sequence[SentenceFinding]]:
    """The same by audit key; where two nodes have the same texts, the first one's."""
    found: dict[str, list[SentenceFinding]] = {}
    for key, finding in zip(frame["audit_key"], frame_to_findings(frame), strict=True):
        of_key = found.setdefault(key, [])
        if not of_key or of_key[0].node_id == finding.node_id:
            of_key.append(finding)
    return dict(found)


def _finding(row: Mapping[Hashable, Any]) -> SentenceFinding:
    return SentenceFinding(
        node_id=row["node_id"],
        sentence=row["sentence"],
        judgement=row["judgement"],
        score=float(row["score"]),
        missing=tuple(row["missing"]),
        evidence_child=row["evidence_child"] or None,
        evidence=row["evidence"],
        reason=row["reason"],
    )
