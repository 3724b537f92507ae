"""Values of an export, and the folder that it is kept in.

    <folder>/export.json             manifest, written last: all files with sizes and SHA-256
    <folder>/trees/<digest>.parquet  one tree: a row for each node, with its vector
    <folder>/tables/…                tables of partitions, under the paths that they have in a home

The names of files are derived from the names of trees, tables and partitions, so a forged manifest
cannot name a file outside the folder. ``manifest.py`` and ``rows.py`` hold the formats.
"""

import hashlib
import os
import stat
from collections.abc import Mapping
from contextlib import suppress
from dataclasses import dataclass, field
from pathlib import Path
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
    """Folder of an export, which raises ExportError and reads regular files alone."""

    def __init__(self, url: str) -> None:
        super().__init__(url, ExportError)

    def put(self, name: str, data: bytes) -> Stamp:
        """Write a file and return its stamp; see ``Folder.write``."""
        self.write(name, data)
        return Stamp.of(data)

    def find(self, name: str, max_bytes: int | None = None) -> bytes | None:
        """Return the content of a file; None where there is none.

        Raises:
            ExportError: the place does not answer, or refuses; the file is larger than
                ``max_bytes``, or not regular.
        """
        if self._is_local:
            return self._find_regular(name, max_bytes)
        with suppress(FileNotFoundError), self._errors(name):
            size = self._files.info(self.path(name))["size"]
            if max_bytes is not None and (size or 0) > max_bytes:
                raise self._too_large(name, size, max_bytes)
        return super().find(name)

    def read(self, name: str, stamp: Stamp | None = None) -> bytes:
        """Return a file's content; raise ExportError if it is missing or not that of ``stamp``."""
        data = self.find(name, None if stamp is None else stamp.n_bytes)
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

    def _find_regular(self, name: str, max_bytes: int | None) -> bytes | None:
        path = Path(self.path(name))
        root = Path(self.path(""))
        with suppress(FileNotFoundError), self._errors(name):
            links = [p for p in (path, *path.parents) if p.is_symlink() and root in p.parents]
            # Opening a pipe would wait for its writer; the type of an open file cannot change.
            flag = getattr(os, "O_NONBLOCK", 0)
            with open(path, "rb", opener=lambda name, flags: os.open(name, flags | flag)) as file:
                status = os.fstat(file.fileno())
                if links or not stat.S_ISREG(status.st_mode):
                    raise ExportError(
                        f"{links[-1] if links else path} is no regular file or folder; copy the "
                        "export again, without links, pipes and devices"
                    )
                if max_bytes is not None and status.st_size > max_bytes:
                    raise self._too_large(name, status.st_size, max_bytes)
                return file.read(status.st_size + 1)  # it may grow meanwhile
        return None

    def _too_large(self, name: str, n_bytes: int, max_bytes: int) -> ExportError:
        return ExportError(
            f"{self.shown(name)} is damaged: it has {n_bytes} bytes, expected at most {max_bytes}; "
            "copy it again, or export again"
        )


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
