"""The pages of the reports: where they are kept, and links from the UI into them.

A page is a file, and a browser follows no link from a web page to a file: the UI shows such a
link as text. So there are links only where the settings say under which address the pages are.
"""

from __future__ import annotations

import shutil
from collections.abc import Callable
from pathlib import Path
from urllib.parse import quote

from raptor_assets.tables_markdown import Markdown, escape_cell
from raptor_core.disk import disk_errors, replace_file
from raptor_core.identity import safe_name
from raptor_core.settings import Settings


class ReportFolder:
    """Pages under one folder, a file for each partition.

    Where a partition holds several trees, pages of single ones stand in a folder of its name, so
    that they go when the partition changes or goes. A disk that refuses is a StoreError; what stood
    there before is then unharmed.
    """

    def __init__(self, path: Path) -> None:
        self._path = path

    def path(self, partition: str, tree: str | None = None) -> Path:
        """Path of a partition's page; with ``tree``, of one of the several trees in it."""
        if tree is None:
            return self._path / f"{safe_name(partition)}.html"
        return self._trees(partition) / f"{safe_name(tree)}.html"

    def write(self, partition: str, page: str) -> Path:
        """Write a partition's page, whole or not at all; pages of its single trees go."""
        path = self.path(partition)
        write_page(path, page)
        self._delete_trees(partition)
        return path

    def delete(self, partition: str) -> bool:
        """Delete a partition's pages; whether it had one."""
        path = self.path(partition)
        with disk_errors(path):
            existed = path.exists()
            path.unlink(missing_ok=True)
        self._delete_trees(partition)
        return existed

    def _trees(self, partition: str) -> Path:
        """Return the folder of a partition's trees; no page has its ending."""
        return self._path / f"{safe_name(partition)}.trees"

    def _delete_trees(self, partition: str) -> None:
        folder = self._trees(partition)
        with disk_errors(folder):
            if folder.exists():
                shutil.rmtree(folder)


def write_page(path: Path, page: str) -> None:
    """Replace ``path`` by the page, whole or not at all; its folder is made where it is missing."""
    with disk_errors(path):
        replace_file(path, page.encode())


NodeLink = Callable[[str], str]
"""From the id of a node to a cell of a table that links to it."""


def page_url(settings: Settings, partition: str) -> str | None:
    """Address of a partition's page; None where the pages are served nowhere."""
    if not settings.report.url:
        return None
    return f"{settings.report.url.rstrip('/')}/{quote(safe_name(partition), safe='')}.html"


def node_link(settings: Settings, partition: str | None) -> NodeLink:
    """Links to nodes of a partition's page; the ids as they are where it has no address."""
    page = None if partition is None else page_url(settings, partition)

    def linked(node_id: str) -> str:
        if page is None or not node_id:
            return node_id
        return Markdown(f"[{escape_cell(node_id)}]({page}#node={quote(node_id, safe='')})")

    return linked
