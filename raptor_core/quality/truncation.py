"""Law 9 for what a limit cuts off: no summary stops in the middle of a sentence."""

from __future__ import annotations

from collections.abc import Sequence

from raptor_core.audit.collage import is_collage
from raptor_core.quality.junk import TRUNCATED, find_junk
from raptor_core.quality.junk_shapes import open_end
from raptor_core.quality.subjects import CheckedLayer
from raptor_core.quality.verdicts import Measured, WorstNode, check


def find_cut(text: str, children: Sequence[str], *, full: bool = False) -> str | None:
    """The end of a ``text`` that is cut off, or None; ``full`` says that it fills its limit."""
    junk = find_junk(text, children, (TRUNCATED,))
    if junk is not None:
        return junk.excerpt
    end = open_end(text) if full else None
    return end if end is not None and not is_collage(text, children) else None


@check(
    "truncation",
    "error",
    "No summary stops in the middle of a sentence, at the token limit or before it, unless it is "
    "put together from pieces of its children or they stop so themselves.",
)
def truncation(layer: CheckedLayer) -> Measured:
    """Whether no summary is cut off.

    One of ``summarizer.max_tokens`` or more is suspected already when its last line is not closed;
    a shorter one when its end cannot be one (see ``junk_shapes.truncated``).
    """
    limit = layer.settings.summarizer.max_tokens
    checked = layer.written
    ends = (
        (node, find_cut(node.text, layer.texts_below(node), full=node.n_tokens >= limit))
        for node in checked
    )
    cut = sorted(
        ((node, end) for node, end in ends if end is not None),
        key=lambda pair: (-pair[0].n_tokens, pair[0].id),
    )
    numbers = {
        "summaries": float(len(checked)),
        "truncated": float(len(cut)),
        "at_limit": float(sum(node.n_tokens >= limit for node in checked)),
        "limit_tokens": float(limit),
    }
    summary = f"None of {len(checked)} summaries stops in mid sentence."
    if cut:
        summary = f"{len(cut)} of {len(checked)} summaries stop in mid sentence."
    worst = [
        WorstNode.of(node, float(node.n_tokens), f"stops at “…{end[-40:]}”") for node, end in cut
    ]
    remedy = "Raise summarizer.max_tokens or the endpoint's own limit, then build again."
    return Measured(not cut, summary, numbers, worst, remedy)
