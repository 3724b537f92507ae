"""Text that gives orders to the model that reads it.

Documents are fenced in every prompt, so an order is summarized as text like any other; but no fence
is sure, and whoever answers from these trees with a model of their own should know.
"""

from __future__ import annotations

import re
import unicodedata

from raptor_core.quality.injection_phrases import CHAT_MARKUP, HIDDEN, MARKUP, PHRASES, hidden
from raptor_core.quality.subjects import CheckedTrees
from raptor_core.quality.verdicts import Measured, WorstNode, check, percent

_NO_WIDTH = re.compile("[\u00ad\u200b-\u200f\u2060\ufeff\U000e0000-\U000e007f]")


def orders(text: str) -> tuple[str, ...]:
    """What a text does to a model that reads it; empty for plain text.

    Words are found whatever their case, width and spacing, and with unseen characters in them.
    """
    plain = _NO_WIDTH.sub("", unicodedata.normalize("NFKC", text))
    words = " ".join(plain.casefold().split())
    found = [phrase.kind for phrase in PHRASES if phrase.is_in(words)]
    found += [MARKUP] if CHAT_MARKUP.search(plain) else []
    found += [HIDDEN] if hidden(text) else []
    return tuple(found)


@check(
    "prompt_injection",
    "warn",
    "Share of chunks and summaries with text that gives orders to a language model.",
)
def prompt_injection(checked: CheckedTrees) -> Measured:
    """Whether at most ``max_injected`` of the nodes give orders."""
    n_nodes = sum(map(len, checked.layers))
    found = [(n, kinds) for layer in checked.layers for n in layer if (kinds := orders(n.text))]
    found.sort(key=lambda pair: (not pair[0].is_leaf, -len(pair[1]), pair[0].id))
    n_leaves = sum(node.is_leaf for node, _ in found)
    bound, share = checked.settings.checks.max_injected, len(found) / n_nodes if n_nodes else 0.0
    numbers = {
        "nodes": float(n_nodes),
        "chunks_with_orders": float(n_leaves),
        "summaries_with_orders": float(len(found) - n_leaves),
        "share_with_orders": share,
    }
    summary = f"{len(found)} of {n_nodes} nodes give orders to a model (at most {percent(bound)})."
    worst = [WorstNode.of(node, len(kinds), "; ".join(kinds)) for node, kinds in found]
    remedy = (
        "Read the passages. Leave the document out with source.exclude, or keep it and fence what "
        "a model is given; raise checks.max_injected where documents tell of such text."
    )
    return Measured(share <= bound, summary, numbers, worst, remedy)
