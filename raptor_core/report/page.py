"""Pages of reports, manual studies and tables; each is a single file that loads nothing.

A page contains its data as JSON in a script element (``application/json``), escaped so that no text
ends the element. The script writes texts as text, never as markup. A content security policy allows
only the page's own script and style, by digest.

The script of a report is compressed, which saves 30 kB per partition; ``unpack.js`` unpacks it.
JSON values come from ``data``.
"""

from __future__ import annotations

import base64
import functools
import hashlib
import html
import json
import re
import zlib
from collections.abc import Mapping, Sequence
from dataclasses import asdict
from importlib import resources
from typing import Any

from raptor_core.audit.study import COLUMNS, FILLED, VERDICTS, Drawn
from raptor_core.identity import digest
from raptor_core.report.data import report_values
from raptor_core.report.values import Report

_SCRIPTS = (
    "dom.js",
    "server.js",
    "model.js",
    "marks.js",
    "tree.js",
    "source.js",
    "decide.js",
    "findings.js",
    "detail.js",
    "overview.js",
    "search.js",
    "plane.js",
    "icicle.js",
    "atlas.js",
    "changes.js",
    "corpus.js",
    "ask.js",
    "save.js",
    "main.js",
)
"""Files of the report's script, in their order."""

_ESCAPES = str.maketrans({char: f"\\u{ord(char):04x}" for char in "<>&\u2028\u2029"})
_LONE_SURROGATE = re.compile("[\ud800-\udfff]")


def render_report(report: Report) -> str:
    """Render a report as HTML that UTF-8 can encode; equal reports give equal texts."""
    return _rendered(f"{report.name} · RAPTOR report", {"report": report_values(report)})


def render_corpus(values: Mapping[str, Any]) -> str:
    """Render the page of a corpus, with links to the pages of its trees."""
    return _rendered("RAPTOR", {"corpus": values})


def render_window() -> str:
    """Render the page of a server; it requests its data from the server."""
    return _rendered("RAPTOR", {}, "connect-src 'self'; ")


def _rendered(title: str, values: Mapping[str, Any], reach: str = "") -> str:
    unpack, script = _page_scripts()
    return _filled(
        "page",
        (unpack, script),
        reach,
        TITLE=html.escape(_LONE_SURROGATE.sub("\ufffd", title)),
        DATA=embedded_json(values),
        PACKED=_packed(script),
        UNPACK=unpack,
    )


def render_tables(title: str, body: str) -> str:
    """Render a page of tables and pictures from their HTML, without a script."""
    return _filled("tables", (), TITLE=html.escape(title), BODY=body)


def render_sheet(drawn: Drawn) -> str:
    """Render the sheet of a manual study as HTML that UTF-8 can encode."""
    values = {
        "id": digest("sheet", repr(drawn)),
        "columns": [name for name in COLUMNS if name != "children"],  # verdicts do not need them
        "verdicts": VERDICTS,
        "file": FILLED,
        "nodes": [asdict(node) for node in drawn.nodes],
    }
    script = _script("dom.js", "sheet.js")
    return _filled("sheet", (script,), DATA=embedded_json(values), SCRIPT=script)


def _filled(name: str, scripts: Sequence[str], reach: str = "", **parts: str) -> str:
    """Fill a page with its style, its policy and ``parts``, each at its placeholder."""
    style = _read(f"{name}.css")
    values = {"STYLE": style, "POLICY": reach + content_policy(scripts, style), **parts}
    return re.sub(r"\{\{(\w+)\}\}", lambda place: values[place[1]], _read(f"{name}.html"))


def content_policy(scripts: Sequence[str], style: str) -> str:
    """Return a content security policy that allows only these scripts and this style, by digest."""
    allowed = " ".join(f"'{_source(script)}'" for script in scripts)
    return (
        f"default-src 'none'; script-src {allowed}; style-src '{_source(style)}'; "
        "img-src data:; base-uri 'none'; form-action 'none'"
    )


def embedded_json(values: object) -> str:
    """Return JSON that a script element can contain and UTF-8 can encode."""
    text = json.dumps(values, ensure_ascii=False, separators=(",", ":"))
    return _LONE_SURROGATE.sub(lambda c: f"\\u{ord(c[0]):04x}", text.translate(_ESCAPES))


@functools.cache
def _read(name: str) -> str:
    folder = resources.files("raptor_core.report") / "web"
    return (folder / name).read_text(encoding="utf-8")


@functools.cache
def _script(*names: str) -> str:
    """Join script files into one function, so that their names are not global."""
    body = "\n".join(map(_read, names))
    return f"'use strict';\n(() => {{\n{body}\n}})();\n"


def _page_scripts() -> tuple[str, str]:
    """Return the script that unpacks the script of the page, and the latter."""
    return _read("unpack.js"), _script(*_SCRIPTS)


@functools.cache
def _packed(script: str) -> str:
    return base64.b64encode(zlib.compress(script.encode(), 9)).decode()


@functools.cache
def _source(text: str) -> str:
    """Return the digest by which a content security policy names an inline script or style."""
    return f"sha256-{base64.b64encode(hashlib.sha256(text.encode()).digest()).decode()}"


def page_version() -> str:
    """Return a digest of the page's files; pages rendered with another one are out of date."""
    return digest("page", _read("page.html"), _read("page.css"), *_page_scripts())
