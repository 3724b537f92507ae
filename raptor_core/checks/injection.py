"""Check for prompt injection: chat markup, and characters that readers do not see.

Every prompt fences documents, so that a model summarizes an order like any other text. No fence is
sure, and other applications may give the published texts to other models. Plain words that give
orders are not searched for: they can be worded in too many ways.
"""

import re
import unicodedata

from raptor_core.checks.base import CheckedTrees, CheckMeasurement, WorstNode, check

MARKUP = "holds the markup of a chat"
HIDDEN = "holds invisible characters"
_TAGS = "\U000e0020-\U000e007e"
_FLAG = re.compile(f"\U0001f3f4[{_TAGS}]+\U000e007f")
_UNSEEN = re.compile(f"[{_TAGS}]|[\u202d\u202e]|[\u200b-\u200d\u2060\ufeff]{{8,}}")
"""Unicode tags (but those of flags), reversed text, and long runs of zero-width characters."""

_CHAT_MARKUP = re.compile(
    r"<\|(?:im_start|im_end|system|user|assistant|endoftext|begin_of_text|eot_id|"
    r"start_header_id|end_header_id)\|>|<</?SYS>>|\[/?INST\]"
)
_NO_WIDTH = re.compile("[\u00ad\u200b-\u200f\u2060\ufeff\U000e0000-\U000e007f]")


def orders(text: str) -> tuple[str, ...]:
    """Return the signs that a text addresses a model; empty for plain text.

    Width and invisible characters make no difference to markup.
    """
    plain = _NO_WIDTH.sub("", unicodedata.normalize("NFKC", text))
    kinds = [MARKUP] if _CHAT_MARKUP.search(plain) else []
    kinds += [HIDDEN] if _UNSEEN.search(_FLAG.sub("", text)) else []
    return tuple(kinds)


@check(
    "prompt_injection",
    "warn",
    "Share of chunks and summaries with chat markup or with characters that readers do not see.",
)
def prompt_injection(checked: CheckedTrees) -> CheckMeasurement:
    """Measure the share of nodes that address a model."""
    n_nodes = sum(map(len, checked.layers))
    ordering = [(n, kinds) for layer in checked.layers for n in layer if (kinds := orders(n.text))]
    ordering.sort(key=lambda pair: (not pair[0].is_leaf, -len(pair[1]), pair[0].id))
    n_leaves = sum(node.is_leaf for node, _ in ordering)
    share = len(ordering) / n_nodes if n_nodes else 0.0
    numbers = {
        "nodes": n_nodes,
        "chunks_with_orders": n_leaves,
        "summaries_with_orders": len(ordering) - n_leaves,
        "share_with_orders": share,
    }
    summary = f"{len(ordering)} of {n_nodes} nodes address a model (none is allowed)."
    worst = [WorstNode.of(node, len(kinds), "; ".join(kinds)) for node, kinds in ordering]
    remedy = (
        "Read the passages. Leave the document out with source.exclude, or keep it and fence what "
        "a model is given."
    )
    return CheckMeasurement(not ordering, summary, numbers, worst, remedy)
