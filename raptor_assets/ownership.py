"""Which trees a partition published and may take away again."""

from __future__ import annotations

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
    """Trees that stand in the partition's tables and not in ``live``, sorted.

    A tree that moved to another partition, as a change of ``grouping.shards`` moves it, belongs
    to that one and is left out. A damaged table tells nothing: then the trees that are
    ``published`` by names of the partition stand in for it (``Listing``).
    """
    own = [_trees(tables, asset, partition) for asset in (names.TREE, names.DOCUMENTS)]
    own_trees = {tree for trees in own for tree in trees or ()}
    if None in own:
        own_trees.update(published(partition))
    return sorted(
        tree
        for tree in own_trees - set(live)
        if (owner := partition_key(tree, grouping)) == partition
        or tree not in (_trees(tables, names.DOCUMENTS, owner) or ())
    )


class Listing:
    """Names of trees by the partition that their names belong to, listed when one is asked for."""

    def __init__(self, listed: Callable[[], Iterable[str]], grouping: GroupingSettings) -> None:
        self._listed = listed
        self._grouping = grouping

    def __call__(self, partition: str) -> set[str]:
        """The names of one partition."""
        return set(self._found.get(partition, ()))

    @cached_property
    def _found(self) -> Mapping[str, list[str]]:
        by_partition: defaultdict[str, list[str]] = defaultdict(list)
        for tree in self._listed():
            by_partition[partition_key(tree, self._grouping)].append(tree)
        return by_partition


def _trees(tables: TableStore, asset: str, partition: str) -> set[str] | None:
    """Names of the trees in a table; None where it is damaged."""
    try:
        table = tables.find((asset,), partition, ["tree"])
    except DamagedTableError:
        return None
    return set() if table is None else set(table.column("tree").to_pylist())
