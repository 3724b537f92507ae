"""Verdicts of the quality checks as evaluations that Dagster records and shows."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Any

import dagster as dg
from dagster._core.definitions.asset_checks.asset_check_evaluation import (
    AssetCheckEvaluationTargetMaterializationData as Target,
)

from raptor_assets.report_links import NodeLink
from raptor_assets.tables_markdown import worst_markdown
from raptor_core.quality.verdicts import Verdict


def evaluation(
    key: dg.AssetKey,
    partition: str | None,
    verdict: Verdict,
    blocking: bool,
    target: Target | None = None,
    link: NodeLink = str,
) -> dg.AssetCheckEvaluation:
    """One verdict on a partition, None for all: its numbers, the worst nodes, the remedy.

    ``link`` leads from the worst nodes into the partition's page.
    """
    return dg.AssetCheckEvaluation(
        asset_key=key,
        check_name=verdict.name,
        partition=partition,
        passed=verdict.passed,
        severity=_severity(verdict),
        blocking=blocking,
        description=_description(verdict),
        metadata=_metadata(verdict, link),
        target_materialization_data=target,
    )


def check_result(verdict: Verdict) -> dg.AssetCheckResult:
    """The same of an asset that has one check and no partition."""
    return dg.AssetCheckResult(
        passed=verdict.passed,
        check_name=verdict.name,
        severity=_severity(verdict),
        description=_description(verdict),
        metadata=_metadata(verdict, str),
    )


def past_top(checks: Iterable[dg.AssetCheckKey]) -> list[Verdict]:
    """Verdicts on a layer that every tree of the partition had, and has no more."""
    told = "This layer is above the top of every tree of this partition now."
    return [Verdict(check.name, True, "warn", told, {}) for check in checks]


def _description(verdict: Verdict) -> str:
    return " ".join(text for text in (verdict.summary, verdict.remedy) if text)


def _severity(verdict: Verdict) -> dg.AssetCheckSeverity:
    error = verdict.severity == "error"
    return dg.AssetCheckSeverity.ERROR if error else dg.AssetCheckSeverity.WARN


def _metadata(verdict: Verdict, link: NodeLink) -> Mapping[str, Any]:
    found: dict[str, Any] = dict(verdict.numbers)
    if verdict.remedy:
        found["remedy"] = verdict.remedy
    if verdict.worst:
        found["worst_nodes"] = dg.MetadataValue.md(worst_markdown(verdict.worst, link=link))
    return found
