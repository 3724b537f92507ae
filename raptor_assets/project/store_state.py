"""What the vector store really holds, against what Dagster recorded as published.

A store that was lost, restored from an older copy or damaged would else count as up to date: the
record does not change with it.
"""

from __future__ import annotations

import time
from collections import defaultdict
from collections.abc import Collection, Iterable, Mapping

from raptor_assets.project.plan import StoreState
from raptor_assets.project.resources import Resources, StoreResource
from raptor_assets.versions import published_mark
from raptor_core.documents.grouping import partition_key
from raptor_core.errors import StoreLockedError
from raptor_core.home.folder import QUICK_TIMEOUT_SECONDS
from raptor_core.settings import GroupingSettings
from raptor_core.store.base import Mark, Where
from raptor_core.store.folder import store_stamp
from raptor_core.store.store import VectorStore

COUNTED_TREES = 1000
"""Trees whose nodes are counted at once."""


def read_store_state(
    place: StoreResource, grouping: GroupingSettings, *, mend: bool = False
) -> StoreState | None:
    """What every collection of the corpus holds; None while another process has the store.

    With ``mend`` every point is read and what is damaged taken away, so that it is built anew.
    """
    try:
        return tuple(_marks(_whole(store, mend=mend), grouping) for store in place.open_each())
    except StoreLockedError:  # whoever publishes at the moment finds it usable
        return None


def partitions_there(
    recorded: Collection[str],
    place: StoreResource,
    grouping: GroupingSettings,
    asked: Iterable[str],
) -> set[str]:
    """Recorded partitions; where one that is asked for is not among them, published ones too."""
    if set(asked) <= set(recorded):
        return set(recorded)
    return {*recorded, *(partition_key(tree, grouping) for tree in place.trees())}


def _marks(marks: Iterable[Mark], grouping: GroupingSettings) -> Mapping[str, tuple[str, ...]]:
    by_partition: defaultdict[str, list[str]] = defaultdict(list)
    for mark in marks:
        by_partition[partition_key(mark.tree, grouping)].append(published_mark(mark))
    return {name: tuple(marks) for name, marks in by_partition.items()}


def _whole(store: VectorStore, *, mend: bool) -> list[Mark]:
    """Marks of the trees that have as many live nodes as they say.

    Nodes are counted for many trees at once, of these alone: nodes that lost their manifest do not
    make up for nodes that are missing.
    """
    if mend:
        store.mend()
    marks = store.marks()
    whole: list[Mark] = []
    for at in range(0, len(marks), COUNTED_TREES):
        part = marks[at : at + COUNTED_TREES]
        agree = _count(store, part) == sum(mark.n_nodes for mark in part)
        whole += part if agree else [m for m in part if _count(store, [m]) == m.n_nodes]
    return whole


def _count(store: VectorStore, marks: Iterable[Mark]) -> int:
    return store.count(Where(trees=tuple(mark.tree for mark in marks)))


SERVER_SECONDS = 3600
"""How often the sensor looks at a server: it has no files of ours that would tell."""


def stamp_now(resources: Resources) -> str:
    """Differs once the store may hold something else than it did."""
    store = resources.settings.store
    if store.kind == "server":
        return f"hour {int(time.time() // SERVER_SECONDS)}"
    return store_stamp(resources.home.qdrant, store.corpus)


def glance(resources: Resources) -> StoreState | None:
    """What the store holds, for the sensor, which waits for nobody; None where it is in use."""
    store = resources.settings.store
    hurry = {
        "lock_seconds": 0.0,
        "max_retries": 0,
        "timeout_seconds": min(store.timeout_seconds, QUICK_TIMEOUT_SECONDS),
    }
    place = StoreResource(resources, store.model_copy(update=hurry))
    return read_store_state(place, resources.settings.grouping)
