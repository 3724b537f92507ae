"""Contents of the vector store, to compare with the records.

Without it a store that was lost, damaged or restored from a copy would count as up to date.
"""

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

COUNTED_TREES = 1000  # whose nodes are counted at once


def read_store_state(place: StoreResource, grouping: GroupingSettings) -> StoreState | None:
    """Read what each collection holds, None if the store is in use."""
    try:
        return tuple(_marks(_complete(store), grouping) for store in place.open_each())
    except StoreLockedError:  # the process that publishes finds the store usable
        return None


def existing_partitions(
    recorded: Collection[str],
    place: StoreResource,
    grouping: GroupingSettings,
    chosen: Iterable[str],
) -> set[str]:
    """Return the recorded partitions, and published ones if a chosen one is not recorded."""
    if set(chosen) <= set(recorded):
        return set(recorded)
    return {*recorded, *(partition_key(tree, grouping) for tree in place.trees())}


def _marks(marks: Iterable[Mark], grouping: GroupingSettings) -> Mapping[str, tuple[str, ...]]:
    by_partition: defaultdict[str, list[str]] = defaultdict(list)
    for mark in marks:
        by_partition[partition_key(mark.tree, grouping)].append(published_mark(mark))
    return {name: tuple(marks) for name, marks in by_partition.items()}


def _complete(store: VectorStore) -> list[Mark]:
    marks = store.marks()
    complete: list[Mark] = []
    for at in range(0, len(marks), COUNTED_TREES):
        part = marks[at : at + COUNTED_TREES]
        agree = _count(store, part) == sum(mark.n_nodes for mark in part)
        complete += part if agree else [m for m in part if _count(store, [m]) == m.n_nodes]
    return complete


def _count(store: VectorStore, marks: Iterable[Mark]) -> int:
    return store.count(Where(trees=tuple(mark.tree for mark in marks)))


SERVER_SECONDS = 3600  # between looks at a server, which has no files to watch


def stamp_now(resources: Resources) -> str:
    """Return a stamp that differs once the store may have changed."""
    store = resources.settings.store
    if store.kind == "server":
        return f"hour {int(time.time() // SERVER_SECONDS)}"
    return store_stamp(resources.home.qdrant, store.corpus)


def read_without_waiting(resources: Resources) -> StoreState | None:
    """Read what the store holds, for the sensor; None while it is in use."""
    store = resources.settings.store
    hurry = {
        "lock_seconds": 0.0,
        "max_retries": 0,
        "timeout_seconds": min(store.timeout_seconds, QUICK_TIMEOUT_SECONDS),
    }
    place = StoreResource(resources, store.model_copy(update=hurry))
    return read_store_state(place, resources.settings.grouping)
