"""The check for prompt injection: chat markup, and characters that people do not see.

Every prompt fences documents, so that a model treats instructions in them as text to summarize. But
no fence is perfect, and applications may pass the published texts to other models. The check does
not look for instructions in plain words, because they can be worded in too many ways.
"""

import re
import unicodedata

from raptor_core.checks.base import CheckedTrees, CheckMeasurement, WorstNode, check

MARKUP = "contains chat markup"
HIDDEN = "contains invisible characters"
_TAGS = "\U000e0020-\U000e007e"
_FLAG = re.compile(f"\U0001f3f4[{_TAGS}]+\U000e007f")
_UNSEEN = re.compile(f"[{_TAGS}]|[\u202d\u202e]|[\u200b-\u200d\u2060\ufeff]{{8,}}")
"""Unicode tags except those of flags, reversed text, and long runs of zero-width characters."""

_CHAT_MARKUP = re.compile(
    r"<\|(?:im_start|im_end|system|user|assistant|endoftext|begin_of_text|eot_id|"
    r"start_header_id|end_header_id)\|>|<</?SYS>>|\[/?INST\]"
)
_NO_WIDTH = re.compile("[\u00ad\u200b-\u200f\u2060\ufeff\U000e0000-\U000e007f]")


def find_injection_signs(text: str) -> tuple[str, ...]:
    """Return the signs that a text addresses a model; empty for plain text.

    Markup is found in characters of any width and with invisible characters in between.
    """
    plain = _NO_WIDTH.sub("", unicodedata.normalize("NFKC", text))
    kinds = [MARKUP] if _CHAT_MARKUP.search(plain) else []
    kinds += [HIDDEN] if _UNSEEN.search(_FLAG.sub("", text)) else []
    return tuple(kinds)


@check(
    "prompt_injection",
    "warn",
    "Share of chunks and summaries with chat markup or with characters that people do not see.",
)
def prompt_injection(checked: CheckedTrees) -> CheckMeasurement:
    """Measure the share of nodes with signs of prompt injection."""
    nodes = [node for layer in checked.layers for node in layer]
    found = [(node, signs) for node in nodes if (signs := find_injection_signs(node.text))]
    found.sort(key=lambda pair: (not pair[0].is_leaf, -len(pair[1]), pair[0].id))
    n_leaves = sum(node.is_leaf for node, _ in found)
    share = len(found) / len(nodes) if nodes else 0.0
    numbers = {
        "nodes": len(nodes),
        "chunks_with_orders": n_leaves,
        "summaries_with_orders": len(found) - n_leaves,
        "share_with_orders": share,
    }
    summary = f"{len(found)} of {len(nodes)} nodes address a model (none is allowed)."
    worst = [WorstNode.from_node(node, len(signs), "; ".join(signs)) for node, signs in found]
    remedy = (
        "Read the passages. Exclude the document with source.exclude, or keep it and fence its "
        "texts in your own prompts."
    )
    return CheckMeasurement(not found, summary, numbers, worst, remedy)
