"""The page that says what the HTTP server speaks; it loads nothing from elsewhere."""

from __future__ import annotations

import base64
import hashlib
import json
from collections.abc import Mapping
from html import escape
from typing import Any

_STYLE = (
    ":root{color-scheme:light dark}body{font:16px/1.5 system-ui,sans-serif;max-width:50rem;"
    "margin:2rem auto;padding:0 1rem}pre{overflow:auto;border:1px solid #8884;padding:.7rem}"
    "td,th{text-align:left;vertical-align:top;padding:.1rem .8rem .1rem 0}"
)

_DIGEST = base64.b64encode(hashlib.sha256(_STYLE.encode()).digest()).decode()

POLICY = f"default-src 'none'; style-src 'sha256-{_DIGEST}'; form-action 'none'"
"""The content security policy of the page: its own style and nothing else."""


def description_page(described: Mapping[str, Any]) -> str:
    """The OpenAPI document of the server as a page."""
    parts = [
        f"<h2>{method.upper()} {escape(path)}</h2><p>{escape(told.get('description', ''))}</p>"
        f"{_parameters(told)}{_body(told, described)}{_answers(told)}"
        for path, methods in described["paths"].items()
        for method, told in methods.items()
    ]
    return (
        f'<!doctype html><html lang="en"><meta charset="utf-8"><title>RAPTOR over HTTP</title>'
        f"<style>{_STYLE}</style><h1>{escape(described['info']['title'])} over HTTP</h1>"
        f"<p>{escape(described['info'].get('summary', ''))} "
        f'<a href="openapi.json">openapi.json</a> describes it for machines, '
        f'<a href=".">the first page</a> asks questions.</p>{"".join(parts)}</html>'
    )


def _parameters(told: Mapping[str, Any]) -> str:
    rows = [
        f"<tr><td><code>{escape(one['name'])}</code><td>{escape(one['in'])}"
        f"<td>{escape(one.get('description', ''))}"
        for one in told.get("parameters", ())
    ]
    return f"<table>{''.join(rows)}</table>" if rows else ""


def _body(told: Mapping[str, Any], described: Mapping[str, Any]) -> str:
    if "requestBody" not in told:
        return ""
    schema = told["requestBody"]["content"]["application/json"]["schema"]
    name = schema["$ref"].rpartition("/")[2]
    shown = json.dumps(described["components"]["schemas"][name]["properties"], indent=2)
    return f"<details><summary>Body</summary><pre>{escape(shown)}</pre></details>"


def _answers(told: Mapping[str, Any]) -> str:
    rows = [
        f"<tr><td>{escape(status)}<td>{escape(answer.get('description', ''))}"
        for status, answer in told["responses"].items()
    ]
    return f"<table>{''.join(rows)}</table>"
