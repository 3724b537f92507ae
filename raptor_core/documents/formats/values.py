"""Data and programs: JSON, YAML, Python and notebooks.

A record of JSON and YAML is a paragraph, each value a line with its path. A class or function of
Python is a section.
"""

import ast
import json
import re
import warnings
from collections.abc import Iterator, Sequence
from itertools import accumulate
from typing import Any

from raptor_core.documents.base import MEGABYTE
from raptor_core.documents.formats.archive import MAX_TEXT_MB, refuse_damage
from raptor_core.documents.formats.encoding import decode
from raptor_core.documents.formats.html import parse_html
from raptor_core.documents.formats.markdown import parse_markdown
from raptor_core.documents.formats.parsed import (
    Blocks,
    Heading,
    Parsed,
    UnreadableError,
    clean_text,
    nest,
)

_SHOWN_OUTPUTS = ("text", "text/markdown", "text/plain")
_OBJECT = re.compile(r"<[\w.]+ (?:object|size|at 0x)[^<>]*>|<Axes[^<>]*>")
_TITLES = ("title", "name", "heading", "question", "id")


def parse_json(data: bytes) -> Parsed:
    """Parse a JSON value."""
    with refuse_damage("JSON file"):
        return _parse([json.loads(clean_text(decode(data)))])


def parse_yaml(data: bytes) -> Parsed:
    """Parse the documents of a YAML stream; scalars stay as they are written, tags count not."""
    import yaml

    loader = getattr(yaml, "CBaseLoader", yaml.BaseLoader)
    with refuse_damage("YAML file"):
        return _parse(yaml.load_all(clean_text(decode(data)), loader))


def _parse(values: Any) -> Parsed:
    blocks = Blocks()
    n_chars = 0
    for value in values:
        for title, lines in _records(value):
            if title:
                blocks.begin_heading(1)
                blocks.paragraph(title)
            for line in lines:
                n_chars += len(line)
                if n_chars > MAX_TEXT_MB * MEGABYTE:  # aliases of YAML multiply
                    raise UnreadableError(f"has more than {MAX_TEXT_MB} MB of text; split it")
                blocks.text(line)
                blocks.line_break()
            blocks.leave()
    return blocks.parsed()


def _records(value: Any) -> Iterator[tuple[str, Iterator[str]]]:
    """Yield records with their titles: items of a list, values of an object."""
    if isinstance(value, list):
        for item in value:
            yield _title(item), _lines("", item)
    elif isinstance(value, dict):
        nested = {k: v for k, v in value.items() if isinstance(v, dict | list) and v}
        yield "", _lines("", {k: v for k, v in value.items() if k not in nested})
        for key, item in nested.items():
            is_table = isinstance(item, list) and all(isinstance(row, dict) for row in item)
            for number, row in enumerate(item if is_table else [item]):
                yield "" if number else str(key), _lines("", row)
    else:
        yield "", _lines("", value)


def _title(item: Any) -> str:
    texts = [item.get(key) for key in _TITLES] if isinstance(item, dict) else []
    return next((text for text in texts if isinstance(text, str) and text.strip()), "")


def _lines(path: str, value: Any) -> Iterator[str]:
    """Yield a line for each value with its path, such as "address.city: Brest"."""
    if isinstance(value, dict):
        for key, item in value.items():
            yield from _lines(f"{path}.{key}" if path else str(key), item)
    elif isinstance(value, list):
        if any(isinstance(item, dict | list) for item in value):
            for item in value:
                yield from _lines(path, item)
        elif value:
            yield from _lines(path, ", ".join(map(_scalar, value)))
    elif value not in (None, ""):
        yield f"{path}: {_scalar(value)}" if path else _scalar(value)


def _scalar(value: object) -> str:
    return json.dumps(value) if isinstance(value, bool) or value is None else str(value)


def parse_python(data: bytes) -> Parsed:
    """Parse a module; the text is unchanged, and without sections if Python cannot parse it."""
    text = clean_text(decode(data))
    starts = [0, *accumulate(len(line) + 1 for line in text.split("\n"))]
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
    text = next((_joined(values[key]) for key in _SHOWN_OUTPUTS if key in values), "")
    if not _OBJECT.fullmatch(text.strip()):
        return text
    page = _joined(values.get("text/html", ""))
    return parse_html(page.encode("utf-8", "replace"), is_whole=True).text


def _joined(source: str | list[str]) -> str:
    return source if isinstance(source, str) else "".join(source)
