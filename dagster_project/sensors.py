"""The sensor that keeps the partitions in step with the source."""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Protocol

import dagster as dg

from dagster_project.dead_runs import fail_dead_runs
from dagster_project.jobs import BUILD, DROP, drop_config
from dagster_project.plan import (
    Changes,
    Known,
    contiguous_ranges,
    find_changes,
    order_with,
    range_tags,
)
from raptor_assets import keys
from raptor_assets.versions import build_version
from raptor_core.documents import Corpus
from raptor_core.errors import EmptySourceError
from raptor_core.identity import digest
from raptor_core.settings import Settings

INTERVAL_SECONDS = 30


class Source(Protocol):
    """What the sensor watches."""

    def stamp(self) -> str:
        """Changes when any file of the source was written, added or removed."""

    def corpus(self) -> Corpus:
        """All documents, and what could not be read."""


@dataclass(frozen=True, slots=True)
class _Cursor:
    """What the last tick saw, and what it has requested that is not finished."""

    seen: str
    requested: Mapping[str, str]

    @classmethod
    def parse(cls, text: str | None) -> _Cursor:
        values = json.loads(text) if text else {}
        return cls(values.get("seen", ""), values.get("requested", {}))

    def text(self) -> str:
        return json.dumps({"seen": self.seen, "requested": dict(self.requested)}, sort_keys=True)


def build_source_sensor(
    settings: Settings, source: Source, known: Known, targets: Sequence[Any]
) -> dg.SensorDefinition:
    """The sensor over the settings' source.

    It runs from the start: whoever opens the UI expects changed documents to be picked up. A
    source that cannot be read fails the tick, an empty one skips it; neither removes anything.
    Each change is requested once: a run that fails stays red until it is started again, in the
    UI or by ``raptor build``, or until the documents change once more.

    Args:
        settings: of the home.
        source: lists and reads the documents.
        known: documents that a partition was last built from.
        targets: the build and the drop job.
    """

    @dg.sensor(
        name="source_sensor",
        description="Finds new, changed and removed documents and requests exactly the "
        "partitions concerned.",
        jobs=targets,
        minimum_interval_seconds=INTERVAL_SECONDS,
        default_status=dg.DefaultSensorStatus.RUNNING,
    )
    def source_sensor(context: dg.SensorEvaluationContext) -> dg.SensorResult | dg.SkipReason:
        fail_dead_runs(context.instance)
        if not settings.source.paths:
            return dg.SkipReason("no source is named; set paths under [source] in raptor.toml")
        existing = context.instance.get_dynamic_partitions(str(keys.TREES.name))
        seen = digest("seen", source.stamp(), build_version(settings), *existing)
        before = _Cursor.parse(context.cursor)
        if before.seen == seen and not before.requested:
            return dg.SkipReason(f"{len(existing)} partitions are up to date; no file changed")
        try:
            corpus = source.corpus()
        except EmptySourceError as error:
            return dg.SkipReason(
                f"{error}. The {len(existing)} partitions stay as they are; to remove them, run "
                f"the job {DROP}"
            )
        changes = find_changes(context.instance, settings, corpus, known)
        return _request(context.instance, changes, before.requested, seen)

    return source_sensor


def _request(
    instance: dg.DagsterInstance, changes: Changes, requested: Mapping[str, str], seen: str
) -> dg.SensorResult:
    due = {name: token for name, token in changes.tokens.items() if requested.get(name) != token}
    new = [name for name in changes.new if name in due]
    builds = contiguous_ranges(order_with(instance, new), due.keys() - set(changes.removed))
    removed = [name for name in changes.removed if name in due]
    return dg.SensorResult(
        run_requests=[*_builds(builds, due), *_drops(removed, due)],
        dynamic_partitions_requests=[keys.TREES.build_add_request(new)] if new else [],
        cursor=_Cursor(seen, changes.tokens).text(),
        skip_reason=None if due else _why_nothing(changes),
    )


def _builds(ranges: Sequence[Sequence[str]], due: Mapping[str, str]) -> Iterator[dg.RunRequest]:
    for names in ranges:
        yield dg.RunRequest(
            run_key=digest(BUILD, *(due[name] for name in names)),
            job_name=BUILD,
            tags=range_tags(names),
        )


def _drops(removed: Sequence[str], due: Mapping[str, str]) -> Iterator[dg.RunRequest]:
    if removed:
        yield dg.RunRequest(
            run_key=digest(DROP, *(due[name] for name in removed)),
            job_name=DROP,
            run_config=drop_config(list(removed)),
        )


def _why_nothing(changes: Changes) -> str:
    told = [f"{len(changes.unchanged)} partitions are up to date"]
    waiting = len(changes.tokens)
    if waiting:
        told.append(f"{waiting} are requested and not finished, or failed (then start them again)")
    if changes.held:
        told.append(f"{len(changes.held)} cannot be read now and stay: {', '.join(changes.held)}")
    return "; ".join(told)
