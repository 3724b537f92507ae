"""Runs that have begun or wait for it, and the partitions that they are for."""

from __future__ import annotations

from collections.abc import Sequence

import dagster as dg

from raptor_assets import keys
from raptor_assets.names import CorpusNames
from raptor_assets.project.jobs import BUILD, DROP
from raptor_assets.project.run_partitions import partitions_of

_STATUSES = [
    dg.DagsterRunStatus.QUEUED,
    dg.DagsterRunStatus.NOT_STARTED,
    dg.DagsterRunStatus.STARTING,
    dg.DagsterRunStatus.STARTED,
]


def partitions_under_way(
    instance: dg.DagsterInstance, order: Sequence[str], corpus: CorpusNames
) -> set[str] | None:
    """Partitions that unfinished runs of a corpus are for; None where there are no such runs.

    ``order`` is that of the partitions definition, which the range of a run refers to.
    """
    runs = instance.get_runs(dg.RunsFilter(statuses=_STATUSES))
    runs = [run for run in runs if _is_of(run, corpus)]
    if not runs:
        return None
    return {name for run in runs for name in partitions_of(run, order, corpus)}


def _is_of(run: dg.DagsterRun, corpus: CorpusNames) -> bool:
    """Whether a run builds or drops anything of a corpus."""
    if run.job_name in (corpus.of(BUILD), corpus.of(DROP)):
        return True
    return any(keys.own(corpus, key) is not None for key in run.asset_selection or ())
