"""The sheet of a study by hand as files: what was drawn, and a CSV file to fill in.

``drawn.json`` keeps nodes, children and parents as they were. ``sheet.csv`` has a row for every
sentence, whose columns ``verdict`` and ``note`` are filled in: there, or in the page, which saves
``filled.csv``.
"""

from __future__ import annotations

import csv
import io
import json
from collections.abc import Mapping, Sequence
from dataclasses import asdict
from pathlib import Path

from raptor_core.audit.base import NamedText
from raptor_core.audit.study import VERDICTS, Drawn, DrawnNode, Verdict
from raptor_core.disk import replace_file
from raptor_core.errors import SettingsError
from raptor_core.identity import normalize_text

DRAWN, SHEET, FILLED, PAGE = "drawn.json", "sheet.csv", "filled.csv", "sheet.html"
COLUMNS = ("tree", "layer", "node", "number", "sentence", "verdict", "note", "children")
_NEEDED = ("node", "number", "sentence", "verdict", "note")
_FORMULA = tuple("=+-@\t\r")
_SHOWN = 5


def write_sheet(folder: Path, drawn: Drawn) -> None:
    """Write ``drawn.json`` and an empty ``sheet.csv``.

    Raises:
        SettingsError: the folder holds a sheet already.
    """
    if (folder / DRAWN).exists():
        raise SettingsError(f"{folder} holds a sheet already; name another folder, or remove it")
    folder.mkdir(parents=True, exist_ok=True)
    text = io.StringIO()
    writer = csv.writer(text)
    writer.writerow(COLUMNS)
    for node in drawn.nodes:
        children = "\n\n".join(child.text for child in node.children)
        for number, sentence in enumerate(node.sentences, 1):
            place = (_cell(node.tree), node.layer, node.id, number)
            writer.writerow((*place, _cell(sentence), "", "", _cell(children)))
    replace_file(folder / SHEET, text.getvalue().encode("utf-8-sig", "replace"))
    replace_file(folder / DRAWN, json.dumps(asdict(drawn), ensure_ascii=True).encode())


def _cell(text: str) -> str:
    """A text that no spreadsheet takes for a formula."""
    return f"'{text}" if text.startswith(_FORMULA) else text


def read_drawn(folder: Path) -> Drawn:
    """What was drawn for the sheet in a folder.

    Raises:
        SettingsError: there is none, or it is damaged.
    """
    path = folder / DRAWN
    if not path.is_file():
        raise SettingsError(f"there is no {path}; `raptor eval sheet {folder}` draws nodes first")
    try:
        values = json.loads(path.read_bytes())
        nodes = tuple(
            DrawnNode(
                **node
                | {
                    "sentences": tuple(node["sentences"]),
                    "children": tuple(NamedText(**child) for child in node["children"]),
                    "parents": tuple(NamedText(**parent) for parent in node["parents"]),
                }
            )
            for node in values["nodes"]
        )
        return Drawn(**values | {"nodes": nodes})
    except (ValueError, KeyError, TypeError) as error:
        raise SettingsError(f"{path} is damaged ({error}); draw the sheet again") from error


def read_verdicts(path: Path, drawn: Drawn, *, partly: bool) -> dict[tuple[str, int], Verdict]:
    """The verdicts of a filled sheet, by node and number of the sentence from 0.

    Args:
        path: the CSV file, with commas, semicolons or tabs between its cells.
        drawn: what it was written for.
        partly: whether sentences may lack a verdict; they are left out.

    Raises:
        SettingsError: the file is missing or no such sheet, names a node or sentence that was not
            drawn, has another text than was drawn, or a verdict that is missing or unknown. The
            message names the rows as a spreadsheet counts them.
    """
    known = {node.id: node for node in drawn.nodes}
    found: dict[tuple[str, int], Verdict] = {}
    empty: list[str] = []
    for at, row in _rows(path):
        key = _key(path, at, row, known)
        verdict = row["verdict"].strip().casefold()
        if key in found:
            raise _wrong(path, at, "it judges a sentence that an earlier row judges; keep one")
        if verdict and verdict not in VERDICTS:
            told = f"the verdict {verdict!r} is unknown; write one of {', '.join(VERDICTS)}"
            raise _wrong(path, at, told)
        if verdict:
            note = normalize_text(row["note"])
            found[key] = Verdict(verdict, note)
        else:
            empty.append(str(at))
    wanted = sum(len(node.sentences) for node in drawn.nodes)
    n_without = wanted - len(found)
    if n_without and (not partly or not found):
        rows = ", ".join(empty[:_SHOWN]) + (" …" if len(empty) > _SHOWN else "")
        where = f" (rows {rows})" if empty else " (their rows are gone)"
        raise SettingsError(
            f"{path}: {n_without} of {wanted} sentences have no verdict{where}; fill them in, "
            "with 'unsure' where you can't tell, or read what there is with --partly"
        )
    return found


def _rows(path: Path) -> Sequence[tuple[int, Mapping[str, str]]]:
    try:
        text = path.read_bytes().decode("utf-8-sig")
    except (FileNotFoundError, IsADirectoryError, NotADirectoryError) as error:
        raise SettingsError(f"there is no filled sheet at {path}; name it by --filled") from error
    except UnicodeDecodeError as error:
        raise SettingsError(f"{path} is not UTF-8 ({error}); save it as CSV in UTF-8") from error
    head = text.partition("\n")[0]
    reader = csv.DictReader(
        io.StringIO(text, newline=""), delimiter=max(",;\t", key=head.count), restval=""
    )
    lacking = [name for name in _NEEDED if name not in (reader.fieldnames or ())]
    if lacking:
        raise SettingsError(
            f"{path} has no column {', '.join(lacking)}; keep the first row of {SHEET} as it is"
        )
    try:
        return [(at, row) for at, row in enumerate(reader, 2) if any(row.values())]
    except csv.Error as error:
        raise SettingsError(f"{path} is no CSV ({error}); save it as CSV in UTF-8") from error


def _key(
    path: Path, at: int, row: Mapping[str, str], known: Mapping[str, DrawnNode]
) -> tuple[str, int]:
    node = known.get(row["node"].strip())
    if node is None:
        told = f"the node {row['node']!r} was not drawn; read it with the folder it was drawn into"
        raise _wrong(path, at, told)
    number = row["number"].strip()
    if not number.isdecimal() or not 1 <= int(number) <= len(node.sentences):
        raise _wrong(path, at, f"node {node.id} has no sentence {number!r}; write its number back")
    drawn, given = node.sentences[int(number) - 1], row["sentence"]
    if _plain(given) != _plain(drawn):
        raise _wrong(path, at, f"its sentence was {drawn[:80]!r} when it was drawn; write it back")
    return node.id, int(number) - 1


def _plain(text: str) -> str:
    """A text without what writing it into a cell, and a spreadsheet, may change."""
    return normalize_text(text.encode("utf-8", "replace").decode()).removeprefix("'").strip()


def _wrong(path: Path, at: int, what: str) -> SettingsError:
    return SettingsError(f"{path}, row {at}: {what}")
