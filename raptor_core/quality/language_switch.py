"""Summaries in another language than what they summarize: a model that forgot itself."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from raptor_core.audit.collage import is_collage
from raptor_core.nodes import Node
from raptor_core.quality.languages import HAN, JAPANESE, LATIN, Writing, writing
from raptor_core.quality.verdicts import (
    CheckInfo,
    Verdict,
    WorstNode,
    children_of,
    percent,
    verdict,
)
from raptor_core.settings import CheckSettings

LANGUAGE_SWITCH = CheckInfo(
    "language_switch",
    "warn",
    "Share of summaries in another script or language than their children, where both are plain.",
)
_MIN_LETTERS = {HAN: 12, JAPANESE: 16, "Korean": 16}
_MIN_LETTERS_ELSEWHERE = 40
_MIN_SHARE = 0.1


@dataclass(frozen=True, slots=True)
class Switched:
    """A summary, the script or language it is in, and that of its children."""

    node_id: str
    text: str
    found: str
    expected: str


@dataclass(frozen=True, slots=True)
class LanguageReport:
    """``checked`` summaries, those in a plain script or language, those that switched."""

    checked: int
    judged: int
    nodes: tuple[Switched, ...]

    @property
    def share(self) -> float:
        """Share of the checked summaries that switched."""
        return len(self.nodes) / self.checked if self.checked else 0.0


def measure_languages(nodes: Sequence[Node], below: Mapping[str, Node]) -> LanguageReport:
    """Compare every summary in ``nodes`` with its children; each text is looked at once."""
    known: dict[str, Writing] = {}
    summaries = [node for node in nodes if not node.is_leaf]
    judged, found = 0, []
    for node in summaries:
        mine = writing(node.text)
        children = children_of(node, below)
        judged += mine.script is not None and (mine.script != LATIN or mine.language is not None)
        if is_collage(node.text, [child.text for child in children]):
            continue
        for child in children:
            if child.id not in known:
                known[child.id] = writing(child.text)
        switch = find_switch(mine, [known[child.id] for child in children])
        if switch:
            found.append(Switched(node.id, node.text, *switch))
    return LanguageReport(len(summaries), judged, tuple(found))


def find_switch(summary: Writing, children: Sequence[Writing]) -> tuple[str, str] | None:
    """What a summary is written in and what its children are in, where the two plainly differ.

    A script or language that any child has a good part of is none to switch to.
    """
    script = summary.script
    if script is None or not children:
        return None
    together = sum(children[1:], children[0])
    if together.script is None or summary.n_letters < _least(script):
        return None
    if script == LATIN == together.script:
        return _language_switch(summary, together, children)
    if script == together.script or any(child.script == script for child in children):
        return None
    kin = {script, together.script} == {HAN, JAPANESE}
    if not kin and any(child.share(script) >= _MIN_SHARE for child in children):
        quoted = script == LATIN and summary.language is not None
        if not quoted or any(child.language == summary.language for child in children):
            return None
    return summary.language or script, together.script


def _language_switch(
    summary: Writing, together: Writing, children: Sequence[Writing]
) -> tuple[str, str] | None:
    mine, theirs = summary.language, together.language
    if mine is None or theirs is None or mine == theirs or summary.speaks(theirs):
        return None
    if together.speaks(mine) or any(child.language == mine for child in children):
        return None
    return mine, theirs


def evaluate_languages(report: LanguageReport, checks: CheckSettings) -> Verdict:
    """Whether at most ``max_switched`` of the summaries are in another language."""
    n_switched = len(report.nodes)
    numbers = {
        "summaries": float(report.checked),
        "plain_language": float(report.judged),
        "switched": float(n_switched),
    }
    summary = "No summary to look at."
    if report.checked:
        numbers["switched_share"] = report.share
        summary = (
            f"{n_switched} of {report.checked} summaries are in another language than their "
            f"children (at most {percent(checks.max_switched)})."
        )
    worst = [
        WorstNode(n.node_id, n.text, 1.0, f"{n.found}, its children {n.expected}")
        for n in report.nodes
    ]
    remedy = "Ask for the documents' language: try another summarizer.model; build these again."
    passed = report.share <= checks.max_switched
    return verdict(LANGUAGE_SWITCH, passed, summary, numbers, worst, remedy)


def _least(script: str) -> int:
    return _MIN_LETTERS.get(script, _MIN_LETTERS_ELSEWHERE)
