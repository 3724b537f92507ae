"""Alerts on a corpus: the sensor ``NAME_alerts``, and the failed checks of a run.

Each tick compares the present problems with those of the previous tick, so each problem is reported
once, and its end once more. What "wrong" means for a check is decided in ``chain``.
"""

from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass
from typing import Any

import dagster as dg
from pydantic import BaseModel

from raptor_assets.assets import names
from raptor_assets.assets.names import count_phrase, join_first
from raptor_assets.chain.runs import fail_dead_runs, unfinished_runs
from raptor_assets.corpus.changes import decide_run
from raptor_assets.corpus.upstream import explain_older_than_upstream
from raptor_assets.home.access import CorpusAccess
from raptor_assets.home.records import read_failures, read_outcomes
from raptor_assets.shown.progress import FailedCheck
from raptor_core.errors import StoreLockedError
from raptor_core.models.money.ledger import BUDGET_ENDED

SECONDS = 60  # between two ticks
NAMED = 5  # partitions that a line names
BUDGET, FAILED = "the budget was reached", "a build published nothing"
WAITS, STALE = "a build waits for approval", "the source has changed since the last build"


@dataclass(frozen=True, slots=True)
class Alert:
    """New and solved problems since the last alert on a corpus: a subject and lines of text."""

    corpus: str
    subject: str
    text: str


Problems = dict[str, dict[str, str]]
"""Reasons by problem ("warn: cluster_size of layer_1/clusters") and by partition, "" for all."""


class _AlertCursor(BaseModel):
    """Problems that were reported or seen: those of runs, and those of the source.

    Attributes:
        changed: when a run last changed; the records are read again after that.
        pending: problems of the source that are reported if the next tick still finds them.
    """

    changed: str = ""
    records: Problems = {}
    source: Problems = {}
    pending: Problems = {}

    def without_reasons(self) -> "_AlertCursor":
        """Return the cursor to keep, since only new problems are explained."""
        kept = (self.records, self.source, self.pending)
        records, source, pending = (
            {label: dict.fromkeys(of, "") for label, of in problems.items()} for problems in kept
        )
        return _AlertCursor(changed=self.changed, records=records, source=source, pending=pending)


def failed_checks(context: dg.RunStatusSensorContext) -> list[FailedCheck]:
    """Return the checks that failed in a run, warnings among them, for run-status sensors.

    Example:
        >>> import dagster as dg
        >>> @dg.run_status_sensor(run_status=dg.DagsterRunStatus.SUCCESS)
        ... def watch_checks(context):
        ...     for check in failed_checks(context):
        ...         print(check.severity, check.name, check.asset, check.partition, check.summary)
    """
    return failed_checks_of(context.instance, context.dagster_run.run_id)


def failed_checks_of(instance: dg.DagsterInstance, run_id: str) -> list[FailedCheck]:
    """Return the checks that failed in a run."""
    logs = instance.all_logs(run_id, of_type=dg.DagsterEventType.ASSET_CHECK_EVALUATION)
    events = (log.dagster_event for log in logs)
    results = (event.asset_check_evaluation_data for event in events if event)
    return [
        FailedCheck(
            result.asset_key.to_user_string(),
            result.check_name,
            result.partition or "",
            result.severity.value.lower(),
            result.description or "",
        )
        for result in results
        if not result.passed
    ]


def build_alert_sensor(access: CorpusAccess, alert: Callable[[Alert], Any]) -> dg.SensorDefinition:
    """Return the sensor that calls ``alert`` with what is new and what recovered since last time.

    An error of ``alert`` fails the tick, and the next one sends the same message again.
    """

    @dg.sensor(
        name=access.names.full_name("alerts"),
        description="Sends failed checks, stale sources and unpublished partitions, each once.",
        minimum_interval_seconds=SECONDS,
        default_status=dg.DefaultSensorStatus.RUNNING,
    )
    def alerts(context: dg.SensorEvaluationContext) -> dg.SensorResult:
        before = _AlertCursor.model_validate_json(context.cursor or "{}")
        after = _find_problems_now(access, context.instance, before)
        known, found = before.records | before.source, after.records | after.source
        message = _make_alert(
            access.names.corpus, _remove_known(found, known), _remove_known(known, found)
        )
        if message:
            alert(message)
        reason = message.subject if message else "nothing changed"
        return dg.SensorResult(skip_reason=reason, cursor=after.without_reasons().model_dump_json())

    return alerts


def _find_problems_now(
    access: CorpusAccess, instance: dg.DagsterInstance, before: _AlertCursor
) -> _AlertCursor:
    """Return what is wrong now."""
    fail_dead_runs(instance)
    latest = instance.get_run_records(limit=1, order_by="update_timestamp")
    changed = str(latest[0].update_timestamp) if latest else ""
    is_same = bool(changed) and changed == before.changed
    records = before.records if is_same else _find_recorded_problems(access, instance)
    try:
        pending = _find_source_problems(access, instance, records)
    except StoreLockedError:  # a build is at work
        pending = before.pending
    seen = before.pending | before.source
    source = {
        label: still
        for label, of in pending.items()
        if (still := {name: why for name, why in of.items() if name in seen.get(label, {})})
    }
    return _AlertCursor(changed=changed, records=records, source=source, pending=pending)


def _find_recorded_problems(access: CorpusAccess, instance: dg.DagsterInstance) -> Problems:
    """Return failed checks, failed builds, and builds that wait, from the last runs."""
    corpus, settings = access.names, access.settings
    begun = set(instance.get_dynamic_partitions(corpus.partitions_name))
    checks = names.partition_checks(settings, corpus) + names.corpus_checks(settings, corpus)
    problems: Problems = {}
    for (asset, name, partition), last in read_outcomes(instance, checks).items():
        if not last.passed and partition in {*begun, None}:
            label = f"{last.severity}: {name} of {asset}"
            problems.setdefault(label, {})[partition or ""] = last.description
    for partition, reason in read_failures(instance, corpus.tree).items():
        if partition in begun:
            label = BUDGET if BUDGET_ENDED in reason else FAILED
            problems.setdefault(label, {})[partition] = reason
    if settings.runs.publish == "when_approved":
        problems[WAITS] = dict.fromkeys(access.waiting_builds.select_waiting(sorted(begun)), "")
    return problems


def _find_source_problems(
    access: CorpusAccess, instance: dg.DagsterInstance, records: Problems
) -> Problems:
    """Return why the published documents are not those of the source; none while a run works."""
    if unfinished_runs(instance, access.names) or not access.source.settings.has_sources:
        return {}
    if reason := explain_older_than_upstream(access, instance):
        return {"the source is older than its upstream asset": {"": reason}}
    decision = decide_run(access, instance.get_dynamic_partitions(access.names.partitions_name))
    if decision.refusal:
        return {"nothing is built": {"": str(decision.refusal)}}
    failed = {*records.get(BUDGET, ()), *records.get(FAILED, ())}
    stale = dict.fromkeys((n for n in decision.to_build if n not in failed), "")
    return {STALE: stale} if stale else {}


def _remove_known(problems: Mapping[str, Mapping[str, str]], known: Mapping[str, Any]) -> Problems:
    """Return the problems of partitions that are not among the known ones."""
    pairs = (
        (label, {name: why for name, why in of.items() if name not in known.get(label, {})})
        for label, of in problems.items()
    )
    return {label: of for label, of in pairs if of}


def _make_alert(corpus: str, new: Problems, over: Problems) -> Alert | None:
    if not (new or over):
        return None
    counts = [count_phrase(len(new), "new problem")] if new else []
    counts += [f"{len(over)} recovered"] if over else []
    lines = [
        *_describe_problems(new),
        *(f"recovered: {line}" for line in _describe_problems(over, explained=False)),
    ]
    return Alert(corpus, f"{corpus or 'raptor'}: {', '.join(counts)}", "\n".join(lines))


def _describe_problems(problems: Problems, *, explained: bool = True) -> Iterable[str]:
    for label, of in sorted(problems.items()):
        where = join_first(sorted(filter(None, of)), NAMED)
        reason = next(iter(of.values())) if explained else ""
        yield ": ".join(filter(None, (label, where, reason)))
