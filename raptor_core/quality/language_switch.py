"""Summaries in another language than what they summarize: a model that forgot itself."""

from __future__ import annotations

from collections.abc import Sequence
from functools import cache

from raptor_core.audit.collage import is_collage
from raptor_core.quality.languages import HAN, JAPANESE, LATIN, Writing, writing
from raptor_core.quality.subjects import CheckedLayer
from raptor_core.quality.verdicts import Measured, WorstNode, check, percent

_MIN_LETTERS = {HAN: 12, JAPANESE: 16, "Korean": 16}
_MIN_LETTERS_ELSEWHERE = 40
_MIN_SHARE = 0.1


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


@check(
    "language_switch",
    "warn",
    "Share of summaries in another script or language than their children, where both are plain.",
)
def language_switch(layer: CheckedLayer) -> Measured:
    """Whether at most ``max_switched`` of the summaries are in another language."""
    known = cache(writing)  # a child has several parents
    n_checked, bound = len(layer.summaries), layer.settings.checks.max_switched
    n_judged, switched = 0, []
    for node in layer.summaries:
        mine, children = writing(node.text), layer.texts_below(node)
        n_judged += mine.script is not None and (mine.script != LATIN or mine.language is not None)
        if is_collage(node.text, children):
            continue
        switch = find_switch(mine, [known(child) for child in children])
        if switch:
            switched.append(WorstNode.of(node, 1.0, f"{switch[0]}, its children {switch[1]}"))
    numbers = {
        "summaries": float(n_checked),
        "plain_language": float(n_judged),
        "switched": float(len(switched)),
    }
    summary, share = "No summary to look at.", len(switched) / max(1, n_checked)
    if n_checked:
        numbers["switched_share"] = share
        summary = (
            f"{len(switched)} of {n_checked} summaries are in another language than their "
            f"children (at most {percent(bound)})."
        )
    remedy = "Ask for the documents' language: try another summarizer.model; build these again."
    return Measured(share <= bound, summary, numbers, switched, remedy)


def _least(script: str) -> int:
    return _MIN_LETTERS.get(script, _MIN_LETTERS_ELSEWHERE)
