"""Law 9 for what a limit cuts off: no summary stops in the middle of a sentence."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from raptor_core.audit.collage import is_collage
from raptor_core.nodes import Node
from raptor_core.quality.junk import TRUNCATED, find_junk
from raptor_core.quality.junk_shapes import open_end
from raptor_core.quality.verdicts import CheckInfo, Verdict, WorstNode, children_of, verdict

TRUNCATION = CheckInfo(
    "truncation",
    "error",
    "No summary stops in the middle of a sentence, at the token limit or before it, unless it is "
    "put together from pieces of its children or they stop so themselves.",
)


@dataclass(frozen=True, slots=True)
class Truncated:
    """A summary that stops in mid sentence: where, and its tokens."""

    node_id: str
    text: str
    end: str
    n_tokens: int


@dataclass(frozen=True, slots=True)
class TruncationReport:
    """``checked`` summaries, those cut off in the layer's order, and how many fill the limit."""

    checked: int
    nodes: tuple[Truncated, ...]
    at_limit: int
    limit_tokens: int


def measure_truncation(
    nodes: Sequence[Node], below: Mapping[str, Node], limit_tokens: int
) -> TruncationReport:
    """Look at the end of every summary in ``nodes``.

    One with ``limit_tokens`` or more is suspected already when its last line is not closed; a
    shorter one when its end cannot be one (see ``junk_shapes.truncated``).
    """
    summaries = [node for node in nodes if not node.is_leaf]
    found = []
    for node in summaries:
        full = node.n_tokens >= limit_tokens
        end = find_cut(node.text, [child.text for child in children_of(node, below)], full=full)
        if end is not None:
            found.append(Truncated(node.id, node.text, end, node.n_tokens))
    at_limit = sum(node.n_tokens >= limit_tokens for node in summaries)
    return TruncationReport(len(summaries), tuple(found), at_limit, limit_tokens)


def find_cut(text: str, children: Sequence[str], *, full: bool = False) -> str | None:
    """The end of a ``text`` that is cut off, or None; ``full`` says that it fills its limit."""
    junk = find_junk(text, children, (TRUNCATED,))
    if junk is not None:
        return junk.excerpt
    end = open_end(text) if full else None
    return end if end is not None and not is_collage(text, children) else None


def evaluate_truncation(report: TruncationReport) -> Verdict:
    """Whether no summary is cut off."""
    n_cut = len(report.nodes)
    numbers = {
        "summaries": float(report.checked),
        "truncated": float(n_cut),
        "at_limit": float(report.at_limit),
        "limit_tokens": float(report.limit_tokens),
    }
    summary = f"None of {report.checked} summaries stops in mid sentence."
    if n_cut:
        summary = f"{n_cut} of {report.checked} summaries stop in mid sentence."
    worst = [
        WorstNode(n.node_id, n.text, float(n.n_tokens), f"stops at “…{n.end[-40:]}”")
        for n in sorted(report.nodes, key=lambda n: (-n.n_tokens, n.node_id))
    ]
    remedy = "Raise summarizer.max_tokens or the endpoint's own limit, then build again."
    return verdict(TRUNCATION, not n_cut, summary, numbers, worst, remedy)
