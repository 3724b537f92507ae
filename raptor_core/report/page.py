"""Rendering of report pages, each of which is a single file that loads nothing else.

A page contains its data, which ``data`` returns, as JSON in a script element, escaped so that no
text can end the element. The script writes texts as text, never as markup. A
content security policy allows only the page's own script and style, by digest.

The script of a report is compressed, which saves 30 kB per partition; ``unpack.js`` unpacks it.
"""

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
    "corpus.js",
    "ask.js",
    "save.js",
    "main.js",
)
"""Files of the report's script, in the order in which they are joined."""

_ESCAPES = str.maketrans({char: f"\\u{ord(char):04x}" for char in "<>&\u2028\u2029"})
_LONE_SURROGATE = re.compile("[\ud800-\udfff]")


def render_report(report: Report) -> str:
    """Render a report as HTML that UTF-8 can encode; equal reports give equal texts."""
    return _render_page(f"{report.name} · RAPTOR report", {"report": report_values(report)})


def render_server_page() -> str:
    """Render the page of a server; it requests its data from the server."""
    return _render_page("RAPTOR", {}, "connect-src 'self'; ")


def _render_page(title: str, values: Mapping[str, Any], reach: str = "") -> str:
    unpack, script = _page_scripts()
    return fill_page(
        read_page_file("page.html"),
        read_page_file("page.css"),
        (unpack, script),
        reach,
        TITLE=html.escape(_LONE_SURROGATE.sub("\ufffd", title)),
        DATA=json_for_script_element(values),
        PACKED=_deflate_to_base64(script),
        UNPACK=unpack,
    )


def fill_page(
    template: str, style: str, scripts: Sequence[str], reach: str = "", **parts: str
) -> str:
    """Fill the placeholders of a template, such as ``{{STYLE}}``.

    The page may run only ``scripts``. ``reach`` are rules that precede its content security policy.
    ``parts`` are texts by the names of their placeholders.
    """
    values = {"STYLE": style, "POLICY": reach + content_security_policy(scripts, style), **parts}
    return re.sub(r"\{\{(\w+)\}\}", lambda place: values[place[1]], template)


def content_security_policy(scripts: Sequence[str], style: str) -> str:
    """Return a content security policy that allows only these scripts and this style, by digest."""
    allowed = " ".join(f"'{_policy_digest(script)}'" for script in scripts)
    return (
        f"default-src 'none'; script-src {allowed}; style-src '{_policy_digest(style)}'; "
        "img-src data:; base-uri 'none'; form-action 'none'"
    )


def json_for_script_element(values: object) -> str:
    """Format values as JSON that is safe in a script element and in UTF-8."""
    text = json.dumps(values, ensure_ascii=False, separators=(",", ":"))
    return _LONE_SURROGATE.sub(lambda c: f"\\u{ord(c[0]):04x}", text.translate(_ESCAPES))


@functools.cache
def read_page_file(name: str) -> str:
    """Read a file of the report's page."""
    folder = resources.files("raptor_core.report") / "web"
    return (folder / name).read_text(encoding="utf-8")


def join_scripts(files: Iterable[str]) -> str:
    """Join script files into one function, so that their names are not global."""
    body = "\n".join(files)
    return f"'use strict';\n(() => {{\n{body}\n}})();\n"


@functools.cache
def _page_scripts() -> tuple[str, str]:
    """Return the unpacking script and the script of the page."""
    return read_page_file("unpack.js"), join_scripts(map(read_page_file, _SCRIPTS))


@functools.cache
def _deflate_to_base64(script: str) -> str:
    return base64.b64encode(zlib.compress(script.encode(), 9)).decode()


@functools.cache
def _policy_digest(text: str) -> str:
    """Return the digest by which a content security policy names an inline script or style."""
    return f"sha256-{base64.b64encode(hashlib.sha256(text.encode()).digest()).decode()}"
