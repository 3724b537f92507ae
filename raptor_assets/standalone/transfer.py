"""Export and import of a home's trees with their tables, and what Dagster is told of it.

The tables of a partition go along where all its trees do: then the next build of the same source
takes leaves, clusters, findings and costs from them, too. Without them it still takes every vector
and every summary from the store. What people decided about the trees goes along as well: acts are
written once, so those of the export and those of the home stand side by side.
"""

from __future__ import annotations

from collections.abc import Collection, Iterable, Sequence
from dataclasses import dataclass

import dagster as dg

from raptor_assets import keys, names
from raptor_assets.project.home import Home
from raptor_assets.provenance import version_tags
from raptor_assets.specs import TABLE_SCHEMAS
from raptor_assets.standalone.instance import open_instance
from raptor_core.documents import partition_key
from raptor_core.errors import ExportError, StoreMismatchError, TableError
from raptor_core.places import Folder
from raptor_core.settings import GroupingSettings, Settings
from raptor_core.store import open_store
from raptor_core.store.base import StoreIdentity
from raptor_core.tables.curation import KEY, tree_of_act
from raptor_core.tables.files import table_name
from raptor_core.transfer.exporting import check_target, export_trees, finish_export
from raptor_core.transfer.importing import (
    ImportedTree,
    check_embedder,
    differing_trees,
    import_trees,
    read_export,
    select_trees,
    verify,
)
from raptor_core.transfer.tables import check_table, tree_of_act_file
from raptor_core.transfer.values import Export, ExportFolder, TableFile

IMPORTED = "imported"
"""Data version of a tree that came by import: the next build looks at its partition again."""


@dataclass(frozen=True, slots=True)
class ImportReport:
    """What an import did.

    ``tables`` are partitions whose tables came along, ``n_acts`` the decisions, and the decisions
    taken back.
    """

    trees: tuple[ImportedTree, ...]
    tables: tuple[str, ...]
    n_acts: int


def export_home(home: Home, settings: Settings, url: str, trees: Sequence[str] = ()) -> Export:
    """Write the home's published trees, or these, into a folder.

    Raises:
        UnknownTreeError: one of them is not published.
        ExportError: the folder holds an export already, or refuses.
        StoreError: the store is locked, damaged or unreachable, or a tree is not whole.
    """
    folder = ExportFolder(url)
    check_target(folder)
    with open_store(settings.store, home.qdrant) as store:
        files = export_trees(store, folder, trees or None)
        live = [mark.tree for mark in store.marks()]
        whole = _whole([file.manifest.tree for file in files], live, settings.grouping)
        place = Folder(home.tables_url(settings), TableError)
        given = [(tuple(key), partition) for partition in whole for key in keys.table_paths()]
        known = home.table_store(settings)
        acts = [act for act in known.names(KEY) if not trees or tree_of_act(known, act) in trees]
        tables = []
        for key, partition in [*given, *((KEY, act) for act in acts)]:
            data = place.find(table_name(key, partition))
            if data is not None:
                name = f"tables/{table_name(key, partition)}"
                tables.append(TableFile(key, partition, folder.put(name, data)))
        grouping = settings.grouping.model_dump(mode="json")
        return finish_export(folder, store, files, tables, grouping)


def import_home(
    home: Home,
    settings: Settings,
    url: str,
    wanted: StoreIdentity,
    trees: Sequence[str] = (),
    *,
    replace: bool = False,
) -> ImportReport:
    """Publish the trees of an export, or these, once all of it was found whole.

    Args:
        wanted: identity of the settings' store.
        trees: only these; none means all.
        replace: also trees that are published with other content.

    Raises:
        ExportError: a file of it is missing, damaged or newer; nothing was changed.
        StoreMismatchError: another embedder; or trees would be replaced without ``replace``.
        UnknownTreeError: the export does not hold one of ``trees``.
        StoreError: the store refuses; what was published before stays.
    """
    folder = ExportFolder(url)
    whole = read_export(folder)
    check_embedder(whole, wanted, folder.name)
    export = select_trees(whole, trees)
    names = [file.manifest.tree for file in export.trees]
    verify(folder, export)
    tables = _fitting(whole, names, settings.grouping)
    _check_tables(folder, tables, names, settings.grouping)
    acts = _acts(folder, whole, trees)
    home.ensure()
    place = Folder(home.tables_url(settings), TableError)
    _check_known(folder, place, acts)
    owner = home.names().corpus
    with open_store(settings.store, home.qdrant, wanted, owner=owner) as store:
        others = differing_trees(store, export)
        if others and not replace:
            raise StoreMismatchError(
                f"{len(others)} trees are published with other content, first {others[0]!r}; "
                "--replace puts those of the export in their place. Nothing was changed"
            )
        _record(home, settings.grouping, names)
        done = import_trees(store, folder, export)
        live = [mark.tree for mark in store.marks()]
    partitions = set(_whole(names, live, settings.grouping))
    changed = {partition_key(one.tree, settings.grouping) for one in done if one.published.changed}
    put = [table for table in tables if table.partition in partitions]
    for table in [*put, *acts]:
        name = table_name(table.key, table.partition)
        # Tables of trees that were published already are the home's own.
        if replace or table.partition in changed or not place.exists(name):
            place.write(name, folder.read(table.name, table.stamp))
    whose = sorted({table.partition for table in put})
    return ImportReport(tuple(done), tuple(whose), len(acts))


def _check_tables(
    folder: ExportFolder,
    tables: Iterable[TableFile],
    names: Iterable[str],
    grouping: GroupingSettings,
) -> None:
    """Refuse tables that hold anything but rows of the trees of their partitions."""
    trees: dict[str, set[str]] = {}
    for name in names:
        trees.setdefault(partition_key(name, grouping), set()).add(name)
    for table in tables:
        data, schema = folder.read(table.name, table.stamp), TABLE_SCHEMAS[table.key[-1]]
        check_table(data, folder.shown(table.name), schema, trees[table.partition])


def _acts(folder: ExportFolder, whole: Export, trees: Collection[str]) -> list[TableFile]:
    """Return the decisions of an export that are about these trees, or all for none."""
    acts = []
    for table in whole.tables:
        if table.key == KEY:
            data = folder.read(table.name, table.stamp)
            tree = tree_of_act_file(data, folder.shown(table.name), table.partition)
            if not trees or tree in trees:
                acts.append(table)
    return acts


def _check_known(folder: ExportFolder, place: Folder, acts: Iterable[TableFile]) -> None:
    """Refuse decisions that the home holds under the same id with another content."""
    for act in acts:
        known = place.find(table_name(act.key, act.partition))
        if known is not None and known != folder.read(act.name, act.stamp):
            raise ExportError(
                f"{folder.shown(act.name)} is another decision than the home's of the same id, "
                f"{act.partition!r}: a decision never changes. Remove the file of the wrong one, "
                "and repeat. Nothing was changed"
            )


def _whole(chosen: Collection[str], live: Iterable[str], grouping: GroupingSettings) -> list[str]:
    """Partitions all of whose live trees were chosen, sorted."""
    left = {partition_key(tree, grouping) for tree in set(live) - set(chosen)}
    return sorted({partition_key(tree, grouping) for tree in chosen} - left)


def _fitting(whole: Export, names: Sequence[str], grouping: GroupingSettings) -> list[TableFile]:
    """Tables of the export that this home could read: of known assets, grouped as here."""
    if dict(whole.grouping) != grouping.model_dump(mode="json"):
        return []
    every = [file.manifest.tree for file in whole.trees]
    partitions = set(_whole(names, every, grouping))
    known = {tuple(path) for path in keys.table_paths() if path[-1] in TABLE_SCHEMAS}
    return [t for t in whole.tables if t.key in known and t.partition in partitions]


def _record(home: Home, grouping: GroupingSettings, trees: Iterable[str]) -> None:
    """Tell Dagster of the partitions, before anything is published.

    What it knew of them is no longer what is published, so the next build looks at them again.
    """
    partitions = sorted({partition_key(tree, grouping) for tree in trees})
    corpus = home.names()
    with open_instance(home) as instance:
        known = set(instance.get_dynamic_partitions(corpus.partitions))
        if new := [partition for partition in partitions if partition not in known]:
            instance.add_dynamic_partitions(corpus.partitions, new)
        for partition in partitions:
            instance.report_runless_asset_event(
                dg.AssetMaterialization(
                    asset_key=keys.shown(corpus, keys.of(names.TREE)),
                    partition=partition,
                    description="Its trees came by `raptor import`.",
                    metadata={"state": IMPORTED},
                    tags=version_tags(IMPORTED),
                )
            )
