"""Dagster events of partitions: results of checks, and failures."""

import statistics
from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import Any

import dagster as dg

from raptor_assets import keys
from raptor_assets.dagster_private import Target
from raptor_assets.names import NOT_EXECUTED, TREE, CorpusNames
from raptor_assets.progress import Failure
from raptor_assets.report_pages import NodeLink
from raptor_assets.run_context import RunContext
from raptor_assets.tables_markdown import markdown_table, worst_markdown
from raptor_core.errors import RaptorError
from raptor_core.evaluation.golden import GOLDEN_RETRIEVAL, evaluate_golden, measure_golden
from raptor_core.evaluation.golden_file import Question
from raptor_core.quality.checks import CheckResult
from raptor_core.retrieval import Query


def evaluation(
    key: dg.AssetKey,
    partition: str | None,
    verdict: CheckResult,
    blocking: bool,
    target: Target | None = None,
    link: NodeLink = str,
    spread: str = "",
) -> dg.AssetCheckEvaluation:
    """Return the event of a check result; ``spread`` is Markdown on all partitions of the run."""
    return dg.AssetCheckEvaluation(
        asset_key=key,
        partition=partition,
        blocking=blocking,
        target_materialization_data=target,
        **_arguments(verdict, link, spread),
    )


def check_result(verdict: CheckResult) -> dg.AssetCheckResult:
    """Return the result of an asset's only check, without partitions."""
    return dg.AssetCheckResult(**_arguments(verdict))


def past_top(checks: Iterable[dg.AssetCheckKey]) -> list[CheckResult]:
    """Return results for a layer that no tree of the partition has any more."""
    summary = "This layer is above the top of every tree of this partition now."
    return [CheckResult(check.name, True, "warn", summary, {}) for check in checks]


def _arguments(verdict: CheckResult, link: NodeLink = str, spread: str = "") -> dict[str, Any]:
    metadata: dict[str, Any] = dict(verdict.numbers)
    if verdict.remedy:
        metadata["remedy"] = verdict.remedy
    if verdict.worst:
        metadata["worst_nodes"] = dg.MetadataValue.md(worst_markdown(verdict.worst, link=link))
    if spread:
        metadata["over_partitions"] = dg.MetadataValue.md(spread)
    return {
        "check_name": verdict.name,
        "passed": verdict.passed,
        "severity": dg.AssetCheckSeverity[verdict.severity.upper()],
        "description": " ".join(filter(None, (verdict.summary, verdict.remedy))),
        "metadata": metadata,
    }


def spread_markdown(numbers_of: Mapping[str, Mapping[str, float]]) -> str:
    """Return a table of a check's numbers over partitions, which Dagster does not plot."""
    rows = []
    for name in dict.fromkeys(name for numbers in numbers_of.values() for name in numbers):
        values = sorted((of[name], partition) for partition, of in numbers_of.items() if name in of)
        (least, at_least), (most, at_most) = values[0], values[-1]
        median = statistics.median(value for value, _ in values)
        figures = (f"{value:.4g}" for value in (least, median, most))
        rows.append((name, str(len(values)), *figures, at_least, at_most))
    head = ("number", "partitions", "least", "median", "most", "least in", "most in")
    return markdown_table(head, rows)


GOLDEN_KEY = dg.AssetCheckKey(keys.of(TREE), GOLDEN_RETRIEVAL.name)


def golden_events(
    context: RunContext,
    cases: Sequence[Question],
    corpus: CorpusNames,
) -> Iterator[dg.AssetCheckEvaluation]:
    """Measure the golden set, unless readers see another embedder's trees; errors only warn."""
    try:
        with context.store.open() as store:
            if not store.live:
                return
        query = Query.from_settings(context.settings)
        report = measure_golden(cases, context.components.embedder, context.store.open, query)
    except RaptorError as error:
        context.warn(f"the golden set was not measured: {error}")
        return
    check = dg.AssetCheckKey(keys.shown(corpus, keys.of(TREE)), GOLDEN_RETRIEVAL.name)
    verdict = evaluate_golden(report, context.settings.checks)
    yield evaluation(check.asset_key, None, verdict, blocking=False)


NAMED_FAILURES = 20


def failure_events(
    key: dg.AssetKey, name: str, failure: Failure, checks: Iterable[str]
) -> Iterator[dg.AssetObservation | dg.AssetCheckEvaluation]:
    """Report a partition's failure on its page of an asset, and in the asset's checks."""
    description = f"The build of this partition failed at {failure.asset}: {failure.reason}"
    yield dg.AssetObservation(
        asset_key=key,
        partition=name,
        description=description,
        metadata={"failed_at": failure.asset, "reason": failure.reason},
    )
    for check in checks:
        yield dg.AssetCheckEvaluation(
            asset_key=key,
            check_name=check,
            partition=name,
            passed=False,
            severity=dg.AssetCheckSeverity.WARN,
            description=f"{NOT_EXECUTED} {description}",
        )


def run_failure(failures: Mapping[str, Failure], n_partitions: int) -> dg.Failure:
    """Return the error of a step of ``n_partitions``, which names each failed one."""
    named = [
        f"- {name}, at {failure.asset}: {failure.reason}" for name, failure in failures.items()
    ]
    shown = named[:NAMED_FAILURES]
    if len(named) > NAMED_FAILURES:
        shown.append(f"- and {len(named) - NAMED_FAILURES} more, named in the log")
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
