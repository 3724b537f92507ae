"""A study by hand: nodes drawn at random, a person's verdict on every sentence, the figures.

After appendix E of the RAPTOR paper, where people read 150 nodes of 40 stories: 4 % held a
hallucination, most of them added information or wrong extrapolation, and no parent repeated one.

The sheet is files in a folder. ``drawn.json`` keeps nodes, children and parents as they were.
``sheet.csv`` has a row for every sentence, whose columns ``verdict`` and ``note`` are filled in:
there, or in the page, which saves ``filled.csv``.
"""

from __future__ import annotations

import csv
import heapq
import io
import json
from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import asdict, dataclass
from pathlib import Path

from pydantic import TypeAdapter, ValidationError

from raptor_core.audit.base import NamedText, SentenceFinding, sentence_texts
from raptor_core.audit.report import Propagation, measure_propagation
from raptor_core.audit.terms import lacking, needs_of, terms, union
from raptor_core.disk import replace_file
from raptor_core.errors import SettingsError
from raptor_core.identity import digest, normalize_text
from raptor_core.nodes import Node

KINDS = ("added", "extrapolated", "contradicted")
"""Kinds of hallucination: no child says it; it does not follow from them; they say otherwise."""

VERDICTS = ("supported", *KINDS, "unsure")


@dataclass(frozen=True, slots=True)
class DrawnNode:
    """A summary as it was when it was drawn, with its children and the summaries over it."""

    id: str
    tree: str
    layer: int
    text: str
    sentences: tuple[str, ...]
    children: tuple[NamedText, ...]
    parents: tuple[NamedText, ...]


@dataclass(frozen=True, slots=True)
class Drawn:
    """What a person is asked about: ``nodes`` of ``population`` summaries in ``n_trees`` trees."""

    seed: int
    n_trees: int
    population: int
    nodes: tuple[DrawnNode, ...]


@dataclass(frozen=True, slots=True)
class Verdict:
    """What a person said of one sentence: one of VERDICTS, and a note that may be empty."""

    verdict: str
    note: str = ""


Verdicts = Mapping[tuple[str, int], Verdict]
"""By node id and number of the sentence, from 0."""


@dataclass(frozen=True, slots=True)
class StudyFigures:
    """What the verdicts come to.

    Attributes:
        n_nodes: nodes with a verdict, but for those without hallucination that hold a sentence
            of which the person is unsure.
        n_hallucinating: those with a sentence of one of KINDS.
        low, high: Wilson's 95 % interval of their share.
        kinds: such sentences of each kind.
        propagation: how many of them a parent repeats.
    """

    n_nodes: int
    n_hallucinating: int
    low: float
    high: float
    kinds: Mapping[str, int]
    propagation: Propagation

    @property
    def share(self) -> float:
        """Share of the nodes that hold a hallucination; 0 without nodes."""
        return self.n_hallucinating / self.n_nodes if self.n_nodes else 0.0


def draw(
    trees: Mapping[str, Sequence[Node]],
    n_nodes: int,
    n_trees: int,
    seed: int,
) -> Drawn:
    """``n_nodes`` summaries of ``n_trees`` trees, or all there are; each is equally likely.

    Trees, then nodes of those, are those with the smallest hash of ``seed`` and name or id: the
    same home and seed give the same nodes, whatever order they come in.
    """
    able = [name for name, nodes in trees.items() if any(not node.is_leaf for node in nodes)]
    chosen = heapq.nsmallest(n_trees, able, key=lambda name: digest("draw", str(seed), name))
    pool = [node for name in chosen for node in trees[name] if not node.is_leaf]
    drawn = heapq.nsmallest(n_nodes, pool, key=lambda node: digest("draw", str(seed), node.id))
    kept = (_drawn(node, trees[node.tree]) for node in drawn)
    return Drawn(seed, len(chosen), len(pool), tuple(kept))


def _drawn(node: Node, nodes: Sequence[Node]) -> DrawnNode:
    by_id = {other.id: other for other in nodes}
    children = (by_id[child] for child in node.children if child in by_id)
    parents = (other for other in nodes if node.id in other.children)
    return DrawnNode(
        node.id,
        node.tree,
        node.layer,
        node.text,
        tuple(sentence_texts(node.text)),
        tuple(NamedText(child.id, child.text) for child in children),
        tuple(NamedText(parent.id, parent.text) for parent in parents),
    )


def hand_findings(drawn: Drawn, verdicts: Verdicts) -> list[SentenceFinding]:
    """The verdicts as findings, in the order of the nodes; sentences without one are left out.

    ``missing`` are numbers and names that no child holds: what a parent can be searched for.
    """
    return [
        _finding(node, at, verdicts[node.id, at])
        for node in drawn.nodes
        for at in range(len(node.sentences))
        if (node.id, at) in verdicts
    ]


def _finding(node: DrawnNode, at: int, given: Verdict) -> SentenceFinding:
    sentence = node.sentences[at]
    reason = f"by hand: {given.verdict}" + (f", {given.note}" if given.note else "")
    if given.verdict == "supported":
        return SentenceFinding(node.id, sentence, "supported", 1.0, reason=reason)
    if given.verdict == "unsure":
        return SentenceFinding(node.id, sentence, "not judged", 0.0, reason=reason)
    held = union([terms(child.text) for child in node.children])
    missing = tuple(lacking(needs_of(sentence, held).exact, held))
    return SentenceFinding(node.id, sentence, "unsupported", 0.0, missing, reason=reason)


def study_figures(drawn: Drawn, verdicts: Verdicts) -> StudyFigures:
    """Share of nodes with a hallucination, of which kind they are, how many a parent repeats."""
    findings = hand_findings(drawn, verdicts)
    wrong = {f.node_id for f in findings if f.judgement == "unsupported"}
    unsure = {f.node_id for f in findings if f.judgement == "not judged"}
    judged = {f.node_id for f in findings} - (unsure - wrong)
    above = [(p.text, [node.id]) for node in drawn.nodes for p in node.parents]
    counts = Counter(given.verdict for given in verdicts.values())
    low, high = wilson(len(wrong), len(judged))
    kinds = {kind: counts[kind] for kind in KINDS}
    propagation = measure_propagation(findings, above)
    return StudyFigures(len(judged), len(wrong), low, high, kinds, propagation)


def wilson(n_found: int, n: int) -> tuple[float, float]:
    """Wilson's 95 % score interval of a share, which is not empty at 0 and 1; (0, 1) for no n."""
    from scipy.stats import binomtest

    if not n:
        return 0.0, 1.0
    interval = binomtest(n_found, n).proportion_ci(method="wilson")
    return float(interval.low), float(interval.high)


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
        return TypeAdapter(Drawn).validate_json(path.read_bytes())
    except ValidationError as error:
        told = error.errors()[0]["msg"]
        raise SettingsError(f"{path} is damaged ({told}); draw the sheet again") from error


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
    verdicts: dict[tuple[str, int], Verdict] = {}
    empty: list[str] = []
    for at, row in _rows(path):
        key = _key(path, at, row, known)
        verdict = row["verdict"].strip().casefold()
        if key in verdicts:
            raise _wrong(path, at, "it judges a sentence that an earlier row judges; keep one")
        if verdict and verdict not in VERDICTS:
            told = f"the verdict {verdict!r} is unknown; write one of {', '.join(VERDICTS)}"
            raise _wrong(path, at, told)
        if verdict:
            note = normalize_text(row["note"])
            verdicts[key] = Verdict(verdict, note)
        else:
            empty.append(str(at))
    wanted = sum(len(node.sentences) for node in drawn.nodes)
    n_without = wanted - len(verdicts)
    if n_without and (not partly or not verdicts):
        rows = ", ".join(empty[:_SHOWN]) + (" …" if len(empty) > _SHOWN else "")
        where = f" (rows {rows})" if empty else " (their rows are gone)"
        raise SettingsError(
            f"{path}: {n_without} of {wanted} sentences have no verdict{where}; fill them in, "
            "with 'unsure' where you can't tell, or read what there is with --partly"
        )
    return verdicts


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


def same_nodes(drawn: Drawn, nodes: Iterable[Node]) -> list[Node]:
    """Those of the published ``nodes`` that were drawn, and have the texts that they had then."""
    by_id = {node.id: node for node in nodes}

    def held(node_id: str, text: str) -> bool:
        return node_id in by_id and by_id[node_id].text == text

    return [
        by_id[node.id]
        for node in drawn.nodes
        if held(node.id, node.text)
        and by_id[node.id].children == tuple(child.id for child in node.children)
        and all(held(child.id, child.text) for child in node.children)
    ]
