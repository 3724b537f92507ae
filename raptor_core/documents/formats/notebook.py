"""Jupyter notebooks, read as the Markdown of their cells and outputs."""

import json
import re
from typing import Any

from raptor_core.documents.formats.archive import refuse_damage
from raptor_core.documents.formats.encoding import decode
from raptor_core.documents.formats.html import parse_html
from raptor_core.documents.formats.markdown import parse_markdown
from raptor_core.documents.formats.parsed import Parsed, UnreadableError

_SHOWN_OUTPUTS = ("text", "text/markdown", "text/plain")
_OBJECT = re.compile(r"<[\w.]+ (?:object|size|at 0x)[^<>]*>|<Axes[^<>]*>")


def parse_notebook(data: bytes) -> Parsed:
    """Parse a notebook as Markdown: its texts, its code, and outputs that are plain text."""
    with refuse_damage("Jupyter notebook"):
        notebook = json.loads(decode(data))
        if not isinstance(notebook, dict) or not {"cells", "worksheets"} & notebook.keys():
            raise UnreadableError("is no Jupyter notebook: it holds no cells")
        sheets = notebook.get("worksheets", [notebook])  # of the versions before 4
        cells = [cell for sheet in sheets for cell in sheet.get("cells", ())]
        text = "\n\n".join(filter(str.strip, map(_cell_text, cells)))
    return parse_markdown(text.encode("utf-8", "replace"))


def _cell_text(cell: dict[str, Any]) -> str:
    source = _joined(cell.get("source", cell.get("input", "")))
    kind = cell.get("cell_type")
    if kind == "heading":
        return f"{'#' * int(cell.get('level', 1))} {source}"
    if kind != "code":
        return source
    outputs = (_output_text(output) for output in cell.get("outputs", ()))
    return "\n\n".join(f"```\n{text.rstrip()}\n```" for text in (source, *outputs) if text.strip())


def _output_text(output: dict[str, Any]) -> str:
    values = {**output, **output.get("data", {})}
    text = next((_joined(values[key]) for key in _SHOWN_OUTPUTS if key in values), "")
    if not _OBJECT.fullmatch(text.strip()):
        return text
    page = _joined(values.get("text/html", ""))
    return parse_html(page.encode("utf-8", "replace"), is_whole=True).text


def _joined(source: str | list[str]) -> str:
    return source if isinstance(source, str) else "".join(source)
