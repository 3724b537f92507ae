"""The sampled audit as a check: how many audited summaries say what no child says."""

from __future__ import annotations

from raptor_core.audit.base import SentenceFinding
from raptor_core.audit.report import AuditReport
from raptor_core.quality.verdicts import N_WORST, CheckInfo, Verdict, WorstNode, verdict
from raptor_core.settings.models import CheckSettings

PAPER_UNSUPPORTED = 0.04
HALLUCINATION = CheckInfo(
    "hallucination_audit",
    "warn",
    "Share of sampled summaries with a sentence that their children do not support "
    f"(the paper found {PAPER_UNSUPPORTED:.0%} of nodes).",
)


def evaluate_audit(report: AuditReport, checks: CheckSettings) -> Verdict:
    """Whether at most ``max_unsupported`` of the audited summaries hold such a sentence."""
    share, n_audited = report.unsupported_share, len(report.audited)
    n_bad = len(report.unsupported_nodes)
    numbers = {
        "summaries": float(report.population),
        "audited": float(n_audited),
        "audited_unsupported": float(n_bad),
        "sentences": float(len(report.findings)),
        "sentences_unsupported": float(len(report.unsupported)),
    }
    summary = "No summary was audited."
    if n_audited:
        numbers["unsupported_share"] = share
        summary = (
            f"{n_bad} of {n_audited} audited summaries hold a sentence that no child supports "
            f"(at most {checks.max_unsupported:.0%}; judge {report.judge} {report.version})."
        )
    remedy = "Read the sentences named; try another summarizer.model, or a temperature of 0."
    passed = share <= checks.max_unsupported
    return verdict(HALLUCINATION, passed, summary, numbers, _worst(report), remedy)


def _worst(report: AuditReport) -> list[WorstNode]:
    """The least supported sentence of each node that has one, least supported first."""
    ranked = sorted(report.unsupported, key=lambda f: (f.score, f.node_id))
    by_node: dict[str, SentenceFinding] = {}
    for finding in ranked:
        by_node.setdefault(finding.node_id, finding)
    return [
        WorstNode(f.node_id, f.sentence, f.score, "not in any child: " + ", ".join(f.missing[:6]))
        for f in list(by_node.values())[:N_WORST]
    ]
