"""Checks that no error, refusal, truncated or empty output becomes the text of a node (law 9).

Signs of junk are the shape of a text, and phrases of errors, refusals, pages and prompts. Junk
blocks the publication, so precision is more important than recall. A phrase counts only where a
model or client puts it: at the start, or as the whole text. A summary is junk only if its children
do not show the same sign, because the summary of a document about errors, of a table of figures or
of a poem with a refrain may look like junk.
"""

import re
import unicodedata
from collections import Counter
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from functools import cache, partial
from pathlib import Path

from raptor_core.audit.collage import fold_case_and_spaces, is_collage
from raptor_core.checks.base import CheckedLayer, CheckMeasurement, WorstNode, check
from raptor_core.checks.languages import find_language_switch
from raptor_core.identity import CUT_OFF, FALLBACK, REPLACED
from raptor_core.models.summarizing.base import UnfitAnswer
from raptor_core.nodes import Node
from raptor_core.text.sentence_ends import ends_in_unmarked_script, ends_sentence, sentence_ends
from raptor_core.text.vocabulary import read_phrases
from raptor_core.text.words import words

MIN_LETTERS = 0.35
"""Minimum share of letters and diacritics in prose."""
MIN_CHILD_LETTERS = 0.5
"""Minimum share of letters in a child that is prose; summaries of other children need not be."""
_MAX_REPLACED = 0.02
_MAX_REPEATED = 0.5
_RUN_CHARS = 12
_SCANNED_CHARS = 20_000

_NOTICE = re.compile(
    r"[\[(<]\s*(?:output|text|content)?\s*(?:truncated|cut off)\s*[\])>]\W*$", re.IGNORECASE
)
_OPEN_END = re.compile(
    r"(?:[,(\[{«“،、，]|\s[-–—&]|\b(?:and|or|the|a|an|of|to|in|for|with|by|from|that|which|is|are|was"
    r"|were|as|at|on|its|their|und|oder|der|die|das|et|ou|le|la|les|des|du|y|el|los|las|que))$"
)
# Figures, lists and quotations end without a full stop.
_CLOSED = tuple(":;：；)]}>\"'”’»」』`*_|%")
_LIST_ITEM = re.compile(r"^\s*(?:[-*•+–#|>]|\d+[.)]|[a-z][.)]|```)\s*", re.IGNORECASE)
_MIN_FRAGMENT_WORDS = 4


def describe_emptiness(text: str) -> str | None:
    """Return a reason if ``text`` has no visible characters, or None."""
    is_visible = any(unicodedata.category(c)[0] not in "ZC" for c in text)
    return None if is_visible else "no visible character"


def find_truncated_end(text: str, *, is_full: bool = False) -> str | None:
    """Return the end of a ``text`` that stops in mid-sentence, or None.

    A missing full stop alone is not a sign: list items, headings and some scripts have none. Signs
    are a comma, an opening bracket or a function word at the end, and an unfinished sentence
    of four words or more after two finished ones in the same line. If ``is_full``, the text is as
    long as the limit allows, so a missing full stop is a sign except in scripts that have none.
    """
    bare = text.rstrip()
    end = bare[-60:]
    if _NOTICE.search(bare) or _OPEN_END.search(end):
        return end
    line = bare.rsplit("\n", 1)[-1]
    if not bare or _is_complete(line):
        return None
    if is_full and not ends_in_unmarked_script(bare):
        return end
    ends = sentence_ends(line, 0, len(line))
    unfinished = len(last_fragment(line).split()) >= _MIN_FRAGMENT_WORDS
    return end if unfinished and len(ends) > 1 else None


def _is_complete(line: str) -> bool:
    return bool(ends_sentence(line) or line.endswith(_CLOSED) or _LIST_ITEM.match(line))


def last_fragment(line: str) -> str:
    """Return the text after the last sentence that ends inside a line."""
    return line[max([0, *sentence_ends(line, 0, len(line))]) :]


def find_repeated_run(text: str) -> str | None:
    """Return the most frequent run of characters if ``text`` or its last third repeats itself.

    A text repeats itself if half of its runs of twelve characters, without spaces, occurred before.
    The last third is examined, too, because models repeat themselves up to the end.
    """
    chars = "".join(text[:_SCANNED_CHARS].casefold().split())
    for part in (chars, chars[2 * len(chars) // 3 :]):
        runs = Counter(part[n : n + _RUN_CHARS] for n in range(len(part) - _RUN_CHARS + 1))
        if len(runs) < (1 - _MAX_REPEATED) * runs.total():
            run = max(runs, key=runs.__getitem__)
            return run if any(c.isalnum() for c in run) else None  # not ruled lines, dot leaders
    return None


def describe_missing_letters(text: str, bound: float = MIN_LETTERS) -> str | None:
    """Return a reason if the share of letters in ``text`` is below ``bound``, or None."""
    counts = Counter(text[:_SCANNED_CHARS])
    n_chars = sum(n for c, n in counts.items() if not c.isspace())
    if not n_chars:
        return None
    if text.count("\ufffd") > max(1, _MAX_REPLACED * n_chars):
        return "unreadable characters"
    share = sum(n for c, n in counts.items() if unicodedata.category(c)[0] in "LM") / n_chars
    return f"{share:.0%} letters" if share < bound else None


_LEAD = (
    r"^[\s\"'“”‘’*_#>`\[(-]{0,12}(?:(?:summary|answer|response|output|result)\s*:\s*)?"
    r"[\s\"'“*]{0,6}"
)
"""Wrappers that a model may put before its answer."""

_AROUND = {
    "whole errors": (_LEAD, r"[\s\"'”*_`]*$"),
    "pages": (r"^\s*(?:```\w*\s*)?", ""),
    "echoes": ("", ""),
}
"""Patterns before and after a phrase, by section of the file; the default is (``_LEAD``, "")."""

_SHORT_WORDS = 48
_PHRASES = read_phrases(Path(__file__).with_name("junk_phrases.txt"))


@cache
def _section_pattern(section: str) -> re.Pattern[str]:
    """Compile the phrases of a section when it is first used, because all sections take 0.1 s."""
    prefix, suffix = _AROUND.get(section, (_LEAD, ""))
    phrases = "|".join(_PHRASES[section]).replace(" ", r"\s+")
    return re.compile(f"{prefix}(?P<phrase>{phrases}){suffix}", re.IGNORECASE | re.DOTALL)


def _find_phrase(section: str, text: str) -> str | None:
    """Return the phrase of a section that occurs in ``text``, or None."""
    match = _section_pattern(section).search(text)
    return match["phrase"] if match else None


def find_error_phrase(text: str) -> str | None:
    """Return the phrase that makes ``text`` an error message or a placeholder, or None."""
    phrase = _find_phrase("errors", text) or _find_phrase("whole errors", text)
    if phrase is None and len(text.split(maxsplit=_SHORT_WORDS)) <= _SHORT_WORDS:
        phrase = _find_phrase("short errors", text)
    return phrase


SIGNS: dict[str, Callable[[str], str | None]] = {
    "empty": describe_emptiness,
    "truncated": find_truncated_end,
    "loop": find_repeated_run,
    "letterless": describe_missing_letters,
    "error": find_error_phrase,
    "refusal": lambda text: _find_phrase("refusals", text),
    "page": lambda text: _find_phrase("pages", text),
    "prompt_echo": lambda text: (
        _find_phrase("echoes", text) or _find_phrase("leading echoes", text)
    ),
}
"""Detectors by kind of junk, in the order in which they run; see ``find_junk``."""

_CHILD_SIGNS: dict[str, Callable[[str], str | None]] = {
    **SIGNS,
    "letterless": partial(describe_missing_letters, bound=MIN_CHILD_LETTERS),
}
_MIN_QUOTE_CHARS = 12
_TAIL_CHARS = 24
_OPENING_CHARS = 40


@dataclass(frozen=True, slots=True)
class Junk:
    """A kind of junk in a text, and the excerpt that shows it."""

    kind: str
    excerpt: str


def find_junk(text: str, children: Sequence[str]) -> Junk | None:
    """Return the first sign that ``text`` is not a summary of ``children``, or None.

    Children are examined only if there is a sign, so it is cheap to test every answer of a model.
    """
    for kind, detect in SIGNS.items():
        excerpt = detect(text)
        if excerpt is not None and not _is_shown_by_children(kind, text, excerpt, children):
            return Junk(kind, excerpt)
    return None


@check(
    "junk_text",
    "error",
    "No summary is an error, a refusal, an error page, an echoed prompt, a loop, empty, without "
    "letters or cut off in mid-sentence, unless its children are like this, too, or it consists of "
    "their pieces.",
)
def junk_text(layer: CheckedLayer) -> CheckMeasurement:
    """Count the summaries that are junk; leaves are never junk.

    A summary of ``summarizer.max_tokens`` or more is cut off if its last line has no full stop.
    """
    findings = ((node, _find_node_junk(node, layer)) for node in layer.written_by_model)
    junk_nodes = [(node, junk) for node, junk in findings if junk]
    kinds = Counter(junk.kind for _, junk in junk_nodes)
    n_checked = len(layer.written_by_model)
    numbers = {
        "summaries": n_checked,
        "junk": len(junk_nodes),
        **{f"junk_{kind}": kinds[kind] for kind in SIGNS},
    }
    summary = f"None of {n_checked} summaries is junk."
    if kinds:
        counts = ", ".join(f"{kind.replace('_', ' ')} {n}" for kind, n in kinds.most_common())
        summary = f"{len(junk_nodes)} of {n_checked} summaries are junk ({counts})."
    worst = [
        WorstNode.from_node(node, 1.0, f"{junk.kind.replace('_', ' ')}: {junk.excerpt[:80]}")
        for node, junk in junk_nodes
    ]
    remedy = (
        "Look at the summarizer's endpoint and model, and raise summarizer.max_tokens for cut "
        "summaries; then build the partition again."
    )
    return CheckMeasurement(not kinds, summary, numbers, worst, remedy)


def _find_node_junk(node: Node, layer: CheckedLayer) -> Junk | None:
    children = layer.child_texts(node)
    junk = find_junk(node.text, children)
    if junk is not None or node.n_tokens < layer.settings.summarizer.max_tokens:
        return junk
    end = find_truncated_end(node.text, is_full=True)
    return Junk("truncated", end) if end and not is_collage(node.text, children) else None


def _is_shown_by_children(kind: str, text: str, excerpt: str, children: Sequence[str]) -> bool:
    """Return whether a child shows the same sign, so that it is part of the content."""
    if kind == "empty" or not children:
        return False
    if is_collage(text, children):
        return True
    texts = [fold_case_and_spaces(child) for child in children]
    if kind == "truncated":
        tail = fold_case_and_spaces(text)[-_TAIL_CHARS:]
        fragment = fold_case_and_spaces(last_fragment(text))[-_TAIL_CHARS:]
        return _is_quoted(tail, texts) or _is_quoted(fragment, texts)
    if any(_CHILD_SIGNS[kind](child) is not None for child in children):
        return True
    opening = fold_case_and_spaces(text).lstrip("\"'“‘")[:_OPENING_CHARS]
    quoted = _is_quoted(opening, texts) or _is_quoted(fold_case_and_spaces(excerpt), texts)
    return quoted or (kind == "error" and _contains_words(excerpt, texts))


def _is_quoted(piece: str, texts: Iterable[str]) -> bool:
    """Return whether a child contains ``piece``; short pieces prove nothing."""
    return len(piece) >= _MIN_QUOTE_CHARS and any(piece in child for child in texts)


def _contains_words(excerpt: str, texts: Iterable[str]) -> bool:
    """Return whether ``excerpt`` has two words or more, and one child contains all of them."""
    sought = set(words(fold_case_and_spaces(excerpt)))
    return len(sought) > 1 and any(sought <= set(words(child)) for child in texts)


_MARKS = (
    (FALLBACK, "fallback", 1.0, "written extractively, because the model gave no usable answer"),
    (REPLACED, "replaced", 0.7, "quoted from the children, because the model invented too much"),
    (CUT_OFF, "cut_off", 0.5, "cut off"),
)
"""Marks of summaries, each with the name of its number, its weight among the worst, and why."""


@check(
    "model_answers",
    "warn",
    "Summaries that were written extractively because the model gave no usable answer or invented "
    "facts, and summaries whose answers were cut off.",
)
def model_answers(layer: CheckedLayer) -> CheckMeasurement:
    """Count the marked summaries; the check fails if the model gave no usable answer for any."""
    n_checked, worst, counts = len(layer.summaries), [], []
    numbers: dict[str, float] = {"summaries": n_checked}
    for mark, name, value, why in _MARKS:
        nodes = [node for node in layer.summaries if mark in node.quality]
        numbers[name] = len(nodes)
        worst += [WorstNode.from_node(node, value, why) for node in nodes]
        counts += [f"{len(nodes)} are {why}"] if nodes else []
    summary = f"Of {n_checked} summaries, {'; '.join(counts) or 'none is marked'}."
    remedy = (
        "Run `raptor build` again, which asks the model again; if it refuses again, read the "
        "chunks, set the offending one aside (`raptor curate set-aside`), or try another "
        "summarizer.model."
    )
    return CheckMeasurement(not numbers["fallback"], summary, numbers, worst, remedy)


def find_unfit_reason(text: str, sources: Sequence[str]) -> UnfitAnswer | None:
    """Return the reason why ``text`` is not a summary of ``sources``, or None."""
    junk = find_junk(text, sources)
    if junk is not None:
        return UnfitAnswer(f"the answer is junk ({junk.kind}): {junk.excerpt[:80]!r}")
    switch = find_language_switch(text, sources)
    if switch is None or is_collage(text, sources):
        return None
    written, expected = switch
    return UnfitAnswer(
        f"the answer is in language {written!r}, its sources in {expected!r}", expected
    )
