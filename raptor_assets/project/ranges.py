"""Ranges of partitions: what one run of Dagster covers."""

from __future__ import annotations

from collections.abc import Collection, Sequence

import dagster as dg

from raptor_assets.names import CorpusNames

MAX_RUN_PARTITIONS = 256
"""A longer range is split into several runs: Dagster plans every asset of every partition, and
keeps a run's events in memory until it ends, some 3 kB for each."""

PARTITION_TAG = "dagster/partition"
RANGE_START_TAG = "dagster/asset_partition_range_start"
RANGE_END_TAG = "dagster/asset_partition_range_end"
"""Dagster's tags of a run over one partition, or over a range of them."""


def contiguous_ranges(
    order: Sequence[str], names: Collection[str], longest: int | None = None
) -> list[tuple[str, ...]]:
    """``names`` as runs of neighbours in ``order``, the order of the partitions definition.

    A run of Dagster covers a range of partitions; none holds more than ``longest``,
    or ``MAX_RUN_PARTITIONS``.
    """
    limit = longest or MAX_RUN_PARTITIONS
    ranges: list[list[str]] = []
    before = False
    for name in order:
        wanted = name in names
        if wanted and before and len(ranges[-1]) < limit:
            ranges[-1].append(name)
        elif wanted:
            ranges.append([name])
        before = wanted
    return [tuple(found) for found in ranges]


def order_with(instance: dg.DagsterInstance, new: Sequence[str], corpus: CorpusNames) -> list[str]:
    """Partition keys in the definition's order, once ``new`` ones are added."""
    existing = list(instance.get_dynamic_partitions(corpus.partitions))
    known = set(existing)
    return existing + [name for name in new if name not in known]


def range_tags(names: Sequence[str]) -> dict[str, str]:
    """Tags of a run over a range of partitions; over one they name it, and need no look-up."""
    if len(names) == 1:
        return {PARTITION_TAG: names[0]}
    return {RANGE_START_TAG: names[0], RANGE_END_TAG: names[-1]}
