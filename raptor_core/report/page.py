"""The page as one file, which loads nothing and runs no script but its own.

The data stand in a script element that is no script (``application/json``), where nothing can
end the element or begin a comment; the script that reads them writes texts as text only. A
content security policy allows the page's own script and style, by digest, and nothing else.

The script stands in the page deflated, which spares a home 30 kB for each partition; a few lines of
script (``unpack.js``) add it to the page.
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
from importlib import resources
from typing import Any

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
"""In the order in which they stand in the page's one script."""

_ESCAPES = {
    "<": "\\u003c",
    ">": "\\u003e",
    "&": "\\u0026",
    "\u2028": "\\u2028",
    "\u2029": "\\u2029",
}
_LONE_SURROGATE = re.compile("[\ud800-\udfff]")


def render_report(report: Report) -> str:
    """One HTML document, which can be written as UTF-8. The same report gives the same text."""
    return _rendered(f"{report.name} · RAPTOR report", {"report": report_values(report)})


def render_corpus(values: Mapping[str, Any]) -> str:
    """The page of a corpus, with links to the pages of its trees; loads nothing."""
    return _rendered("RAPTOR", {"corpus": values})


def render_window() -> str:
    """The page that a server shows: it asks the server for all that it shows."""
    return _rendered("RAPTOR", {}, "connect-src 'self'; ")


def _rendered(title: str, values: Mapping[str, Any], reach: str = "") -> str:
    page, style, unpack, script = _parts()
    filled = {
        "TITLE": html.escape(_encodable(title)),
        "POLICY": reach + content_policy((unpack, script), style),
        "STYLE": style,
        "DATA": embedded_json(values),
        "PACKED": _packed(script),
        "UNPACK": unpack,
    }
    return re.sub(r"\{\{(\w+)\}\}", lambda found: filled[found[1]], page)


def content_policy(scripts: Sequence[str], style: str) -> str:
    """A content security policy that allows these, by digest, and nothing else."""
    allowed = " ".join(f"'{_source(script)}'" for script in scripts)
    return (
        f"default-src 'none'; script-src {allowed}; style-src '{_source(style)}'; "
        "img-src data:; base-uri 'none'; form-action 'none'"
    )


def embedded_json(values: object) -> str:
    """JSON that can stand within a script element, and in UTF-8 whatever its texts hold."""
    text = json.dumps(values, ensure_ascii=False, separators=(",", ":"))
    for char, escape in _ESCAPES.items():
        text = text.replace(char, escape)
    return _LONE_SURROGATE.sub(lambda found: f"\\u{ord(found[0]):04x}", text)


def _encodable(text: str) -> str:
    return _LONE_SURROGATE.sub("\ufffd", text)


@functools.cache
def _parts() -> tuple[str, str, str, str]:
    """Page, style, what unpacks the script, and the script, as they stand in the package."""
    folder = resources.files("raptor_core.report") / "web"

    def read(name: str) -> str:
        return (folder / name).read_text(encoding="utf-8")

    body = "\n".join(map(read, _SCRIPTS))
    script = f"'use strict';\n(() => {{\n{body}\n}})();\n"
    return read("page.html"), read("style.css"), read("unpack.js"), script


@functools.cache
def _packed(script: str) -> str:
    return base64.b64encode(zlib.compress(script.encode(), 9)).decode()


@functools.cache
def _source(text: str) -> str:
    """How a content security policy names an inline script or style."""
    return f"sha256-{base64.b64encode(hashlib.sha256(text.encode()).digest()).decode()}"


def page_version() -> str:
    """Changes with the page's own files: what was rendered with another is out of date."""
    return digest("page", *_parts())
