"""Detection of languages with py3langid, and the check for summaries in another language.

Languages are ISO 639-1 codes. Words with capitals are left out, since names have no language. Short
texts and code have no clear language, which is None. The check finds summaries in another language
than that of the children.
"""

import re
from collections.abc import Mapping, Sequence
from functools import lru_cache
from math import ceil, inf

from raptor_core.audit.base import sentence_texts
from raptor_core.audit.collage import is_collage
from raptor_core.checks.base import CheckedLayer, CheckMeasurement, WorstNode, check
from raptor_core.text.words import is_split_into_pairs, split_into_letter_pairs, words

_ENGLISH = "en"
_MARGIN = 0.45
"""Log-likelihood per byte by which a language must lead; names lead over English by less."""
_SAMPLE_WORDS = 300
"""Number of words of a long text that are classified, evenly spread."""

_CODE = re.compile(r"[=;{}<>\\\[]|\w\(")
_MIN_CODE = 3
_KEYWORDS = frozenset(
    {"and", "as", "be", "by", "for", "from", "if", "in", "is", "not", "on", "or", "this", "with"}
)
"""Keywords of programming languages, which are not counted in a text with code."""
_PUNCTUATION = ".,;:!?…\"'“”‘’«»()[]{}*_`–—-¿¡。，、；：！？「」"
MIN_WORDS = 8
"""Minimum number of distinct words, or pairs of letters, of a text with a clear language."""


def detect_language(text: str) -> str | None:
    """Return the language of a text; None if it is not clear."""
    scores = _language_scores(text)
    best = max(scores, key=scores.__getitem__, default=None)
    return None if best != _ENGLISH and _may_be_language(text, _ENGLISH) else best


@lru_cache(maxsize=1024)  # a child has several parents
def _language_scores(text: str) -> Mapping[str, float]:
    """Return the log-likelihood per byte of each language; none for few words."""
    import py3langid

    plain = _words(text)
    if len({part for word in plain for part in split_into_letter_pairs(word)}) < MIN_WORDS:
        return {}
    sample = " ".join(plain[:: ceil(len(plain) / _SAMPLE_WORDS)])
    n_bytes = len(sample.encode())
    # Longer codes are those of dialects, which differ too little from their languages.
    return {code: score / n_bytes for code, score in py3langid.rank(sample) if len(code) == 2}


def _may_be_language(text: str, code: str) -> bool:
    """Return whether a text may be in this language."""
    scores = _language_scores(text)
    return scores.get(code, -inf) > max(scores.values(), default=0.0) - _MARGIN


def _words(text: str) -> list[str]:
    """Return the words without capitals; ``name_1``, ``f(x)`` and ``a.b`` are code."""
    plain: list[str] = []
    for raw in text.split():
        parts = raw.strip(_PUNCTUATION).replace("’", "'").split("'")
        found = [word for part in parts for word in words(part)]
        if found == parts:
            plain += (word for word in found if len(word) > 1 and word == word.lower())
        else:
            plain += filter(is_split_into_pairs, found)
    is_code = len(_CODE.findall(text)) >= _MIN_CODE
    return [w for w in plain if not (w.isdecimal() or (is_code and w in _KEYWORDS))]


def find_language_switch(summary: str, children: Sequence[str]) -> tuple[str, str] | None:
    """Return the language of a summary and that of its children, if they clearly differ.

    A language in which a sentence of a child is counts as a language of the children.
    """
    together = "\n".join(children)
    mine, theirs = detect_language(summary), detect_language(together)
    if mine is None or theirs is None or mine == theirs or _may_be_language(summary, theirs):
        return None
    if _may_be_language(together, mine) or any(
        detect_language(child) == mine for child in children
    ):
        return None
    is_known = any(detect_language(s) == mine for child in children for s in sentence_texts(child))
    return None if is_known else (mine, theirs)


@check(
    "language_switch",
    "warn",
    "Share of summaries in another language than their children, where both are plain.",
)
def language_switch(layer: CheckedLayer) -> CheckMeasurement:
    """Measure the share of summaries in another language than their children."""
    n_checked = len(layer.summaries)
    n_judged, switched = 0, []
    for node in layer.summaries:
        children = layer.child_texts(node)
        if is_collage(node.text, children):
            continue
        n_judged += detect_language(node.text) is not None
        switch = find_language_switch(node.text, children)
        if switch:
            switched.append(
                WorstNode.from_node(node, 1.0, f"{switch[0]}, its children {switch[1]}")
            )
    numbers: dict[str, float] = {
        "summaries": n_checked,
        "plain_language": n_judged,
        "switched": len(switched),
    }
    summary = "No summary to look at."
    if n_checked:
        numbers["switched_share"] = len(switched) / n_checked
        summary = (
            f"{len(switched)} of {n_checked} summaries are in another language than their "
            "children (none is allowed)."
        )
    remedy = "Ask for the documents' language: try another summarizer.model; build these again."
    return CheckMeasurement(not switched, summary, numbers, switched, remedy)
