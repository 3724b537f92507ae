"""Ownership of published trees: the trees that a partition may remove."""

from collections import defaultdict
from collections.abc import Callable, Collection, Iterable, Mapping
from functools import cached_property

from raptor_assets import names
from raptor_core.documents.grouping import partition_key
from raptor_core.errors import DamagedTableError
from raptor_core.settings import GroupingSettings
from raptor_core.tables.files import TableStore


def abandoned_trees(
    tables: TableStore,
    grouping: GroupingSettings,
    partition: str,
    published: Callable[[str], Iterable[str]],
    live: Collection[str] = (),
) -> list[str]:
    """Return the trees of the partition's tables that are not in ``live``, sorted.

    A tree that moved to another partition, for example with ``grouping.shards``, is left out. If
    a table is damaged, the ``published`` trees with names of the partition replace it.
    """
    listed = [_trees(tables, asset, partition) for asset in (names.TREE, names.DOCUMENTS)]
    trees = {tree for of_table in listed for tree in of_table or ()}
    if None in listed:
        trees.update(published(partition))
    return sorted(
        tree
        for tree in trees - set(live)
        if (owner := partition_key(tree, grouping)) == partition
        or tree not in (_trees(tables, names.DOCUMENTS, owner) or ())
    )


class TreeIndex:
    """Index of trees by the partition of their names, made at the first look-up."""

    def __init__(self, listed: Callable[[], Iterable[str]], grouping: GroupingSettings) -> None:
        self._listed = listed
        self._grouping = grouping

    def __call__(self, partition: str) -> set[str]:
        """Return the names of one partition's trees."""
        return set(self._by_partition.get(partition, ()))

    @cached_property
    def _by_partition(self) -> Mapping[str, list[str]]:
        by_partition: defaultdict[str, list[str]] = defaultdict(list)
        for tree in self._listed():
            by_partition[partition_key(tree, self._grouping)].append(tree)
        return by_partition


def _trees(tables: TableStore, asset: str, partition: str) -> set[str] | None:
    try:
        table = tables.find((asset,), partition, ["tree"])
    except DamagedTableError:
        return None
    return set() if table is None else set(table.column("tree").to_pylist())
