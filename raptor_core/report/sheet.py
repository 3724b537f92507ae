"""The sheet of a study by hand as one page that is filled in and saves a CSV file."""

from __future__ import annotations

import functools
import re
from dataclasses import asdict
from importlib import resources

from raptor_core.audit.study import COLUMNS, FILLED, VERDICTS, Drawn
from raptor_core.identity import digest
from raptor_core.report.page import content_policy, embedded_json

_LEFT_OUT = "children"
"""The one column that the page doesn't save: nobody reads it back."""


def render_sheet(drawn: Drawn) -> str:
    """One HTML document, which loads nothing and can be written as UTF-8."""
    page, style, script = _parts()
    values = {
        "id": digest("sheet", repr(drawn)),
        "columns": [name for name in COLUMNS if name != _LEFT_OUT],
        "verdicts": VERDICTS,
        "file": FILLED,
        "nodes": [asdict(node) for node in drawn.nodes],
    }
    filled = {
        "POLICY": content_policy((script,), style),
        "STYLE": style,
        "DATA": embedded_json(values),
        "SCRIPT": script,
    }
    return re.sub(r"\{\{(\w+)\}\}", lambda found: filled[found[1]], page)


@functools.cache
def _parts() -> tuple[str, str, str]:
    folder = resources.files("raptor_core.report") / "web"
    page, style, script, dom = (
        (folder / name).read_text(encoding="utf-8")
        for name in ("sheet.html", "sheet.css", "sheet.js", "dom.js")
    )
    return page, style, f"'use strict';\n(() => {{\n{dom}\n{script}\n}})();\n"
