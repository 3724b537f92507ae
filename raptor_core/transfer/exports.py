"""Exports: published trees in a folder, for backups and for other homes.

    <folder>/export.json             index of all files with sizes and SHA-256, written last
    <folder>/trees/<digest>.parquet  the published build of a tree, see ``build_file``
    <folder>/curation/<id>.parquet   a decision of a person, see ``tables.curation``

Trees are read from a store, and returned as editions that a store can publish.
"""

import hashlib
import json
from collections.abc import Collection, Iterator, Sequence
from dataclasses import replace
from datetime import UTC, datetime

from pydantic import BaseModel, ConfigDict, Field, ValidationError

from raptor_core.errors import (
    DamagedTreeError,
    ExportError,
    StoreMismatchError,
    UnknownTreeError,
)
from raptor_core.file_names import EXPORT_FORMAT, EXPORT_MANIFEST
from raptor_core.filesystems import Folder
from raptor_core.identity import digest
from raptor_core.store.base import StoreIdentity, TreeEdition, Where
from raptor_core.store.store import VectorStore
from raptor_core.transfer.build_file import decode_build, encode_build
from raptor_core.tree.publish import build_id

INDEX = EXPORT_MANIFEST
VERSION = 1
"""Version of the layout; any other one is rejected."""
TOGETHER = 10
"""Number of trees in memory at a time; writing them together saves disk flushes."""
_READS = 5
"""Attempts to read a tree while another process may publish it."""


class ExportedFile(BaseModel):
    """File of an export, with its size and SHA-256 (hexadecimal); ``tree`` is what it is about.

    ``build`` and ``n_nodes`` are those of a published tree.
    """

    model_config = ConfigDict(frozen=True, extra="forbid")

    name: str = Field(pattern=r"^(trees|curation)/[\w%.-]+$")
    tree: str
    n_bytes: int
    sha256: str
    build: str = ""
    n_nodes: int = 0


class Export(BaseModel):
    """Index of an export. ``made_at`` is an ISO 8601 time in UTC."""

    model_config = ConfigDict(frozen=True, extra="forbid")

    format: str = EXPORT_FORMAT
    version: int = VERSION
    made_at: str
    identity: StoreIdentity
    trees: tuple[ExportedFile, ...]
    decisions: tuple[ExportedFile, ...] = ()

    @property
    def n_nodes(self) -> int:
        """Number of nodes of all trees."""
        return sum(file.n_nodes for file in self.trees)

    @property
    def n_bytes(self) -> int:
        """Size of all files but the index."""
        return sum(file.n_bytes for file in (*self.trees, *self.decisions))


class ExportFolder(Folder):
    """Folder of an export; it raises ExportError and verifies what it reads."""

    def __init__(self, url: str) -> None:
        super().__init__(url, ExportError)

    def write_file(
        self, name: str, data: bytes, tree: str, *, build: str = "", n_nodes: int = 0
    ) -> ExportedFile:
        """Write a file and return its entry in the index; see ``Folder.write``."""
        self.write(name, data)
        stamp = hashlib.sha256(data).hexdigest()
        return ExportedFile(
            name=name, tree=tree, n_bytes=len(data), sha256=stamp, build=build, n_nodes=n_nodes
        )

    def read(self, file: ExportedFile) -> bytes:
        """Return a file's content; raise ExportError if it is missing or another one."""
        data = self.read_if_exists(file.name)
        if data is None:
            raise ExportError(
                f"{self.shown_path(file.name)} is missing; copy the whole export again"
            )
        actual = hashlib.sha256(data).hexdigest()
        if (len(data), actual) != (file.n_bytes, file.sha256):
            problem = "is cut short" if len(data) < file.n_bytes else "is damaged"
            raise ExportError(
                f"{self.shown_path(file.name)} {problem}: {len(data)} bytes with SHA-256 "
                f"{actual[:12]} "
                f"where the export says {file.n_bytes} with {file.sha256[:12]}; copy it again, or "
                "export again"
            )
        return data


def check_export_target(folder: ExportFolder) -> None:
    """Raise ExportError if a folder has a complete export; an interrupted one may be replaced."""
    if folder.exists(INDEX):
        raise ExportError(f"{folder.name} contains an export already; choose an empty folder")


def export_trees(
    store: VectorStore, folder: ExportFolder, trees: Sequence[str] | None = None
) -> tuple[ExportedFile, ...]:
    """Write the files of some trees, or of all for None, with one tree in memory at a time.

    Raises:
        UnknownTreeError: a tree is not published.
        DamagedTreeError: nodes or vectors of a tree are missing in the store.
        ExportError: the folder cannot be written.
    """
    manifests = store.manifests(trees)
    missing = set(trees or ()) - {manifest.tree for manifest in manifests}
    if missing or not manifests:
        named = ", ".join(map(repr, sorted(missing))) or "any tree"
        raise UnknownTreeError(f"{store.identity.corpus!r} has not published {named}")
    return tuple(_export_tree(store, folder, manifest.tree) for manifest in manifests)


def _export_tree(store: VectorStore, folder: ExportFolder, tree: str) -> ExportedFile:
    edition = _read_published(store, tree)
    data = encode_build(edition, store.identity)
    build, n_nodes = edition.manifest.build_id, len(edition.nodes)
    return folder.write_file(tree_file_path(tree), data, tree, build=build, n_nodes=n_nodes)


def _read_published(store: VectorStore, tree: str) -> TreeEdition:
    for _ in range(_READS):
        manifests = store.manifests([tree])
        if not manifests:
            raise UnknownTreeError(f"the tree {tree!r} was dropped while it was exported")
        nodes = store.nodes(Where(trees=(tree,)))
        vectors = store.vectors(node.embedding_key for node in nodes)
        missing = [node for node in nodes if node.embedding_key not in vectors]
        if build_id(nodes) == manifests[0].build_id and not missing:
            return TreeEdition(manifests[0], nodes, vectors)
        # On a server, another process may have published between the reads.
    problem = "its nodes do not match its manifest"
    if missing:
        problem = f"{len(missing)} vectors are missing, first that of node {missing[0].id}"
    raise DamagedTreeError(
        f"the published tree {tree!r} is damaged: {problem}. Build it again with --force, then "
        "export"
    )


def tree_file_path(tree: str) -> str:
    """Return the path of a tree's file, which contains no character of the tree's name."""
    return f"trees/{digest('export', tree)[:32]}.parquet"


def finish_export(
    folder: ExportFolder,
    identity: StoreIdentity,
    trees: Sequence[ExportedFile],
    decisions: Sequence[ExportedFile] = (),
) -> Export:
    """Write the index, which makes the export complete."""
    made_at = datetime.now(UTC).isoformat(timespec="seconds")
    export = Export(
        made_at=made_at,
        identity=replace(identity, probe=tuple(identity.probe)),
        trees=tuple(trees),
        decisions=tuple(decisions),
    )
    folder.write(INDEX, export.model_dump_json(indent=1).encode())
    return export


def read_export(folder: ExportFolder) -> Export:
    """Return the export of a folder; raise ExportError if it is incomplete, damaged or newer."""
    data, where = folder.read_if_exists(INDEX), folder.shown_path(INDEX)
    if data is None:
        raise ExportError(
            f"{folder.name} contains no {INDEX}: it is not an export, or an interrupted one. "
            "Export into it again"
        )
    try:
        values = json.loads(data)
    except ValueError as error:
        raise ExportError(f"{where} is damaged or cut short; copy it again") from error
    if not isinstance(values, dict) or values.get("format") != EXPORT_FORMAT:
        raise ExportError(f"{where} was not written by `raptor export`")
    if (version := values.get("version")) != VERSION:
        raise ExportError(
            f"{where} has version {version!r:.40}, but this program reads {VERSION}; import with "
            "the program that exported it"
        )
    try:
        return Export.model_validate(values)
    except ValidationError as error:
        wrong = "; ".join(f"{'.'.join(map(str, e['loc']))}: {e['msg']}" for e in error.errors())
        raise ExportError(f"{where} is damaged: {wrong}; export again") from error


def select_trees(export: Export, trees: Collection[str]) -> Export:
    """Restrict an export to what is about these trees, or keep all if none are named.

    Raises:
        UnknownTreeError: the export does not contain one of the trees.
    """
    known = {file.tree for file in export.trees}
    missing = [tree for tree in trees if tree not in known]
    if missing:
        some = ", ".join(sorted(known)[:5])
        raise UnknownTreeError(
            f"the export contains no tree {', '.join(map(repr, missing))}; it contains "
            f"{len(known)}: "
            f"{some}{' …' if len(known) > 5 else ''}"
        )
    if not trees:
        return export
    chosen = tuple(file for file in export.trees if file.tree in trees)
    decisions = tuple(file for file in export.decisions if file.tree in trees)
    return export.model_copy(update={"trees": chosen, "decisions": decisions})


def check_embedder(export: Export, identity: StoreIdentity, where: str) -> None:
    """Raise StoreMismatchError if the export's embedder differs from that of the store."""
    if replace(export.identity, corpus=identity.corpus) != identity:
        raise StoreMismatchError(
            f"{where} contains vectors of {export.identity.embedder_label}; the settings ask for "
            f"{identity.embedder_label}. Set the embedder that it was exported with, or build "
            "from the source instead"
        )


def verify_export(folder: ExportFolder, export: Export) -> None:
    """Read every file of an export; raise ExportError for a missing or damaged one."""
    for file in export.trees:
        _read_edition(folder, file)
    for file in export.decisions:
        folder.read(file)


def read_editions(folder: ExportFolder, export: Export) -> Iterator[list[TreeEdition]]:
    """Yield the trees of an export, some at a time; their manifests name no build and no pin.

    A tree whose documents are in the source is rebuilt by the next build, from the imported nodes.
    Any other tree stays until it is dropped by name.

    Raises:
        ExportError: a file is missing or damaged.
    """
    for at in range(0, len(export.trees), TOGETHER):
        editions = (_read_edition(folder, file) for file in export.trees[at : at + TOGETHER])
        yield [replace(e, manifest=replace(e.manifest, inputs="", pin="")) for e in editions]


def differing_trees(store: VectorStore, export: Export) -> list[str]:
    """Return the trees of the export that are published with other content, sorted."""
    exported = {file.tree: file.build for file in export.trees}
    live = store.short_manifests(sorted(exported))
    return sorted(short.tree for short in live if short.build_id != exported[short.tree])


def _read_edition(folder: ExportFolder, file: ExportedFile) -> TreeEdition:
    edition, _ = decode_build(folder.read(file), folder.shown_path(file.name))
    return edition
