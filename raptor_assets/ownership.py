"""Which trees a partition published and may take away again."""

from __future__ import annotations

from collections.abc import Collection

import dagster as dg

from raptor_assets import keys
from raptor_core.documents.grouping import partition_key
from raptor_core.settings import GroupingSettings
from raptor_core.tables import TableStore


def abandoned_trees(
    tables: TableStore, grouping: GroupingSettings, partition: str, live: Collection[str] = ()
) -> list[str]:
    """Trees that stand in the partition's tables and not in ``live``, sorted.

    A tree that moved to another partition, as a change of ``grouping.shards`` moves it, belongs
    to that one and is left out.
    """
    found = {*_trees(tables, keys.TREE, partition), *_trees(tables, keys.DOCUMENTS, partition)}
    return sorted(
        tree
        for tree in found - set(live)
        if (owner := partition_key(tree, grouping)) == partition
        or tree not in _trees(tables, keys.DOCUMENTS, owner)
    )


def _trees(tables: TableStore, key: dg.AssetKey, partition: str) -> set[str]:
    if not tables.exists(key.path, partition):
        return set()
    return {str(tree) for tree in tables.read(key.path, partition)["tree"]}
