"""Export and import of a home's trees with the decisions of people.

The files of an export are in ``raptor_core.transfer``. The next build of a home that imported trees
reuses their vectors and summaries.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import PurePosixPath

from raptor_assets.home.access import CorpusAccess
from raptor_assets.home.folder import Home
from raptor_assets.home.publication import PublishedBuild, open_publication
from raptor_core.errors import ExportError, StoreMismatchError, TableError
from raptor_core.filesystems import Folder
from raptor_core.settings import Settings
from raptor_core.store import open_store
from raptor_core.store.base import StoreIdentity
from raptor_core.tables.curation import KEY, documents_by_decision
from raptor_core.tables.files import table_path
from raptor_core.transfer.exports import (
    Export,
    ExportFolder,
    check_embedder,
    check_export_target,
    differing_trees,
    export_trees,
    finish_export,
    read_editions,
    read_export,
    select_trees,
    verify_export,
)


@dataclass(frozen=True, slots=True)
class ImportReport:
    """Imported trees, and the number of decisions, undone ones included."""

    trees: tuple[PublishedBuild, ...]
    n_decisions: int


def export_home(home: Home, settings: Settings, url: str, trees: Sequence[str] = ()) -> Export:
    """Write the home's published trees, or only ``trees``, with decisions on their documents.

    Raises:
        UnknownTreeError: a tree is not published.
        ExportError, StoreError: the folder cannot be written, or the store cannot be read.
    """
    folder = ExportFolder(url)
    check_export_target(folder)
    with open_store(settings.store, home.embedded_store_path) as store:
        files, identity = export_trees(store, folder, trees or None), store.identity
        manifests = store.manifests([file.tree for file in files])
    tree_of = {document: m.tree for m in manifests for document in m.documents}
    tables, place = home.table_store(settings), Folder(home.tables_url(settings), TableError)
    decisions = []
    for act, documents in documents_by_decision(tables).items():
        name, tree = table_path(KEY, act), next(filter(None, map(tree_of.get, documents)), "")
        data = place.read_if_exists(name)
        if data is not None and (tree or not trees):
            decisions.append(folder.write_file(name, data, tree))
    return finish_export(folder, identity, files, decisions)


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
    export = read_export(folder)
    check_embedder(export, identity, folder.name)
    export = select_trees(export, trees)
    verify_export(folder, export)
    home.create_folders_and_instance()
    access, owner = CorpusAccess(settings, home), home.read_names().corpus
    with open_store(settings.store, home.embedded_store_path, identity, owner=owner) as store:
        differing = differing_trees(store, export)
        if differing and not replace:
            raise StoreMismatchError(
                f"{len(differing)} trees are published with other content, first {differing[0]!r}; "
                "--replace replaces them by those of the export. Nothing was changed"
            )
        _import_decisions(folder, export, Folder(home.tables_url(settings), TableError))
        imported: list[PublishedBuild] = []
        with open_publication(access, store) as publication:
            for editions in read_editions(folder, export):
                imported += publication.publish(editions)
    return ImportReport(tuple(imported), len(export.decisions))


def _import_decisions(folder: ExportFolder, export: Export, place: Folder) -> None:
    """Add the decisions that the home lacks; they apply to what is published next.

    Raises:
        ExportError: the home has another decision of the same id. Nothing is added then.
    """
    present = {file.name: place.read_if_exists(file.name) for file in export.decisions}
    for file in export.decisions:
        if present[file.name] not in (None, folder.read(file)):
            raise ExportError(
                f"{folder.shown_path(file.name)} is another decision than the home's of the same "
                "id, "
                f"{PurePosixPath(file.name).stem!r}: a decision never changes. Remove the file of "
                "the wrong one, and repeat. Nothing was changed"
            )
    for file in export.decisions:
        if present[file.name] is None:
            place.write(file.name, folder.read(file))
