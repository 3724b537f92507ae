"""The golden set as a check: its hit rate against the bound, and against earlier builds."""

from __future__ import annotations

from collections.abc import Sequence

from raptor_core.evaluation.hits import GoldenHit, GoldenReport
from raptor_core.quality.statistics import measure_drift
from raptor_core.quality.verdicts import CheckInfo, Measured, Verdict, WorstNode, percent
from raptor_core.settings import CheckSettings

GOLDEN_RETRIEVAL = CheckInfo(
    "golden_retrieval",
    "warn",
    "Share of the golden set's questions whose answer is retrieved, against the bound set and "
    "against earlier builds. It is of all published trees together.",
)


def evaluate_golden(
    report: GoldenReport, checks: CheckSettings, past: Sequence[float] = ()
) -> Verdict:
    """Whether the hit rate is at least ``min_golden_hit_rate`` and not far under ``past`` ones.

    ``past`` are the hit rates of earlier builds, oldest first; a rate above them is no drift.
    """
    rate = report.hit_rate
    drift = measure_drift(rate, past, checks.history_builds)
    numbers = report.numbers()
    if drift.is_known:
        numbers |= {"hit_rate_median": round(drift.median, 4), "hit_rate_z": round(drift.z, 4)}
    low = bool(report.hits) and rate < checks.min_golden_hit_rate
    fallen = drift.z < -checks.max_drift
    summary = (
        f"{len(report.hits) - len(report.missed)} of {len(report.hits)} questions find their "
        f"answer, {percent(rate)} (at least {percent(checks.min_golden_hit_rate)})"
    )
    if fallen:
        summary += f"; the median of {drift.n} earlier builds is {percent(drift.median)}"
    remedy = (
        "Run `raptor eval golden` for every question's rank; look at documents, chunking and "
        "embedder that changed since it was higher."
    )
    worst = [_worst(hit) for hit in report.missed]
    passed = not (low or fallen)
    return GOLDEN_RETRIEVAL.verdict(Measured(passed, f"{summary}.", numbers, worst, remedy))


def _worst(hit: GoldenHit) -> WorstNode:
    """A missed question with the node that was found first in place of its answer."""
    first = hit.retrieved.hits[0].node if hit.retrieved.hits else None
    wanted = ", ".join(hit.case.documents) or f"“{hit.case.spans[0][:60]}”"
    why = f"expected {wanted}; found {', '.join(first.documents[:3]) if first else 'nothing'}"
    node_id, tree = (first.id, first.tree) if first else ("", "")
    return WorstNode(node_id, hit.case.question, 0.0, why, tree)
