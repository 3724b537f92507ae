"""Values of an export, and the folder that it is kept in.

    <folder>/export.json             manifest, written last: all files with sizes and SHA-256
    <folder>/trees/<digest>.parquet  one tree: a row for each node, with its vector
    <folder>/tables/…                tables of partitions, under the paths that they have in a home

The names of files are derived from the names of trees, tables and partitions. ``manifest.py`` and
``rows.py`` hold the formats.
"""

import hashlib
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

from raptor_core.errors import ExportError
from raptor_core.identity import digest
from raptor_core.layout import EXPORT_MANIFEST
from raptor_core.places import Folder
from raptor_core.store.base import Manifest, StoreIdentity
from raptor_core.tables.files import table_name

MANIFEST = EXPORT_MANIFEST


@dataclass(frozen=True, slots=True)
class Stamp:
    """Size and SHA-256 (hexadecimal) of a file."""

    n_bytes: int
    sha256: str

    @classmethod
    def of(cls, data: bytes) -> "Stamp":
        """Return the stamp of a file's content."""
        return cls(len(data), hashlib.sha256(data).hexdigest())


class ExportFolder(Folder):
    """Folder of an export, which raises ExportError and verifies what it reads."""

    def __init__(self, url: str) -> None:
        super().__init__(url, ExportError)

    def put(self, name: str, data: bytes) -> Stamp:
        """Write a file and return its stamp; see ``Folder.write``."""
        self.write(name, data)
        return Stamp.of(data)

    def read(self, name: str, stamp: Stamp | None = None) -> bytes:
        """Return a file's content; raise ExportError if it is missing or not that of ``stamp``."""
        data = self.find(name)
        if data is None:
            raise ExportError(f"{self.shown(name)} is missing; copy the export again, whole")
        actual = Stamp.of(data)
        if stamp is not None and actual != stamp:
            problem = "is cut short" if actual.n_bytes < stamp.n_bytes else "is damaged"
            raise ExportError(
                f"{self.shown(name)} {problem}: {actual.n_bytes} bytes with SHA-256 "
                f"{actual.sha256[:12]} where the export says {stamp.n_bytes} with "
                f"{stamp.sha256[:12]}; copy it again, or export again"
            )
        return data


@dataclass(frozen=True, slots=True)
class TreeFile:
    """Manifest of an exported tree, and the stamp of its file."""

    manifest: Manifest
    stamp: Stamp

    @property
    def name(self) -> str:
        """Path of the file in the export."""
        return tree_file(self.manifest.tree)


@dataclass(frozen=True, slots=True)
class TableFile:
    """Exported table: the key of its asset, its partition, and the stamp of its file."""

    key: tuple[str, ...]
    partition: str
    stamp: Stamp

    @property
    def name(self) -> str:
        """Path of the file in the export."""
        return f"tables/{table_name(self.key, self.partition)}"


@dataclass(frozen=True, slots=True)
class Export:
    """Content of an export.

    ``made_at`` is an ISO 8601 time in UTC. ``grouping`` are the settings by which trees were put
    into partitions. ``tables`` are those of partitions, and decisions.
    """

    identity: StoreIdentity
    trees: tuple[TreeFile, ...]
    made_at: str
    grouping: Mapping[str, Any] = field(default_factory=dict)
    tables: tuple[TableFile, ...] = ()

    @property
    def n_nodes(self) -> int:
        """Number of nodes of all trees."""
        return sum(sum(tree.manifest.layer_sizes) for tree in self.trees)

    @property
    def n_bytes(self) -> int:
        """Size of all files but the manifest."""
        stamps = [*(tree.stamp for tree in self.trees), *(table.stamp for table in self.tables)]
        return sum(stamp.n_bytes for stamp in stamps)


def tree_file(tree: str) -> str:
    """Return the path of a tree's file; it holds no character of the tree's name."""
    return f"trees/{digest('export', tree)[:32]}.parquet"
