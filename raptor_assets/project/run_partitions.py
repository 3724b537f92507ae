"""The partitions of a run: a single one by Dagster's tag, several by the run's configuration.

Dagster's own runs over several partitions cover neighbours only, in the order in which those were
added, and it plans every asset of every one of them. A run of the chain is told their names.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import dagster as dg

from raptor_assets import names
from raptor_assets.names import CorpusNames

MAX_RUN_PARTITIONS = 256
"""More take several runs: Dagster keeps a run's events in memory until it ends, some 3 kB for
each asset and partition."""

PARTITION_TAG = "dagster/partition"
RANGE_START_TAG = "dagster/asset_partition_range_start"
RANGE_END_TAG = "dagster/asset_partition_range_end"
"""Dagster's tags of a run over one partition, or over the range that was chosen in the UI."""


def runs_over(
    partitions: Sequence[str], longest: int = MAX_RUN_PARTITIONS
) -> list[tuple[str, ...]]:
    """Partitions by run, in as few runs as ``longest`` allows."""
    starts = range(0, len(partitions), longest)
    return [tuple(partitions[start : start + longest]) for start in starts]


def run_tags(partitions: Sequence[str]) -> dict[str, str]:
    """Tags of a run over these partitions."""
    if len(partitions) == 1:
        return {PARTITION_TAG: partitions[0]}
    return {"raptor/partitions": str(len(partitions))}


def run_config(partitions: Sequence[str], corpus: CorpusNames) -> dict[str, Any]:
    """Configuration of a run over these partitions."""
    if len(partitions) == 1:
        return {}
    return {"ops": {corpus.of(names.CHAIN): {"config": {"partitions": list(partitions)}}}}


def partitions_of(run: dg.DagsterRun, order: Sequence[str], corpus: CorpusNames) -> list[str]:
    """The partitions that a run names; ``order`` is that of the definition, for a range."""
    ops: Any = run.run_config.get("ops", {})
    told = ops.get(corpus.of(names.CHAIN), {}).get("config", {})
    if named := told.get("partitions"):
        return list(named)
    first = run.tags.get(PARTITION_TAG) or run.tags.get(RANGE_START_TAG)
    last = run.tags.get(PARTITION_TAG) or run.tags.get(RANGE_END_TAG)
    if first not in order or last not in order:
        return []
    return list(order[order.index(first) : order.index(last) + 1])
