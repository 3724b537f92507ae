"""Pages of reports: files in a folder of the home."""

import shutil
from pathlib import Path

from raptor_core.disk import disk_errors, replace_file
from raptor_core.identity import safe_name


class ReportFolder:
    """Folder of pages, a file for each partition.

    Pages of single trees of a partition are in a folder of its name, which a change of the
    partition deletes. A disk that refuses raises a StoreError and leaves the earlier pages.
    """

    def __init__(self, path: Path) -> None:
        self._path = path

    def path(self, partition: str, tree: str | None = None) -> Path:
        """Return the path of a partition's page, or of the page of one ``tree`` in it."""
        if tree is None:
            return self._path / f"{safe_name(partition)}.html"
        return self._trees(partition) / f"{safe_name(tree)}.html"

    def write(self, partition: str, page: str) -> Path:
        """Write a partition's page atomically, and delete the pages of its single trees."""
        path = self.path(partition)
        write_page(path, page)
        self._delete_trees(partition)
        return path

    def delete(self, partition: str) -> bool:
        """Delete a partition's pages, and return whether it had one."""
        path = self.path(partition)
        with disk_errors(path):
            existed = path.exists()
            path.unlink(missing_ok=True)
        self._delete_trees(partition)
        return existed

    def _trees(self, partition: str) -> Path:
        return self._path / f"{safe_name(partition)}.trees"

    def _delete_trees(self, partition: str) -> None:
        folder = self._trees(partition)
        with disk_errors(folder):
            if folder.exists():
                shutil.rmtree(folder)


def write_page(path: Path, page: str) -> None:
    """Replace ``path`` by the page atomically; a missing folder is made."""
    with disk_errors(path):
        replace_file(path, page.encode())
