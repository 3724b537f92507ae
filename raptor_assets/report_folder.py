"""Where the pages of the reports are kept."""

from __future__ import annotations

import shutil
from pathlib import Path

from raptor_core.disk import replace_file
from raptor_core.report.files import safe_name
from raptor_core.store.files import disk_errors


class ReportFolder:
    """Pages under one folder, a file for each partition.

    Where a partition holds several trees, pages of single ones stand in a folder of its name, so
    that they go when the partition changes or goes.
    """

    def __init__(self, path: Path) -> None:
        self._path = path

    def path(self, partition: str, tree: str | None = None) -> Path:
        """Path of a partition's page; with ``tree``, of one of the several trees in it."""
        if tree is None:
            return self._path / f"{safe_name(partition)}.html"
        return self._path / safe_name(partition) / f"{safe_name(tree)}.html"

    def write(self, partition: str, page: str) -> Path:
        """Write a partition's page, whole or not at all; pages of its single trees go.

        Raises:
            StoreError: the disk refuses; what stood there before is unharmed.
        """
        path = self.path(partition)
        write_page(path, page)
        self._delete_trees(partition)
        return path

    def delete(self, partition: str) -> bool:
        """Delete a partition's pages; whether it had one.

        Raises:
            StoreError: the disk refuses.
        """
        path = self.path(partition)
        with disk_errors(path):
            existed = path.exists()
            path.unlink(missing_ok=True)
        self._delete_trees(partition)
        return existed

    def _delete_trees(self, partition: str) -> None:
        folder = self._path / safe_name(partition)
        with disk_errors(folder):
            if folder.exists():
                shutil.rmtree(folder)


def write_page(path: Path, page: str) -> None:
    """Replace ``path`` by the page: whole, or not at all. Its folder is made where it is missing.

    Raises:
        StoreError: the disk refuses; what stood there before is unharmed.
    """
    with disk_errors(path):
        replace_file(path, page.encode())
