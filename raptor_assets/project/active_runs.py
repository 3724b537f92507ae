"""Runs that have begun or wait for it, and the partitions that they are for."""

from __future__ import annotations

from collections.abc import Sequence

import dagster as dg

from raptor_assets import keys
from raptor_assets.names import CorpusNames
from raptor_assets.project.jobs import BUILD, DROP
from raptor_assets.project.ranges import PARTITION_TAG, RANGE_END_TAG, RANGE_START_TAG

_STATUSES = [
    dg.DagsterRunStatus.QUEUED,
    dg.DagsterRunStatus.NOT_STARTED,
    dg.DagsterRunStatus.STARTING,
    dg.DagsterRunStatus.STARTED,
]


def partitions_under_way(
    instance: dg.DagsterInstance, order: Sequence[str], corpus: CorpusNames
) -> set[str] | None:
    """Partitions of ``order`` that unfinished runs of a corpus are for; None where there are none.

    ``order`` is that of the partitions definition, which the range of a run refers to.
    """
    runs = instance.get_runs(dg.RunsFilter(statuses=_STATUSES))
    runs = [run for run in runs if _is_of(run, corpus)]
    if not runs:
        return None
    places = {name: at for at, name in enumerate(order)}
    found: set[str] = set()
    for run in runs:
        first = run.tags.get(PARTITION_TAG) or run.tags.get(RANGE_START_TAG)
        last = run.tags.get(PARTITION_TAG) or run.tags.get(RANGE_END_TAG)
        if first in places and last in places:
            found.update(order[places[first] : places[last] + 1])
    return found


def _is_of(run: dg.DagsterRun, corpus: CorpusNames) -> bool:
    """Whether a run builds or drops anything of a corpus."""
    if run.job_name in (corpus.of(BUILD), corpus.of(DROP)):
        return True
    return any(keys.own(corpus, key) is not None for key in run.asset_selection or ())
