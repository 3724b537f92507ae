"""Markdown tables for metadata, safe for any text."""

from __future__ import annotations

import re
import shlex
from collections.abc import Iterable, Sequence
from html import escape

from raptor_core.checks.base import WorstNode
from raptor_core.nodes import Node

_TEXT_CHARS = 160
_SHOWN_NODES = 5
_MARKUP = re.compile(r"([\\`*_{}\[\]()#+!|~$^=:@-])")
"""Characters to escape, so that no text ends its cell or becomes markup, HTML or a link."""


class MarkdownCell(str):
    """Cell that is already Markdown, on one line and without a vertical bar."""

    __slots__ = ()


def nodes_markdown(nodes: Sequence[Node]) -> str:
    """Return a table of the first nodes of a layer; "" if there are none."""
    if not nodes:
        return ""
    are_leaves = nodes[0].is_leaf
    head = ("tree", *(() if are_leaves else ("name", "children")), "tokens", "text")
    rows = []
    for node in nodes[:_SHOWN_NODES]:
        summary = () if are_leaves else (node.name, str(len(node.children)))
        rows.append((node.tree, *summary, str(node.n_tokens), shorten(node.text, _TEXT_CHARS)))
    return markdown_table(head, rows)


def worst_nodes_markdown(worst: Sequence[WorstNode]) -> str:
    """Return a table of a check's worst nodes, and the commands that show one."""
    if not worst:
        return ""
    rows = (
        (w.tree, w.node_id, f"{w.value:.4g}", w.why, shorten(w.text, _TEXT_CHARS)) for w in worst
    )
    table = markdown_table(("tree", "node", "value", "why", "text"), rows)
    named = next((w for w in worst if w.node_id and w.tree), None)
    if named is None:
        return table
    tree = shlex.quote(named.tree)
    trace = code_markdown(f"raptor tree {tree} --trace {named.node_id}")
    report = code_markdown(f"raptor report {tree} --node {named.node_id}")
    return (
        f"{table}\n\nOnce published, {trace} shows the first one and the spans of the documents "
        f"below it, {report} opens it in the tree's page."
    )


def code_markdown(text: str) -> str:
    """Return Markdown that shows ``text``, with any backticks, as code."""
    line = "".join(c if c.isprintable() else " " for c in text)
    fence = "`" * (1 + max(map(len, re.findall("`+", line)), default=0))
    space = " " if line[:1] == "`" or line[-1:] == "`" else ""
    return f"{fence}{space}{line}{space}{fence}"


def markdown_table(headers: Sequence[str], rows: Iterable[Sequence[str]]) -> str:
    """Return a table with a line for each row; plain texts are escaped, ``MarkdownCell`` is not."""
    head, *lines = ["| " + " | ".join(map(_cell_markdown, row)) + " |" for row in (headers, *rows)]
    return "\n".join([head, "| " + " | ".join(["---"] * len(headers)) + " |", *lines])


def _cell_markdown(text: str) -> str:
    return text if isinstance(text, MarkdownCell) else escape_cell(text)


def escape_cell(text: str) -> str:
    """Return Markdown that shows ``text`` literally, on one line."""
    line = " ".join("".join(c if c.isprintable() else " " for c in text).split())
    return _MARKUP.sub(r"\\\1", escape(line, quote=False))


def shorten(text: str, max_chars: int = 300) -> str:
    """Fold ``text`` to one line of at most ``max_chars``, cut at a word with an ellipsis."""
    line = " ".join(text.split())
    if len(line) <= max_chars:
        return line
    cut = line[: max(0, max_chars - 1)]
    if not line[len(cut)].isspace():
        at = cut.rfind(" ")
        cut = cut[:at] if at > max_chars // 2 else cut
    return cut.rstrip(" ,;:-–—") + "…"
