"""Self-contained pages of the laboratory: tables, and a sheet to fill in.

The page of a tree, and the policy of pages, are in ``raptor_core.report.page``.
"""

import html
from dataclasses import asdict
from importlib import resources

from raptor_core.identity import digest
from raptor_core.report.page import embedded_json, fill_page, joined_script, read_part
from raptor_lab.sheet import COLUMNS, FILLED, VERDICTS, Drawn


def render_tables(title: str, body: str) -> str:
    """Return a page of tables and pictures from their HTML; it has no script."""
    return fill_page(
        _read("tables.html"), _read("tables.css"), (), TITLE=html.escape(title), BODY=body
    )


def render_sheet(drawn: Drawn) -> str:
    """Return the page on which a person judges the drawn sentences."""
    values = {
        "id": digest("sheet", repr(drawn)),
        "columns": [
            name for name in COLUMNS if name != "children"
        ],  # the filled sheet needs no children
        "verdicts": VERDICTS,
        "file": FILLED,
        "nodes": [asdict(node) for node in drawn.nodes],
    }
    script = joined_script((read_part("dom.js"), _read("sheet.js")))
    return fill_page(
        _read("sheet.html"),
        _read("sheet.css"),
        (script,),
        DATA=embedded_json(values),
        SCRIPT=script,
    )


def _read(name: str) -> str:
    return (resources.files("raptor_lab") / "web" / name).read_text(encoding="utf-8")
