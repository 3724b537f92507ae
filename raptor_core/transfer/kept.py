"""Unpublished builds of trees: earlier ones for rollbacks, or ones that wait for approval.

    <url>/<digest of the tree's name>/<id>.parquet   one build, see ``build_file``

The id begins with the time at which the build was made.
"""

from collections.abc import Callable, Collection, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

from raptor_core.documents.base import PublishedDocument
from raptor_core.errors import ExportError, UnknownTreeError
from raptor_core.filesystems import Folder
from raptor_core.identity import digest
from raptor_core.store.base import Manifest, StoreIdentity, TreeEdition, Where
from raptor_core.store.publishing import UNFINISHED
from raptor_core.store.store import VectorStore
from raptor_core.transfer.build_file import decode_build, encode_build, read_footer
from raptor_core.tree.publish import build_id

_EXTENSION = ".parquet"


@dataclass(frozen=True, slots=True)
class KeptBuild:
    """Build of a tree; ``notes`` describe its cost and what it changed."""

    id: str
    manifest: Manifest
    notes: Mapping[str, Any]


class KeptBuilds:
    """Kept builds of trees, in one folder.

    Methods raise ExportError if the folder cannot be accessed or a file is damaged.

    Args:
        url: folder, or any fsspec URL.
    """

    def __init__(self, url: str) -> None:
        self._folder = Folder(url, ExportError)

    def ids(self, tree: str) -> list[str]:
        """Return the ids of a tree's kept builds, the oldest first."""
        files = self._folder.file_names(_tree_folder(tree))
        return [name.removesuffix(_EXTENSION) for name in files if name.endswith(_EXTENSION)]

    def builds(self, tree: str) -> list[KeptBuild]:
        """Return the kept builds of a tree, the oldest first."""
        return [_make_kept_build(name, *self._read(tree, name)) for name in self.ids(tree)]

    def _read(self, tree: str, name: str) -> tuple[str, bytes]:
        file = f"{_tree_folder(tree)}/{name}{_EXTENSION}"
        data = self._folder.read_if_exists(file)
        if data is None:
            raise UnknownTreeError(
                f"no build {name!r} of tree {tree!r} is kept; `raptor versions list` shows them"
            )
        return self._folder.shown_path(file), data

    def read(self, tree: str, name: str, identity: StoreIdentity) -> TreeEdition:
        """Return a kept build, to be published in the store of ``identity``.

        Raises:
            UnknownTreeError: no such build is kept.
            ExportError: its file is damaged, or has vectors of another embedder.
        """
        file, data = self._read(tree, name)
        edition, footer = decode_build(data, file)
        if footer.embedder != identity.embedder_fingerprint:
            raise ExportError(
                f"build {name!r} of tree {tree!r} has vectors of another embedder; set the "
                "embedder back, or build the tree from its documents"
            )
        return edition

    def keep_published(
        self, store: VectorStore, manifest: Manifest, notes: Mapping[str, Any]
    ) -> str:
        """Keep the published build of a tree and return its id; "" if the build is incomplete."""
        name = build_name(manifest)
        if name in self.ids(manifest.tree):
            return name
        nodes = store.nodes(Where(trees=(manifest.tree,)))
        if manifest.inputs == UNFINISHED or build_id(nodes) != manifest.build_id:
            return ""
        vectors = store.vectors(node.embedding_key for node in nodes)
        return self.write_build(TreeEdition(manifest, nodes, vectors), store.identity, notes)

    def write_build(
        self, edition: TreeEdition, identity: StoreIdentity, notes: Mapping[str, Any]
    ) -> str:
        """Write a build with all of its vectors, for a store of ``identity``; return its id."""
        manifest = edition.manifest
        name = build_name(manifest)
        unpinned = replace(edition, manifest=replace(manifest, pin=""))
        file = f"{_tree_folder(manifest.tree)}/{name}{_EXTENSION}"
        self._folder.write(file, encode_build(unpinned, identity, notes))
        return name

    def delete(self, tree: str, names: Collection[str] | None = None) -> None:
        """Delete these builds of a tree, or all of them."""
        for name in self.ids(tree) if names is None else names:
            self._folder.delete(f"{_tree_folder(tree)}/{name}{_EXTENSION}")

    def prune(self, published: Manifest, most: int) -> None:
        """Delete the oldest builds of a tree until ``most`` are left beside the published one."""
        tree = published.tree
        names = [name for name in self.ids(tree) if name != build_name(published)]
        self.delete(tree, names[: max(0, len(names) - most)])

    def delete_outdated(self, tree: str, is_gone: Callable[[PublishedDocument], bool]) -> list[str]:
        """Delete the builds that contain a document that is gone, and return their ids."""
        outdated = self.outdated_ids(tree, is_gone)
        self.delete(tree, outdated)
        return outdated

    def outdated_ids(self, tree: str, is_gone: Callable[[PublishedDocument], bool]) -> list[str]:
        """Return the ids of builds that contain a document that is gone.

        A damaged build counts, too: it cannot be published, and its documents are unknown.
        """
        ids = []
        for name in self.ids(tree):
            file, data = self._read(tree, name)
            try:
                documents = _make_kept_build(name, file, data).manifest.published_documents
            except ExportError:
                ids.append(name)
            else:
                ids += [name] if any(map(is_gone, documents)) else []
        return ids


def _make_kept_build(name: str, file: str, data: bytes) -> KeptBuild:
    footer = read_footer(data, file)
    return KeptBuild(name, footer.manifest, footer.notes)


def build_name(manifest: Manifest) -> str:
    """Return the name of a build: the time at which it was made, and a digest of its nodes."""
    moment = "".join(filter(str.isdigit, manifest.published_at.partition("+")[0]))
    return f"{moment[:8]}t{moment[8:17]}-{manifest.build_id[:8]}"


def choose_build(ids: Sequence[str], published: Manifest, chosen: str) -> str:
    """Return the id of a kept build from its beginning; "" is the one before the published build.

    Raises:
        UnknownTreeError: no build is kept, or not exactly one id begins so.
    """
    earlier = [name for name in ids if name < build_name(published)]
    matches = [name for name in ids if name.startswith(chosen)] if chosen else earlier[-1:]
    if len(matches) == 1:
        return matches[0]
    problem = f"{len(matches)} kept builds begin with {chosen!r}" if chosen else "none is before it"
    raise UnknownTreeError(
        f"no kept build of {published.tree!r} can be chosen: {problem}; kept are "
        f"{', '.join(ids) or 'none (runs.keep_builds sets how many are)'}"
    )


def _tree_folder(tree: str) -> str:
    return digest("versions", tree)[:32]
