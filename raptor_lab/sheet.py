"""Manual study of summaries: random nodes, a verdict on every sentence, and the figures.

It follows appendix E of the RAPTOR paper, where people read 150 nodes of 40 stories. There 4 % had
a hallucination, mostly added information or a wrong extrapolation, and no parent repeated one.

The sheet is a folder of two files. ``drawn.json`` keeps nodes, children and parents unchanged.
``sheet.csv`` has a row for every sentence; people fill its columns ``verdict`` and ``note``.
"""

import csv
import heapq
import io
import json
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Literal

from pydantic import BaseModel, ConfigDict, TypeAdapter, ValidationError, field_validator

from raptor_core.audit.base import NamedText, SentenceFinding, sentence_texts
from raptor_core.audit.terms import (
    SupportedTerms,
    find_missing_terms,
    find_required_terms,
    find_supported_terms,
    merge_supported_terms,
)
from raptor_core.disk import replace_file
from raptor_core.errors import SettingsError
from raptor_core.identity import digest, normalize_text
from raptor_core.nodes import Node

KINDS = ("added", "extrapolated", "contradicted")
"""Hallucinations that no child says, that do not follow from them, that they contradict."""
VERDICTS = ("supported", *KINDS, "unsure")


@dataclass(frozen=True, slots=True)
class DrawnNode:
    """Summary at the time of the draw, with its children and its parents."""

    id: str
    tree: str
    layer: int
    text: str
    sentences: tuple[str, ...]
    children: tuple[NamedText, ...]
    parents: tuple[NamedText, ...]


@dataclass(frozen=True, slots=True)
class DrawnSample:
    """Sample for a study: ``nodes`` of ``population`` summaries in ``n_trees`` trees."""

    seed: int
    n_trees: int
    population: int
    nodes: tuple[DrawnNode, ...]


@dataclass(frozen=True, slots=True)
class SheetVerdict:
    """Verdict of a person on one sentence, one of VERDICTS, and a note that may be empty."""

    verdict: str
    note: str = ""


Verdicts = Mapping[tuple[str, int], SheetVerdict]
"""Verdicts by node id and number of the sentence, from 0."""


@dataclass(frozen=True, slots=True)
class StudyFigures:
    """Figures from the verdicts.

    Attributes:
        n_nodes: judged nodes, without those whose only doubt is an unsure sentence.
        n_hallucinating: nodes with a sentence of one of KINDS.
        low, high: Wilson's 95 % interval of the share.
        kinds: number of such sentences by kind.
        n_traceable: unsupported sentences with a number or name that no child has, in nodes with
            a parent.
        n_repeated: traceable sentences with such a number or name that a parent repeats.
    """

    n_nodes: int
    n_hallucinating: int
    low: float
    high: float
    kinds: Mapping[str, int]
    n_traceable: int
    n_repeated: int

    @property
    def share(self) -> float:
        """Share of nodes with a hallucination; 0 without nodes."""
        return self.n_hallucinating / self.n_nodes if self.n_nodes else 0.0


def draw_sample(
    trees: Mapping[str, Sequence[Node]], n_nodes: int, n_trees: int, seed: int
) -> DrawnSample:
    """Draw ``n_nodes`` summaries from ``n_trees`` trees, or all there are; each is equally likely.

    The sample takes the trees, then the nodes in them, with the smallest hash of ``seed`` and name
    or id. The same home and seed give the same nodes, in any order of the input.
    """
    candidates = [name for name, nodes in trees.items() if any(not node.is_leaf for node in nodes)]
    chosen = heapq.nsmallest(n_trees, candidates, key=lambda name: digest("draw", str(seed), name))
    pool = [node for name in chosen for node in trees[name] if not node.is_leaf]
    drawn = heapq.nsmallest(n_nodes, pool, key=lambda node: digest("draw", str(seed), node.id))
    kept = (_to_drawn_node(node, trees[node.tree]) for node in drawn)
    return DrawnSample(seed, len(chosen), len(pool), tuple(kept))


def _to_drawn_node(node: Node, nodes: Sequence[Node]) -> DrawnNode:
    by_id = {candidate.id: candidate for candidate in nodes}
    children = (by_id[child] for child in node.children if child in by_id)
    parents = (candidate for candidate in nodes if node.id in candidate.children)
    return DrawnNode(
        node.id,
        node.tree,
        node.layer,
        node.text,
        tuple(sentence_texts(node.text)),
        tuple(NamedText(child.id, child.text) for child in children),
        tuple(NamedText(parent.id, parent.text) for parent in parents),
    )


def sheet_findings(drawn: DrawnSample, verdicts: Verdicts) -> list[SentenceFinding]:
    """Return the verdicts as findings, with numbers and names that no child has as ``missing``."""
    return [
        _to_finding(node, at, verdicts[node.id, at])
        for node in drawn.nodes
        for at in range(len(node.sentences))
        if (node.id, at) in verdicts
    ]


def _to_finding(node: DrawnNode, at: int, verdict: SheetVerdict) -> SentenceFinding:
    sentence = node.sentences[at]
    reason = f"by hand: {verdict.verdict}" + (f", {verdict.note}" if verdict.note else "")
    if verdict.verdict == "supported":
        return SentenceFinding(node.id, sentence, "supported", 1.0, reason=reason)
    if verdict.verdict == "unsure":
        return SentenceFinding(node.id, sentence, "not judged", 0.0, reason=reason)
    known = merge_supported_terms([find_supported_terms(child.text) for child in node.children])
    missing = tuple(
        find_missing_terms(find_required_terms(sentence, known).numbers_and_names, known)
    )
    return SentenceFinding(node.id, sentence, "unsupported", 0.0, missing, reason=reason)


def compute_study_figures(drawn: DrawnSample, verdicts: Verdicts) -> StudyFigures:
    """Compute the share of nodes with a hallucination, its kinds, and how many parents repeat."""
    findings = sheet_findings(drawn, verdicts)
    wrong = {f.node_id for f in findings if f.judgement == "unsupported"}
    unsure = {f.node_id for f in findings if f.judgement == "not judged"}
    judged = {f.node_id for f in findings} - (unsure - wrong)
    parents = {
        node.id: [find_supported_terms(p.text) for p in node.parents] for node in drawn.nodes
    }
    counts = Counter(verdict.verdict for verdict in verdicts.values())
    low, high = wilson_interval(len(wrong), len(judged))
    kinds = {kind: counts[kind] for kind in KINDS}
    return StudyFigures(
        len(judged), len(wrong), low, high, kinds, *_count_traceable_and_repeated(findings, parents)
    )


def _count_traceable_and_repeated(
    findings: Iterable[SentenceFinding], parents: Mapping[str, Sequence[SupportedTerms]]
) -> tuple[int, int]:
    """Count the unsupported sentences that can be traced, and those that a parent repeats."""
    n_traceable = n_repeated = 0
    for finding in findings:
        exact = find_required_terms(finding.sentence, SupportedTerms(frozenset())).numbers_and_names
        marks = [item.forms for item in exact if item.text in finding.missing]
        of_node = parents[finding.node_id]
        if finding.judgement == "unsupported" and marks and of_node:
            n_traceable += 1
            n_repeated += any(parent.supports(forms) for parent in of_node for forms in marks)
    return n_traceable, n_repeated


def wilson_interval(n_hits: int, n: int) -> tuple[float, float]:
    """Compute Wilson's 95 % interval of a share, not empty at 0 and 1; (0, 1) if n is 0."""
    from scipy.stats import binomtest

    if not n:
        return 0.0, 1.0
    interval = binomtest(n_hits, n).proportion_ci(method="wilson")
    return float(interval.low), float(interval.high)


DRAWN, SHEET = "drawn.json", "sheet.csv"
COLUMNS = ("tree", "layer", "node", "number", "sentence", "verdict", "note", "children")
_NEEDED = ("node", "number", "sentence", "verdict", "note")
_FORMULA = tuple("=+-@\t\r")
_SHOWN = 5


def write_sheet(folder: Path, drawn: DrawnSample) -> None:
    """Write ``drawn.json`` and an empty ``sheet.csv`` into a folder without a sheet."""
    if (folder / DRAWN).exists():
        raise SettingsError(f"{folder} already contains a sheet; name another folder, or remove it")
    folder.mkdir(parents=True, exist_ok=True)
    text = io.StringIO()
    writer = csv.writer(text)
    writer.writerow(COLUMNS)
    for node in drawn.nodes:
        children = "\n\n".join(child.text for child in node.children)
        for number, sentence in enumerate(node.sentences, 1):
            place = (_escape_formula(node.tree), node.layer, node.id, number)
            writer.writerow((*place, _escape_formula(sentence), "", "", _escape_formula(children)))
    replace_file(folder / SHEET, text.getvalue().encode("utf-8-sig", "replace"))
    replace_file(folder / DRAWN, json.dumps(asdict(drawn), ensure_ascii=True).encode())


def _escape_formula(text: str) -> str:
    """Escape a text that a spreadsheet would take for a formula."""
    return f"'{text}" if text.startswith(_FORMULA) else text


def read_sample(folder: Path) -> DrawnSample:
    """Read the sample of the sheet in a folder."""
    path = folder / DRAWN
    if not path.is_file():
        raise SettingsError(f"there is no {path}; `raptor eval sheet {folder}` draws nodes first")
    try:
        return TypeAdapter(DrawnSample).validate_json(path.read_bytes())
    except ValidationError as error:
        reason = error.errors()[0]["msg"]
        raise SettingsError(f"{path} is damaged ({reason}); draw the sheet again") from error


class _SheetRow(BaseModel):
    """Row of a filled sheet; ``number`` counts the sentences of a node from 1."""

    model_config = ConfigDict(str_strip_whitespace=True)

    node: str
    number: int
    sentence: str
    verdict: Literal["", "supported", "added", "extrapolated", "contradicted", "unsure"]
    note: str

    @field_validator("verdict", mode="before")
    @classmethod
    def _fold_verdict_case(cls, verdict: str) -> str:
        return verdict.strip().casefold()


def read_verdicts(
    path: Path, drawn: DrawnSample, *, partly: bool
) -> dict[tuple[str, int], SheetVerdict]:
    """Read the verdicts of a filled sheet, by node and number of the sentence from 0.

    Args:
        path: CSV file, with commas, semicolons or tabs between its cells.
        partly: accept sentences without a verdict; they are left out.

    Raises:
        SettingsError: the file differs from the sample, or lacks a verdict; it names the rows.
    """
    sentences = {(n.id, at): text for n in drawn.nodes for at, text in enumerate(n.sentences)}
    verdicts: dict[tuple[str, int], SheetVerdict] = {}
    empty: list[str] = []
    for at, row in _read_rows(path):
        key = row.node, row.number - 1
        if fault := _explain_fault(row, sentences.get(key), is_again=key in verdicts):
            raise SettingsError(f"{path}, row {at}: {fault}")
        if row.verdict:
            verdicts[key] = SheetVerdict(row.verdict, normalize_text(row.note))
        else:
            empty.append(str(at))
    n_without = len(sentences) - len(verdicts)
    if n_without and (not partly or not verdicts):
        rows = ", ".join(empty[:_SHOWN]) + (" …" if len(empty) > _SHOWN else "")
        where = f" (rows {rows})" if empty else " (their rows are missing)"
        raise SettingsError(
            f"{path}: {n_without} of {len(sentences)} sentences have no verdict{where}; fill them "
            "in, with 'unsure' if you cannot decide, or read the filled rows only with --partly"
        )
    return verdicts


def _explain_fault(row: _SheetRow, drawn: str | None, *, is_again: bool) -> str:
    """Return what is wrong with a row whose sentence was ``drawn``, or ""."""
    if drawn is None:
        return (
            f"no sentence {row.number} of a node {row.node!r} was drawn; read the sheet with the "
            "folder it was drawn into"
        )
    if _undo_escapes(row.sentence) != _undo_escapes(drawn):
        return f"its sentence was {drawn[:80]!r} when it was drawn; write it back"
    return "an earlier row judges the same sentence; keep one of them" if is_again else ""


def _undo_escapes(text: str) -> str:
    """Undo the changes to a text that its cell and a spreadsheet may make."""
    return normalize_text(text.encode("utf-8", "replace").decode()).removeprefix("'").strip()


def _read_rows(path: Path) -> Iterator[tuple[int, _SheetRow]]:
    try:
        text = path.read_bytes().decode("utf-8-sig")
    except OSError as error:
        raise SettingsError(f"there is no sheet at {path}") from error
    except UnicodeDecodeError as error:
        raise SettingsError(f"{path} is not UTF-8 ({error}); save it as CSV in UTF-8") from error
    head = text.partition("\n")[0]
    file = io.StringIO(text, newline="")
    for at, row in enumerate(csv.DictReader(file, delimiter=max(",;\t", key=head.count)), 2):
        try:
            yield at, _SheetRow.model_validate({key: row.get(key) or "" for key in _NEEDED})
        except ValidationError as error:
            fault = error.errors()[0]
            raise SettingsError(
                f"{path}, row {at}: {fault['loc'][0]} is {fault['input']!r}: {fault['msg']}"
            ) from error
