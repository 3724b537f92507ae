"""Law 9: no error, refusal, truncated or empty output is ever node text.

A summary is junk only when its children do not show the same: a document about errors, a table
of figures or a poem that repeats itself may well be summarized in kind.
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from functools import partial

from raptor_core.audit.collage import folded, is_collage
from raptor_core.models.summarizing.base import Unfit
from raptor_core.quality.checks import CheckedLayer, Measured, WorstNode, check
from raptor_core.quality.junk_signs import (
    MIN_CHILD_LETTERS,
    SIGNS,
    last_fragment,
    letterless,
    open_end,
)
from raptor_core.quality.languages import find_switch, writing

TRUNCATED = "truncated"
"""The sign that has a check of its own, ``truncation``."""
_JUDGED = tuple(kind for kind in SIGNS if kind != TRUNCATED)
_CHILD_SIGNS: dict[str, Callable[[str], str | None]] = {
    **SIGNS,
    "letterless": partial(letterless, bound=MIN_CHILD_LETTERS),
}
_MIN_QUOTE_CHARS = 12
_TAIL_CHARS = 24
_OPENING_CHARS = 40
_WORD = re.compile(r"\w+")


@dataclass(frozen=True, slots=True)
class Junk:
    """Why a text is junk: the kind, and the part that shows it."""

    kind: str
    excerpt: str


def find_junk(text: str, children: Sequence[str], kinds: Iterable[str] = SIGNS) -> Junk | None:
    """The first sign, of these ``kinds``, that ``text`` is no summary of ``children``, or None.

    Cheap enough for every answer of a model: the children are read only when there is a sign.
    """
    for kind in kinds:
        excerpt = SIGNS[kind](text)
        if excerpt is not None and not _shared(kind, text, excerpt, children):
            return Junk(kind, excerpt)
    return None


@check(
    "junk_text",
    "error",
    "No summary is an error, a refusal, an error page, an echoed prompt, a loop, empty or without "
    "letters, unless its children are the same.",
)
def junk_text(layer: CheckedLayer) -> Measured:
    """Whether no summary is junk; leaves are the documents' own text and never junk."""
    looked_at = ((n, find_junk(n.text, layer.texts_below(n), _JUDGED)) for n in layer.written)
    junk_nodes = [(node, junk) for node, junk in looked_at if junk]
    kinds = Counter(junk.kind for _, junk in junk_nodes)
    n_checked = len(layer.written)
    numbers = {
        "summaries": n_checked,
        "junk": len(junk_nodes),
        **{f"junk_{kind}": kinds[kind] for kind in _JUDGED},
    }
    summary = f"None of {n_checked} summaries is junk."
    if kinds:
        told = ", ".join(f"{n} {kind.replace('_', ' ')}" for kind, n in kinds.most_common())
        summary = f"{len(junk_nodes)} of {n_checked} summaries are junk: {told}."
    worst = [
        WorstNode.of(node, 1.0, f"{junk.kind.replace('_', ' ')}: {junk.excerpt[:80]}")
        for node, junk in junk_nodes
    ]
    remedy = "Look at the summarizer's endpoint and model, then build the partition again."
    return Measured(not kinds, summary, numbers, worst, remedy)


def _shared(kind: str, text: str, excerpt: str, children: Sequence[str]) -> bool:
    """Whether some child shows the same, so that the summary only reports it."""
    if kind == "empty" or not children:
        return False
    if is_collage(text, children):
        return True
    texts = [folded(child) for child in children]
    if kind == TRUNCATED:
        tail = folded(text)[-_TAIL_CHARS:]
        return _quoted(tail, texts) or _quoted(last_fragment(tail), texts)
    detect = _CHILD_SIGNS[kind]
    if any(detect(child) is not None for child in children):
        return True
    if kind == "loop":
        return any(_quoted(glue.join([folded(excerpt)] * 3), texts) for glue in (" ", ""))
    opening = folded(text).lstrip("\"'“‘")[:_OPENING_CHARS]
    quoted = _quoted(opening, texts) or _quoted(folded(excerpt), texts)
    return quoted or (kind == "error" and _spoken_of(excerpt, texts))


def _quoted(piece: str, texts: Iterable[str]) -> bool:
    """Whether a child holds ``piece``; short pieces occur anywhere and prove nothing."""
    return len(piece) >= _MIN_QUOTE_CHARS and any(piece in child for child in texts)


def _spoken_of(excerpt: str, texts: Iterable[str]) -> bool:
    """Whether one child holds all words of ``excerpt``, two at the least: it is about them."""
    words = set(_WORD.findall(folded(excerpt)))
    return len(words) > 1 and any(words <= set(_WORD.findall(child)) for child in texts)


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
    a shorter one when its end cannot be one (see ``junk_signs.truncated``).
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
        "summaries": len(checked),
        "truncated": len(cut),
        "at_limit": sum(node.n_tokens >= limit for node in checked),
        "limit_tokens": limit,
    }
    summary = f"None of {len(checked)} summaries stops in mid sentence."
    if cut:
        summary = f"{len(cut)} of {len(checked)} summaries stop in mid sentence."
    worst = [WorstNode.of(node, node.n_tokens, f"stops at “…{end[-40:]}”") for node, end in cut]
    remedy = "Raise summarizer.max_tokens or the endpoint's own limit, then build again."
    return Measured(not cut, summary, numbers, worst, remedy)


def find_unfit(text: str, sources: Sequence[str]) -> Unfit | None:
    """Why ``text`` is no summary of ``sources``; None where nothing speaks against it."""
    junk = find_junk(text, sources)
    if junk is not None:
        return Unfit(f"the answer is junk ({junk.kind}): {junk.excerpt[:80]!r}")
    switch = find_switch(writing(text), [writing(source) for source in sources])
    if switch is None or is_collage(text, sources):
        return None
    written, expected = switch
    return Unfit(f"the answer is in {written}, its sources in {expected}", expected)
