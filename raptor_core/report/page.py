"""The pages of reports, each as one file that loads nothing.

A page runs no script but its own. The data stand in a script element that is no script
(``application/json``), where nothing can end the element or begin a comment; the script that reads
them writes texts as text only. A content security policy allows the page's own script and style, by
digest, and nothing else.

The report's script stands in the page deflated, which spares a home 30 kB for each partition; a few
lines of script (``unpack.js``) add it to the page.
"""

from __future__ import annotations

import base64
import functools
import hashlib
import html
import json
import re
import zlib
from collections.abc import Iterable, Mapping, Sequence
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

_ESCAPES = str.maketrans({char: f"\\u{ord(char):04x}" for char in "<>&\u2028\u2029"})
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
    unpack, script = _page_scripts()
    return fill_page(
        read_part("page.html"),
        read_part("page.css"),
        (unpack, script),
        reach,
        TITLE=html.escape(_LONE_SURROGATE.sub("\ufffd", title)),
        DATA=embedded_json(values),
        PACKED=_packed(script),
        UNPACK=unpack,
    )


def fill_page(
    template: str, style: str, scripts: Sequence[str], reach: str = "", **parts: str
) -> str:
    """Fill a template with its style, its content security policy and further parts.

    Args:
        template: HTML with places such as ``{{STYLE}}``.
        style: CSS of the page.
        scripts: scripts that stand in the page and may run.
        reach: rules that the policy begins with.
        parts: texts by the names of their places.
    """
    values = {"STYLE": style, "POLICY": reach + content_policy(scripts, style), **parts}
    return re.sub(r"\{\{(\w+)\}\}", lambda place: values[place[1]], template)


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
    return _LONE_SURROGATE.sub(lambda c: f"\\u{ord(c[0]):04x}", text.translate(_ESCAPES))


@functools.cache
def read_part(name: str) -> str:
    """Read a file of the report's page."""
    folder = resources.files("raptor_core.report") / "web"
    return (folder / name).read_text(encoding="utf-8")


@functools.cache
def _script(*names: str) -> str:
    return joined_script(map(read_part, names))


def joined_script(files: Iterable[str]) -> str:
    """Join the texts of script files into one strict script with a scope of its own."""
    body = "\n".join(files)
    return f"'use strict';\n(() => {{\n{body}\n}})();\n"


def _page_scripts() -> tuple[str, str]:
    """What unpacks the script of the page, and that."""
    return read_part("unpack.js"), _script(*_SCRIPTS)


@functools.cache
def _packed(script: str) -> str:
    return base64.b64encode(zlib.compress(script.encode(), 9)).decode()


@functools.cache
def _source(text: str) -> str:
    """How a content security policy names an inline script or style."""
    return f"sha256-{base64.b64encode(hashlib.sha256(text.encode()).digest()).decode()}"


def page_version() -> str:
    """Changes with the page's own files: what was rendered with another is out of date."""
    return digest("page", read_part("page.html"), read_part("page.css"), *_page_scripts())
