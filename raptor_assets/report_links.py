"""Links from the UI into the report's pages, where the pages are served.

A page is a file, and a browser follows no link from a web page to a file: the UI shows such a
link as text. So there are links only where the settings say under which address the pages are.
"""

from __future__ import annotations

from collections.abc import Callable
from urllib.parse import quote

from raptor_assets.tables_markdown import Markdown, escape_cell
from raptor_core.report import report_file_name
from raptor_core.settings import Settings

NodeLink = Callable[[str], str]
"""From the id of a node to a cell of a table that links to it."""


def page_url(settings: Settings, partition: str) -> str | None:
    """Address of a partition's page; None where the pages are served nowhere."""
    if not settings.report.url:
        return None
    return f"{settings.report.url.rstrip('/')}/{quote(report_file_name(partition), safe='')}"


def node_link(settings: Settings, partition: str | None) -> NodeLink:
    """Links to nodes of a partition's page; the ids as they are where it has no address."""
    page = None if partition is None else page_url(settings, partition)

    def linked(node_id: str) -> str:
        if page is None or not node_id:
            return node_id
        return Markdown(f"[{escape_cell(node_id)}]({page}#node={quote(node_id, safe='')})")

    return linked
