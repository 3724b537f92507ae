"""Export and import of a home's trees with their tables and decisions.

The tables of a partition are exported if all its trees are: the next build then reuses leaves,
clusters, findings and costs too. Without them it reuses vectors and summaries. Formats of the files
are in ``raptor_core.transfer``.
"""

from collections.abc import Collection, Iterable, Sequence
from dataclasses import dataclass

from raptor_assets.assets.names import table_paths
from raptor_assets.home.access import CorpusAccess
from raptor_assets.home.folder import Home
from raptor_assets.home.publication import PublishedBuild, publishing
from raptor_core.documents import partition_key
from raptor_core.errors import ExportError, StoreMismatchError, TableError
from raptor_core.filesystems import Folder
from raptor_core.settings import GroupingSettings, Settings
from raptor_core.store import open_store
from raptor_core.store.base import StoreIdentity
from raptor_core.tables.curation import KEY, tree_of_act
from raptor_core.tables.files import TableStore, table_name
from raptor_core.transfer.exporting import check_target, export_trees, finish_export
from raptor_core.transfer.format import Export, ExportFolder, TableFile
from raptor_core.transfer.importing import (
    check_embedder,
    differing_trees,
    read_editions,
    read_export,
    select_trees,
    verify,
)


@dataclass(frozen=True, slots=True)
class ImportReport:
    """Imported trees, partitions of imported tables, and number of decisions and undone ones."""

    trees: tuple[PublishedBuild, ...]
    tables: tuple[str, ...]
    n_acts: int


def export_home(home: Home, settings: Settings, url: str, trees: Sequence[str] = ()) -> Export:
    """Write the home's published trees, or only ``trees``, into a folder.

    Raises:
        UnknownTreeError: a tree is not published.
        ExportError, StoreError: the folder cannot be written, or the store cannot be read.
    """
    folder = ExportFolder(url)
    check_target(folder)
    with open_store(settings.store, home.qdrant) as store:
        files = export_trees(store, folder, trees or None)
        live = [mark.tree for mark in store.marks()]
        complete = _complete_partitions(
            [file.manifest.tree for file in files], live, settings.grouping
        )
        place = Folder(home.tables_url(settings), TableError)
        sources = [(path, partition) for partition in complete for path in table_paths()]
        known = home.table_store(settings)
        acts = [act for act in known.names(KEY) if not trees or tree_of_act(known, act) in trees]
        tables = []
        for key, partition in [*sources, *((KEY, act) for act in acts)]:
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
    identity: StoreIdentity,
    trees: Sequence[str] = (),
    *,
    replace: bool = False,
) -> ImportReport:
    """Publish the trees of an export, or only ``trees``, after verifying all its files.

    Args:
        identity: identity of the settings' store.
        replace: also import trees that are published with other content.

    Raises:
        ExportError, UnknownTreeError: the export is damaged, or lacks one of ``trees``.
        StoreMismatchError: the embedder differs, or trees would be replaced without ``replace``.
        StoreError: the store cannot be written; published trees stay.
    """
    folder = ExportFolder(url)
    full_export = read_export(folder)
    check_embedder(full_export, identity, folder.name)
    export = select_trees(full_export, trees)
    names = [file.manifest.tree for file in export.trees]
    verify(folder, export)
    tables = _usable_tables(full_export, names, settings.grouping)
    acts = _acts(url, full_export, trees)
    for table in [*tables, *acts]:
        folder.read(table.name, table.stamp)
    home.ensure()
    place = Folder(home.tables_url(settings), TableError)
    _check_known(folder, place, acts)
    access = CorpusAccess(settings, home)
    owner = home.names().corpus
    with open_store(settings.store, home.qdrant, identity, owner=owner) as store:
        differing = differing_trees(store, export)
        if differing and not replace:
            raise StoreMismatchError(
                f"{len(differing)} trees are published with other content, first {differing[0]!r}; "
                "--replace replaces them by those of the export. Nothing was changed"
            )
        for act in acts:  # decisions apply to what is published next
            name = table_name(act.key, act.partition)
            if not place.exists(name):
                place.write(name, folder.read(act.name, act.stamp))
        imported: list[PublishedBuild] = []
        with publishing(access, store) as publication:
            for editions in read_editions(folder, export):
                imported += publication.publish(editions)
        live = [mark.tree for mark in store.marks()]
    partitions = set(_complete_partitions(names, live, settings.grouping))
    changed = {
        partition_key(each.manifest.tree, settings.grouping)
        for each in imported
        if each.counts.changed
    }
    tables = [table for table in tables if table.partition in partitions]
    for table in tables:
        name = table_name(table.key, table.partition)
        # A tree that was published already keeps the home's tables.
        if replace or table.partition in changed or not place.exists(name):
            place.write(name, folder.read(table.name, table.stamp))
    with_tables = sorted({table.partition for table in tables})
    return ImportReport(tuple(imported), tuple(with_tables), len(acts))


def _acts(url: str, export: Export, trees: Collection[str]) -> list[TableFile]:
    """Return the decisions of an export about ``trees``, or all if it is empty."""
    acts = [table for table in export.tables if table.key == KEY]
    exported = TableStore(f"{url.rstrip('/')}/tables")
    return [act for act in acts if not trees or tree_of_act(exported, act.partition) in trees]


def _check_known(folder: ExportFolder, place: Folder, acts: Iterable[TableFile]) -> None:
    for act in acts:
        known = place.find(table_name(act.key, act.partition))
        if known is not None and known != folder.read(act.name, act.stamp):
            raise ExportError(
                f"{folder.shown(act.name)} is another decision than the home's of the same id, "
                f"{act.partition!r}: a decision never changes. Remove the file of the wrong one, "
                "and repeat. Nothing was changed"
            )


def _complete_partitions(
    selected: Collection[str], live: Iterable[str], grouping: GroupingSettings
) -> list[str]:
    incomplete = {partition_key(tree, grouping) for tree in set(live) - set(selected)}
    return sorted({partition_key(tree, grouping) for tree in selected} - incomplete)


def _usable_tables(
    export: Export, names: Sequence[str], grouping: GroupingSettings
) -> list[TableFile]:
    """Return the tables of an export that this home can read, if it has the same grouping."""
    if dict(export.grouping) != grouping.model_dump(mode="json"):
        return []
    trees = [file.manifest.tree for file in export.trees]
    partitions = set(_complete_partitions(names, trees, grouping))
    known = set(table_paths())
    return [t for t in export.tables if t.key in known and t.partition in partitions]
