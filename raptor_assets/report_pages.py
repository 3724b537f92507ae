"""Files of the report pages, and links from the UI to them.

A browser follows no link from a web page to a file. So there are links only if the settings give
the address of the pages.
"""

import shutil
from collections.abc import Callable
from pathlib import Path
from urllib.parse import quote

from raptor_assets.tables_markdown import Markdown, escape_cell
from raptor_core.disk import disk_errors, replace_file
from raptor_core.identity import safe_name
from raptor_core.settings import Settings


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


NodeLink = Callable[[str], str]
"""Function that makes a table cell with a link from the id of a node."""


def page_url(settings: Settings, partition: str) -> str | None:
    """Return the address of a partition's page; None if the pages have no address."""
    if not settings.report.url:
        return None
    return f"{settings.report.url.rstrip('/')}/{quote(safe_name(partition), safe='')}.html"


def node_link(settings: Settings, partition: str | None) -> NodeLink:
    """Return a function that links node ids to a partition's page, if it has an address."""
    page = None if partition is None else page_url(settings, partition)

    def linked(node_id: str) -> str:
        if page is None or not node_id:
            return node_id
        return Markdown(f"[{escape_cell(node_id)}]({page}#node={quote(node_id, safe='')})")

    return linked
