"""Summaries of two builds of a tree side by side, as a page and as Markdown."""

import difflib
import re
from collections.abc import Iterable
from dataclasses import dataclass
from html import escape
from itertools import pairwise

from raptor_assets.shown.markdown import code
from raptor_core.text.sentence_ends import sentence_ends

_COLUMNS = 70  # characters of a line
_STYLE = """
body { font: 15px/1.5 system-ui, sans-serif; margin: 2em; color-scheme: light dark; }
table.diff { width: 100%; border-collapse: collapse; margin-bottom: 2em; }
table.diff td { font: 13px/1.5 ui-monospace, monospace; vertical-align: top; padding: 0 .5em; }
td.diff_header, td.diff_next, th.diff_next { display: none; }
.diff_add { background: #2e7d3240; } .diff_sub { background: #c6282840; }
.diff_chg { background: #f9a82540; }
"""


@dataclass(frozen=True, slots=True)
class Change:
    """Summary of one build beside that of another; a text is empty if its build lacks it."""

    layer: int
    name: str
    old: str
    new: str


def difference_page(tree: str, old: str, new: str, summaries: Iterable[Change]) -> str:
    """Return an HTML page of the summaries that differ between two builds."""
    differ = difflib.HtmlDiff(wrapcolumn=_COLUMNS)
    parts = []
    for change in summaries:
        table = differ.make_table(_sentences(change.old), _sentences(change.new))
        parts.append(f"<h2>Layer {change.layer}: {escape(change.name)}</h2>{table}")
    body = "".join(parts) or "<p>No summary differs.</p>"
    title = f"{escape(tree)}: {escape(old)} → {escape(new)}"
    return (
        f'<!doctype html><html lang="en"><meta charset="utf-8"><title>{title}</title>'
        f"<style>{_STYLE}</style><h1>{title}</h1>{body}</html>"
    )


def difference_markdown(tree: str, lines: Iterable[str], summaries: Iterable[Change]) -> str:
    """Return Markdown with ``lines`` on two builds, and a diff of each summary's sentences."""
    parts = [f"### {code(tree)}", "", *(f"- {line}" for line in lines)]
    for change in summaries:
        sides = _sentences(change.old), _sentences(change.new)
        differing = list(difflib.unified_diff(*sides, lineterm="", n=1))[3:]
        fence = "~" * (3 + max(map(_run_of_tildes, differing), default=0))
        title = f"Layer {change.layer}: {code(change.name)}"
        parts += ["", title, "", f"{fence}diff", *differing, fence]
    return "\n".join(parts)


def _run_of_tildes(line: str) -> int:
    return max(map(len, re.findall("~+", line)), default=0)


def _sentences(text: str) -> list[str]:
    """Return the sentences of a text, each on a line."""
    ends = [0, *sentence_ends(text, 0, len(text)), len(text)]
    parts = (text[start:end] for start, end in pairwise(ends))
    return [" ".join(part.split()) for part in parts if part.strip()]
