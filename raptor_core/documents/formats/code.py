"""Programs: Python with a section for each class and function, and notebooks (.ipynb)."""

from __future__ import annotations

import ast
import json
import warnings
from collections.abc import Iterator, Sequence
from typing import Any

from raptor_core.documents.formats.archive import refuse_damage
from raptor_core.documents.formats.encoding import decode
from raptor_core.documents.formats.markdown import parse_markdown
from raptor_core.documents.formats.parsed import Heading, Parsed, UnreadableError, clean_text, nest

_SHOWN_OUTPUTS = ("text", "text/plain")


def parse_python(data: bytes) -> Parsed:
    """Parse a module; the text is unchanged, and without sections if Python cannot parse it."""
    text = clean_text(decode(data))
    lines = text.split("\n")
    starts = [0]
    for line in lines:
        starts.append(starts[-1] + len(line) + 1)
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")  # of the program, such as invalid escapes
            module = ast.parse(text)
    except (SyntaxError, ValueError, RecursionError, MemoryError):
        return Parsed(text)
    headings = list(_definitions(module.body, 1, starts))
    return Parsed(text, "", nest(headings, len(text)))


def _definitions(body: Sequence[ast.stmt], rank: int, starts: Sequence[int]) -> Iterator[Heading]:
    for node in body:
        if isinstance(node, ast.ClassDef | ast.FunctionDef | ast.AsyncFunctionDef):
            kind = "class" if isinstance(node, ast.ClassDef) else "def"
            row = min([node.lineno, *(d.lineno for d in node.decorator_list)])
            yield Heading(f"{kind} {node.name}", rank, starts[row - 1])
            if kind == "class":
                yield from _definitions(node.body, rank + 1, starts)


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
    return next((_joined(values[key]) for key in _SHOWN_OUTPUTS if key in values), "")


def _joined(source: str | list[str]) -> str:
    return source if isinstance(source, str) else "".join(source)
