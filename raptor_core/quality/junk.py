"""Law 9: no error, refusal, truncated or empty output is ever node text.

A summary is junk only when its children do not show the same: a document about errors, a table
of figures or a poem that repeats itself may well be summarized in kind.
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass

from raptor_core.identity import normalize_text
from raptor_core.nodes import Node
from raptor_core.quality.junk_phrases import PHRASES
from raptor_core.quality.junk_shapes import SHAPES, last_fragment, letterless_child
from raptor_core.quality.verdicts import CheckInfo, Verdict, WorstNode, children_of, verdict

JUNK = CheckInfo(
    "junk_text",
    "error",
    "No summary is an error, a refusal, an error page, an echoed prompt, a loop, cut off, empty "
    "or without letters, unless its children are the same.",
)
_DETECTORS = {**SHAPES, **PHRASES}
_CHILD_DETECTORS = {**_DETECTORS, "letterless": letterless_child}
_MIN_QUOTE_CHARS = 12
_MIN_PIECE_CHARS = 8
_TAIL_CHARS = 24
_OPENING_CHARS = 40
_WORD = re.compile(r"\w+")
_UNIT_END = re.compile(r"\n|[.!?…。！？:;：；؟۔।][\"'”’)\]]*\s*")


@dataclass(frozen=True, slots=True)
class Junk:
    """Why a text is junk: the kind, and the part that shows it."""

    kind: str
    excerpt: str


@dataclass(frozen=True, slots=True)
class JunkNode:
    """A junk summary."""

    node_id: str
    text: str
    junk: Junk


@dataclass(frozen=True, slots=True)
class JunkReport:
    """``checked`` summaries, and those that are junk in the layer's order."""

    checked: int
    nodes: tuple[JunkNode, ...]


def find_junk(text: str, children: Sequence[str] = ()) -> Junk | None:
    """The first sign that ``text`` is no summary of the texts ``children``, or None.

    Cheap enough for every answer of a model: the children are read only when there is a sign.
    """
    for kind, detect in _DETECTORS.items():
        excerpt = detect(text)
        if excerpt is not None and not _shared(kind, text, excerpt, children):
            return Junk(kind, excerpt)
    return None


def measure_junk(nodes: Sequence[Node], below: Mapping[str, Node]) -> JunkReport:
    """Look at every summary in ``nodes``; leaves are the documents' own text and never junk."""
    summaries = [node for node in nodes if not node.is_leaf]
    found = []
    for node in summaries:
        junk = find_junk(node.text, [child.text for child in children_of(node, below)])
        if junk:
            found.append(JunkNode(node.id, node.text, junk))
    return JunkReport(len(summaries), tuple(found))


def evaluate_junk(report: JunkReport) -> Verdict:
    """Whether no summary is junk."""
    kinds = Counter(node.junk.kind for node in report.nodes)
    numbers = {
        "summaries": float(report.checked),
        "junk": float(len(report.nodes)),
        **{f"junk_{kind}": float(kinds[kind]) for kind in _DETECTORS},
    }
    summary = f"None of {report.checked} summaries is junk."
    if kinds:
        told = ", ".join(f"{n} {kind.replace('_', ' ')}" for kind, n in kinds.most_common())
        summary = f"{len(report.nodes)} of {report.checked} summaries are junk: {told}."
    worst = [
        WorstNode(n.node_id, n.text, 1.0, f"{n.junk.kind.replace('_', ' ')}: {n.junk.excerpt[:80]}")
        for n in report.nodes
    ]
    remedy = "Look at the summarizer's endpoint and model, then build the partition again."
    return verdict(JUNK, not kinds, summary, numbers, worst, remedy)


def _shared(kind: str, text: str, excerpt: str, children: Sequence[str]) -> bool:
    """Whether some child shows the same, so that the summary only reports it."""
    if kind == "empty" or not children:
        return False
    return _is_collage(text, children) or _shows(kind, text, excerpt, children)


def _shows(kind: str, text: str, excerpt: str, children: Sequence[str]) -> bool:
    """Whether some child shows the same sign."""
    folded = [_folded(child) for child in children]
    if kind == "truncated":
        tail = _folded(text)[-_TAIL_CHARS:]
        return _quoted(tail, folded) or _quoted(last_fragment(tail), folded)
    detect = _CHILD_DETECTORS[kind]
    if any(detect(child) is not None for child in children):
        return True
    if kind == "loop":
        return any(_quoted(glue.join([_folded(excerpt)] * 3), folded) for glue in (" ", ""))
    opening = _folded(text).lstrip("\"'“‘")[:_OPENING_CHARS]
    if _quoted(opening, folded) or _quoted(_folded(excerpt), folded):
        return True
    return kind == "error" and _spoken_of(excerpt, folded)


def _is_collage(text: str, children: Sequence[str]) -> bool:
    """Whether ``text`` is put together from pieces of the children, as extractive summaries are.

    A piece is eight letters or more, or a whole line or sentence.
    """
    sources = [_letters(child) for child in children]
    units = {_letters(unit) for child in children for unit in _UNIT_END.split(child)}
    rest = _letters(text)
    while rest:
        length = max(_longest_prefix(rest, source) for source in sources)
        if length < min(_MIN_PIECE_CHARS, len(rest)):
            length = max((n for n in range(1, length + 1) if rest[:n] in units), default=0)
        if not length:
            return False
        rest = rest[length:]
    return True


def _longest_prefix(text: str, source: str) -> int:
    """Length of the longest beginning of ``text`` that stands in ``source``."""
    low, high = 0, len(text)
    while low < high:
        middle = (low + high + 1) // 2
        low, high = (middle, high) if text[:middle] in source else (low, middle - 1)
    return low


def _letters(text: str) -> str:
    return "".join(_WORD.findall(_folded(text)))


def _quoted(piece: str, folded: Iterable[str]) -> bool:
    """Whether a child holds ``piece``; short pieces occur anywhere and prove nothing."""
    return len(piece) >= _MIN_QUOTE_CHARS and any(piece in child for child in folded)


def _spoken_of(excerpt: str, folded: Iterable[str]) -> bool:
    """Whether one child holds all words of ``excerpt``, two at the least: it is about them."""
    words = set(_WORD.findall(_folded(excerpt)))
    return len(words) > 1 and any(words <= set(_WORD.findall(child)) for child in folded)


def _folded(text: str) -> str:
    return normalize_text(text).casefold()
