"""The check of an audit: the share of audited summaries with a sentence that no child supports.

``raptor_core.audit`` draws the sample and judges the sentences.
"""

from raptor_core.audit.base import SentenceFinding
from raptor_core.audit.report import AuditReport
from raptor_core.checks.base import DIGITS, CheckInfo, CheckMeasurement, CheckResult, WorstNode
from raptor_core.settings import Settings

PAPER_UNSUPPORTED = 0.04
HALLUCINATION = CheckInfo(
    "hallucination_audit",
    "warn",
    "Share of sampled summaries with a sentence that their children do not support "
    f"(the paper found {PAPER_UNSUPPORTED:.0%} of nodes).",
)


def evaluate_audit(report: AuditReport, settings: Settings) -> CheckResult:
    """Compare the share of summaries with an unsupported sentence with ``max_unsupported``."""
    share, n_audited = report.unsupported_share, len(report.audited_nodes)
    n_bad, n_unknown = len(report.unsupported_node_ids), len(report.unjudged_findings)
    numbers: dict[str, float] = {
        "summaries": report.population,
        "audited": n_audited,
        "audited_unsupported": n_bad,
        "sentences": len(report.findings),
        "sentences_unsupported": len(report.unsupported_findings),
        "sentences_not_judged": n_unknown,
        "findings_marked_right": report.n_marked_right,
        "findings_marked_wrong": report.n_marked_wrong,
    }
    summary = "No summary was audited."
    if n_audited:
        numbers["unsupported_share"] = share
        scores = [f.score for f in report.findings if f.judgement != "not judged"]
        if scores:
            numbers["score_mean"] = round(sum(scores) / len(scores), DIGITS)
        summary = (
            f"{n_bad} of {n_audited} audited summaries contain a sentence that no child supports "
            f"(at most {settings.checks.max_unsupported:.0%}; judge {report.judge} "
            f"{report.version})."
        )
    if n_marked := report.n_marked_right + report.n_marked_wrong:
        summary += f" People marked {n_marked} findings, {report.n_marked_right} as right."
    if n_unknown:
        summary += f" {n_unknown} sentences were not judged: {report.unjudged_findings[0].reason}."
    exceeds = share > settings.checks.max_unsupported
    remedy = "Repair the judge's endpoint or model, and materialize the findings again."
    if exceeds:
        remedy = (
            "Read these sentences; mark the findings that are wrong, or try another "
            "summarizer.model."
        )
    passed = not exceeds and not n_unknown
    measured = CheckMeasurement(
        passed, summary, numbers, _worst_sentences(report), remedy, only_warns=not exceeds
    )
    return HALLUCINATION.make_result(measured)


def _worst_sentences(report: AuditReport) -> list[WorstNode]:
    """Return the least supported sentence of each node, the worst first."""
    ranked = sorted(report.unsupported_findings, key=lambda f: (f.score, f.node_id))
    worst = {finding.node_id: finding for finding in reversed(ranked)}
    trees = {node.id: node.tree for node in report.audited_nodes}
    return [
        WorstNode(f.node_id, f.sentence, f.score, _explain_finding(f), trees[f.node_id])
        for f in ranked
        if f is worst[f.node_id]
    ]


def _explain_finding(finding: SentenceFinding) -> str:
    missing = ", ".join(finding.missing[:6])
    reasons = [finding.reason, f"not in any child: {missing}" if missing else ""]
    closest = f"closest: {finding.evidence}" if finding.evidence else ""
    return "; ".join(part for part in (*reasons, closest) if part)
