"""What an export holds: values, the JSON of its manifest, and the Parquet files of its trees.

    <folder>/export.json             written last: what is there, with sizes and SHA-256
    <folder>/trees/<digest>.parquet  one tree: a row for each node, with its vector
    <folder>/tables/…                a partition's tables, as they lie in a home

Names of files follow from the names of trees, tables and partitions and stand nowhere: a forged
manifest cannot name a file outside.
"""

from __future__ import annotations

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
from raptor_core.places import Folder
from raptor_core.store.base import Manifest, StoreIdentity
from raptor_core.tables.files import table_name

MANIFEST = "export.json"

@dataclass(frozen=True, slots=True)
class Stamp:
    """Size and SHA-256 (hexadecimal) of a file."""

    n_bytes: int
    sha256: str

    @classmethod
    def of(cls, data: bytes) -> Stamp:
        """Of a file's content."""
        return cls(len(data), hashlib.sha256(data).hexdigest())


class ExportFolder(Folder):
    """The folder of an export. See ``Folder``; what it raises is ExportError.

    On this machine it holds regular files alone: a link, a pipe or a device is refused.
    """

    def __init__(self, url: str) -> None:
        super().__init__(url, ExportError)

    def put(self, name: str, data: bytes) -> Stamp:
        """Write a file; see ``Folder.write``."""
        self.write(name, data)
        return Stamp.of(data)

    def find(self, name: str, max_bytes: int | None = None) -> bytes | None:
        """Return the content of a file; None where there is none.

        Args:
            name: of the file.
            max_bytes: size of the largest file that is read; None for any.

        Raises:
            ExportError: the place does not answer, or refuses; the file is larger, or is none.
        """
        if self._is_local:
            return self._find_regular(name, max_bytes)
        with suppress(FileNotFoundError), self._reached(name):
            size = self._files.info(self.path(name))["size"]
            if max_bytes is not None and (size or 0) > max_bytes:
                raise self._too_large(name, size, max_bytes)
        return super().find(name)

    def read(self, name: str, stamp: Stamp | None = None) -> bytes:
        """Return the content of a file, which is what it was when it was written.

        Raises:
            ExportError: it is missing, or not what ``stamp`` says: cut short, or another.
        """
        data = self.find(name, None if stamp is None else stamp.n_bytes)
        if data is None:
            raise ExportError(f"{self.shown(name)} is missing; copy the export again, whole")
        actual = Stamp.of(data)
        if stamp is not None and actual != stamp:
            what = "is cut short" if actual.n_bytes < stamp.n_bytes else "is damaged"
            raise ExportError(
                f"{self.shown(name)} {what}: {actual.n_bytes} bytes with SHA-256 "
                f"{actual.sha256[:12]} where the export says {stamp.n_bytes} with "
                f"{stamp.sha256[:12]}; copy it again, or export again"
            )
        return data

    def _find_regular(self, name: str, max_bytes: int | None) -> bytes | None:
        path = Path(self.path(name))
        root = Path(self.path(""))
        with suppress(FileNotFoundError), self._reached(name):
            links = [p for p in (path, *path.parents) if p.is_symlink() and root in p.parents]
            # The file is opened without waiting for the other end of a pipe, and then looked at.
            with open(path, "rb", opener=_open_unblocked) as file:
                found = os.fstat(file.fileno())
                if links or not stat.S_ISREG(found.st_mode):
                    raise ExportError(
                        f"{links[-1] if links else path} is no regular file or folder; copy the "
                        "export again, without links, pipes and devices"
                    )
                if max_bytes is not None and found.st_size > max_bytes:
                    raise self._too_large(name, found.st_size, max_bytes)
                return file.read(found.st_size + 1)  # and no more, though it grows
        return None

    def _too_large(self, name: str, n_bytes: int, max_bytes: int) -> ExportError:
        return ExportError(
            f"{self.shown(name)} is damaged: it has {n_bytes} bytes, expected at most {max_bytes}; "
            "copy it again, or export again"
        )


def _open_unblocked(path: str, flags: int) -> int:
    return os.open(path, flags | getattr(os, "O_NONBLOCK", 0))


@dataclass(frozen=True, slots=True)
class TreeFile:
    """One exported tree."""

    manifest: Manifest
    stamp: Stamp

    @property
    def name(self) -> str:
        """Name of its file in the export."""
        return tree_file(self.manifest.tree)


@dataclass(frozen=True, slots=True)
class TableFile:
    """One exported table of a partition; ``key`` is its asset's."""

    key: tuple[str, ...]
    partition: str
    stamp: Stamp

    @property
    def name(self) -> str:
        """Name of its file in the export."""
        return f"tables/{table_name(self.key, self.partition)}"


@dataclass(frozen=True, slots=True)
class Export:
    """What an export holds.

    ``identity`` is the store's that it came from; its corpus may differ from the one that it goes
    to. ``grouping`` are the settings by which trees were put into partitions.
    """

    identity: StoreIdentity
    trees: tuple[TreeFile, ...]
    made_at: str
    grouping: Mapping[str, Any] = field(default_factory=dict)
    tables: tuple[TableFile, ...] = ()

    @property
    def n_nodes(self) -> int:
        """Nodes of all trees."""
        return sum(sum(tree.manifest.layer_sizes) for tree in self.trees)

    @property
    def n_bytes(self) -> int:
        """Bytes of all files but the manifest."""
        stamps = [*(tree.stamp for tree in self.trees), *(table.stamp for table in self.tables)]
        return sum(stamp.n_bytes for stamp in stamps)


def tree_file(tree: str) -> str:
    """Name of a tree's file in an export, whatever characters the tree's name has."""
    return f"trees/{digest('export', tree)[:32]}.parquet"
