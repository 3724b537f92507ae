"""Dagster events of partitions: results of checks, and failures."""

from collections.abc import Iterable, Mapping, Sequence
from typing import Any

import dagster as dg

from raptor_assets.assets.names import BUILD_FAILED, FAILED_AT, ChainAsset, join_first
from raptor_assets.chain.context import RunContext
from raptor_assets.dagster_private import Target
from raptor_assets.home.question_log import QuestionLog
from raptor_assets.shown.markdown import worst_nodes_markdown
from raptor_assets.shown.progress import FailedCheck, Failure, group_by_cause
from raptor_core.checks.base import CheckResult, apply_severities
from raptor_core.errors import RaptorError
from raptor_core.evaluation.asked import check_unanswered_share
from raptor_core.evaluation.golden import evaluate_golden, measure_golden
from raptor_core.evaluation.golden_file import Question
from raptor_core.retrieval import Query


def to_check_evaluation(
    key: dg.AssetKey, partition: str | None, verdict: CheckResult, target: Target | None = None
) -> dg.AssetCheckEvaluation:
    """Return the event of a check result."""
    return dg.AssetCheckEvaluation(
        asset_key=key,
        partition=partition,
        blocking=verdict.severity == "error",
        target_materialization_data=target,
        **_to_arguments(verdict),
    )


def to_check_result(verdict: CheckResult) -> dg.AssetCheckResult:
    """Return the result of an asset's only check, without partitions."""
    return dg.AssetCheckResult(**_to_arguments(verdict))


def passed_results_above_top(checks: Iterable[str]) -> list[CheckResult]:
    """Return passed results for a layer that no tree of the partition reaches any more."""
    summary = "This layer is above the top of every tree of this partition now."
    return [CheckResult(True, summary, {}, name=name, severity="warn") for name in sorted(checks)]


def _to_arguments(verdict: CheckResult) -> dict[str, Any]:
    metadata: dict[str, Any] = dict(verdict.numbers)
    if verdict.remedy:
        metadata["remedy"] = verdict.remedy
    if verdict.worst:
        metadata["worst_nodes"] = dg.MetadataValue.md(worst_nodes_markdown(verdict.worst))
    return {
        "check_name": verdict.name,
        "passed": verdict.passed,
        "severity": dg.AssetCheckSeverity[verdict.severity.upper()],
        "description": " ".join(filter(None, (verdict.summary, verdict.remedy))),
        "metadata": metadata,
    }


def measure_golden_set(context: RunContext, cases: Sequence[Question]) -> list[CheckResult]:
    """Measure the golden set on all published trees; an error only causes a warning."""
    try:
        query = Query.from_settings(context.settings)
        report = measure_golden(cases, context.components.embedder, context.store.open, query)
    except RaptorError as error:
        context.warn(f"the golden set was not measured: {error}")
        return []
    checks = context.settings.checks
    return apply_severities([evaluate_golden(report, checks)], checks)


def measure_kept_questions(context: RunContext) -> list[CheckResult]:
    """Measure the questions that servers kept; an error only causes a warning."""
    settings = context.settings
    try:
        asked = QuestionLog(context.access.home.path, settings).read_questions()
    except RaptorError as error:
        context.warn(f"the kept questions were not measured: {error}")
        return []
    return apply_severities([check_unanswered_share(asked, settings.checks)], settings.checks)


def failed_checks_in(
    asset: ChainAsset, partition: str, verdicts: Iterable[CheckResult]
) -> tuple[FailedCheck, ...]:
    """Return the failed checks among a partition's results on an asset."""
    return tuple(
        FailedCheck(asset.name, v.name, partition, v.severity, f"{v.summary} {v.remedy}")
        for v in verdicts
        if not v.passed
    )


NAMED_FAILURES = 20
NO_REASON = "the run failed; see it in the UI"


def failure_event(key: dg.AssetKey, name: str, failure: Failure) -> dg.AssetObservation:
    """Return the event that reports a partition's failure on its page of an asset."""
    return dg.AssetObservation(
        asset_key=key,
        partition=name,
        description=f"{BUILD_FAILED}failed at {failure.asset}: {failure.reason}",
        metadata={FAILED_AT: failure.asset, "reason": failure.reason},
    )


def to_run_failure(failures: Mapping[str, Failure], n_partitions: int) -> dg.Failure:
    """Return the error of a step of ``n_partitions``, which names each failed one."""
    causes = group_by_cause(failures)
    shown = [
        f"- {join_first(partitions, NAMED_FAILURES)}, at {failure.asset}: {failure.reason}"
        for partitions, failure in causes[:NAMED_FAILURES]
    ]
    if len(causes) > NAMED_FAILURES:
        shown.append(f"- and {len(causes) - NAMED_FAILURES} more causes, named in the log")
    return dg.Failure(
        description=(
            f"{len(failures)} of {n_partitions} partitions failed; what was published of them "
            "stays as it was, and the others are finished:\n" + "\n".join(shown)
        ),
        metadata={
            "failed_partitions": dg.MetadataValue.json(sorted(failures)),
            "reasons": dg.MetadataValue.json(
                {name: f"{failure.asset}: {failure.reason}" for name, failure in failures.items()}
            ),
        },
        allow_retries=False,
    )


def failure_reason(context: dg.RunFailureSensorContext) -> str:
    """Return why a run failed, for run-failure sensors: partitions, assets, causes.

    Dagster's own message of a failed run names only steps.
    """
    reasons = [describe_failure(event) for event in context.get_step_failure_events()]
    return "\n".join(reasons) or context.failure_event.message or NO_REASON


def describe_failure(event: dg.DagsterEvent) -> str:
    """Return why a step or run failed: the text of a ``dagster.Failure``, else of the error."""
    failed = event.step_failure_data if event.is_step_failure else None
    if failed and failed.user_failure_data and failed.user_failure_data.description:
        return failed.user_failure_data.description
    if failed is None or failed.error is None:
        return NO_REASON
    return (failed.error.cause or failed.error).message.strip()
