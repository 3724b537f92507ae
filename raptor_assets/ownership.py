"""Which trees a partition published and may take away again."""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterable

import dagster as dg

from raptor_assets import keys
from raptor_core.documents.grouping import partition_key
from raptor_core.errors import DamagedTableError
from raptor_core.settings import GroupingSettings
from raptor_core.tables import TableStore


def abandoned_trees(
    tables: TableStore,
    grouping: GroupingSettings,
    partition: str,
    published: Callable[[], Iterable[str]],
    live: Collection[str] = (),
) -> list[str]:
    """Trees that stand in the partition's tables and not in ``live``, sorted.

    A tree that moved to another partition, as a change of ``grouping.shards`` moves it, belongs
    to that one and is left out. A damaged table tells nothing: then the trees that are
    ``published`` and whose names belong to the partition stand in for it.
    """
    own = [_trees(tables, key, partition) for key in (keys.TREE, keys.DOCUMENTS)]
    found = {tree for trees in own for tree in trees or ()}
    if None in own:
        found |= {tree for tree in published() if partition_key(tree, grouping) == partition}
    return sorted(
        tree
        for tree in found - set(live)
        if (owner := partition_key(tree, grouping)) == partition
        or tree not in (_trees(tables, keys.DOCUMENTS, owner) or ())
    )


def _trees(tables: TableStore, key: dg.AssetKey, partition: str) -> set[str] | None:
    """Names of the trees in a table; None where it is damaged."""
    if not tables.exists(key.path, partition):
        return set()
    try:
        return {str(tree) for tree in tables.read(key.path, partition)["tree"]}
    except DamagedTableError:
        return None
