"""Checks that no error, refusal, truncated or empty output becomes the text of a node (law 9).

Signs of junk are the shape of a text, and phrases of errors, refusals, pages and prompts. Junk
blocks the publication, so precision is more important than recall. A phrase counts only where a
model or client puts it: at the start, or as the whole text. A summary is junk only if its children
do not show the same sign, because the summary of a document about errors, of a table of figures or
of a poem with a refrain may look like junk.
"""

import json
import re
import unicodedata
from collections import Counter
from collections.abc import Callable, Iterable, Sequence
from contextlib import suppress
from dataclasses import dataclass
from functools import cache, partial
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from raptor_core.audit.collage import folded, is_collage
from raptor_core.checks.base import CheckedLayer, CheckMeasurement, WorstNode, check
from raptor_core.checks.languages import find_switch, writing
from raptor_core.identity import CUT_OFF, FALLBACK, REPLACED
from raptor_core.models.summarizing.base import Unfit
from raptor_core.nodes import Node
from raptor_core.text.sentence_ends import ends_sentence, ends_unmarked, sentence_ends
from raptor_core.text.vocabulary import read_phrases
from raptor_core.text.words import words

MIN_LETTERS = 0.35
"""Minimum share of letters and diacritics in prose."""
MIN_CHILD_LETTERS = 0.5
"""Minimum share of letters in a child that is prose; summaries of other children need not be."""
_MAX_REPLACED = 0.02
_MAX_PERIOD = 48
_MIN_REPEATS = 4
_MIN_LOOP = 0.25
_RUN_WORDS = 6
_MIN_RUN_TEXT = 40
_MIN_RUN_REPEATS = 3
_MAX_DISTINCT_RUNS = 0.5
_INVISIBLE = frozenset({"Zs", "Zl", "Zp", "Cc", "Cf", "Cs", "Co", "Cn"})
_SCANNED_CHARS = 20_000
_LONG_CHARS = 24

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


def empty(text: str) -> str | None:
    """Return a reason if ``text`` has no visible characters, or None."""
    if all(unicodedata.category(c) in _INVISIBLE for c in text):
        return "no visible character"
    return None


def truncated(text: str) -> str | None:
    """Return the end of a ``text`` that stops in mid-sentence, or None.

    A missing full stop alone is not a sign: list items, headings and some scripts have none. Signs
    are a comma, an opening bracket or a function word at the end, and an unfinished sentence
    of four words or more after two finished ones in the same line.
    """
    bare = text.rstrip()
    if not bare:
        return None
    end = bare[-60:]
    if _NOTICE.search(bare) or _OPEN_END.search(end):
        return end
    line = bare.rsplit("\n", 1)[-1]
    if _is_complete(line):
        return None
    ends = sentence_ends(line, 0, len(line))
    unfinished = len(last_fragment(line).split()) >= _MIN_FRAGMENT_WORDS
    return end if unfinished and len(ends) > 1 else None


def open_end(text: str) -> str | None:
    """Return the end of a ``text`` whose last line has no full stop and is no list item, or None.

    This sign is far weaker than ``truncated``, because headings have no full stop either. It is
    None for scripts without full stops.
    """
    bare = text.rstrip()
    if not bare or ends_unmarked(bare):
        return None
    return None if _is_complete(bare.rsplit("\n", 1)[-1]) else bare[-60:]


def _is_complete(line: str) -> bool:
    return bool(ends_sentence(line) or line.endswith(_CLOSED) or _LIST_ITEM.match(line))


def last_fragment(line: str) -> str:
    """Return the text after the last sentence that ends inside a line."""
    return line[max([0, *sentence_ends(line, 0, len(line))]) :]


def loop(text: str) -> str | None:
    """Return the piece that ``text`` repeats at least four times in a row, or None.

    The repetitions must make up a quarter of the text, and at least eight words or 24 characters.
    A run of six words that comes up again and again counts, too, if half of all such runs in a text
    of 40 words or more are repetitions.
    """
    pieces = text.casefold().split()
    numbers: dict[str, int] = {}
    codes = np.array([numbers.setdefault(word, len(numbers)) for word in pieces], dtype=np.uint32)
    period = _period(codes, at_least=8)
    if period:
        return _with_words(" ".join(pieces[period[0] : period[0] + period[1]]))
    if (start := _repeated_run(codes)) is not None:
        return _with_words(" ".join(pieces[start : start + _RUN_WORDS]))
    if max(map(len, pieces), default=0) < _LONG_CHARS:  # the search by words is sufficient
        return None
    chars = "".join(pieces)[:_SCANNED_CHARS]
    period = _period(
        np.frombuffer(chars.encode("utf-32-le", "surrogatepass"), np.uint32), _LONG_CHARS
    )
    return _with_words(chars[period[0] : period[0] + period[1]]) if period else None


def _repeated_run(codes: NDArray[np.uint32]) -> int | None:
    """Return the start of the most frequent run of words if half of all runs are repetitions."""
    if len(codes) < _MIN_RUN_TEXT:
        return None
    runs = np.lib.stride_tricks.sliding_window_view(codes, _RUN_WORDS)
    _, starts, counts = np.unique(runs, axis=0, return_index=True, return_counts=True)
    if counts.max() < _MIN_RUN_REPEATS or len(starts) > _MAX_DISTINCT_RUNS * len(runs):
        return None
    return int(starts[counts.argmax()])


def _with_words(piece: str) -> str | None:
    """Return a repeated piece if it contains words; None for ruled lines and dot leaders."""
    return piece if any(c.isalnum() for c in piece) else None


def letterless(text: str, bound: float = MIN_LETTERS) -> str | None:
    """Return a reason if the share of letters in ``text`` is below ``bound``, or None."""
    counts = Counter(text[:_SCANNED_CHARS])
    n_chars = sum(n for c, n in counts.items() if not c.isspace())
    if not n_chars:
        return None
    if text.count("\ufffd") > max(1, _MAX_REPLACED * n_chars):
        return "unreadable characters"
    share = sum(n for c, n in counts.items() if unicodedata.category(c)[0] in "LM") / n_chars
    return f"{share:.0%} letters" if share < bound else None


def _period(codes: NDArray[np.uint32], at_least: int) -> tuple[int, int] | None:
    """Return start and period of the shortest loop in ``codes``, shape ``(n,)``, or None."""
    needed = max(at_least, _MIN_LOOP * len(codes))
    for period in range(1, min(_MAX_PERIOD, len(codes) // _MIN_REPEATS) + 1):
        equal = codes[period:] == codes[:-period]
        least = max(needed, _MIN_REPEATS * period) - period
        if np.count_nonzero(equal) < least:
            continue
        breaks = np.flatnonzero(np.concatenate(([True], ~equal, [True])))
        runs = np.diff(breaks) - 1
        longest = int(runs.argmax())
        if runs[longest] >= least:
            return int(breaks[longest]), period
    return None


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
def _pattern(section: str) -> re.Pattern[str]:
    """Compile the phrases of a section when it is first used, because all sections take 0.1 s."""
    prefix, suffix = _AROUND.get(section, (_LEAD, ""))
    phrases = "|".join(_PHRASES[section]).replace(" ", r"\s+")
    return re.compile(f"{prefix}(?P<phrase>{phrases}){suffix}", re.IGNORECASE | re.DOTALL)


def _find(section: str, text: str) -> str | None:
    """Return the phrase of a section that occurs in ``text``, or None."""
    match = _pattern(section).search(text)
    return match["phrase"] if match else None


def error(text: str) -> str | None:
    """Return the phrase that makes ``text`` an error message or a placeholder, or None."""
    phrase = _find("errors", text) or _find("whole errors", text)
    if phrase is None and len(text.split(maxsplit=_SHORT_WORDS)) <= _SHORT_WORDS:
        phrase = _find("short errors", text)
    return phrase


def page(text: str) -> str | None:
    """Return the start of ``text`` if it is HTML, XML or JSON, or None."""
    bare, phrase = text.strip(), _find("pages", text)
    if phrase is None and bare.startswith("{") and bare.endswith("}"):
        with suppress(ValueError):
            json.loads(bare)
            return bare[:40]
    return phrase


SIGNS: dict[str, Callable[[str], str | None]] = {
    "empty": empty,
    "truncated": truncated,
    "loop": loop,
    "letterless": letterless,
    "error": error,
    "refusal": lambda text: _find("refusals", text),
    "page": page,
    "prompt_echo": lambda text: _find("echoes", text) or _find("leading echoes", text),
}
"""Detectors by kind of junk, in the order in which they run; see ``find_junk``."""

_CHILD_SIGNS: dict[str, Callable[[str], str | None]] = {
    **SIGNS,
    "letterless": partial(letterless, bound=MIN_CHILD_LETTERS),
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
        if excerpt is not None and not _is_in_children(kind, text, excerpt, children):
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
    findings = ((node, _node_junk(node, layer)) for node in layer.written)
    junk_nodes = [(node, junk) for node, junk in findings if junk]
    kinds = Counter(junk.kind for _, junk in junk_nodes)
    n_checked = len(layer.written)
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
        WorstNode.of(node, 1.0, f"{junk.kind.replace('_', ' ')}: {junk.excerpt[:80]}")
        for node, junk in junk_nodes
    ]
    remedy = (
        "Look at the summarizer's endpoint and model, and raise summarizer.max_tokens for cut "
        "summaries; then build the partition again."
    )
    return CheckMeasurement(not kinds, summary, numbers, worst, remedy)


def _node_junk(node: Node, layer: CheckedLayer) -> Junk | None:
    children = layer.texts_below(node)
    junk = find_junk(node.text, children)
    if junk is not None or node.n_tokens < layer.settings.summarizer.max_tokens:
        return junk
    end = open_end(node.text)
    return Junk("truncated", end) if end and not is_collage(node.text, children) else None


def _is_in_children(kind: str, text: str, excerpt: str, children: Sequence[str]) -> bool:
    """Return whether a child shows the same sign, so that it is part of the content."""
    if kind == "empty" or not children:
        return False
    if is_collage(text, children):
        return True
    texts = [folded(child) for child in children]
    if kind == "truncated":
        tail = folded(text)[-_TAIL_CHARS:]
        fragment = folded(last_fragment(text))[-_TAIL_CHARS:]
        return _is_quoted(tail, texts) or _is_quoted(fragment, texts)
    detect = _CHILD_SIGNS[kind]
    if any(detect(child) is not None for child in children):
        return True
    if kind == "loop":
        return any(_is_quoted(glue.join([folded(excerpt)] * 3), texts) for glue in (" ", ""))
    opening = folded(text).lstrip("\"'“‘")[:_OPENING_CHARS]
    quoted = _is_quoted(opening, texts) or _is_quoted(folded(excerpt), texts)
    return quoted or (kind == "error" and _contains_words(excerpt, texts))


def _is_quoted(piece: str, texts: Iterable[str]) -> bool:
    """Return whether a child contains ``piece``; short pieces prove nothing."""
    return len(piece) >= _MIN_QUOTE_CHARS and any(piece in child for child in texts)


def _contains_words(excerpt: str, texts: Iterable[str]) -> bool:
    """Return whether ``excerpt`` has two words or more, and one child contains all of them."""
    sought = set(words(folded(excerpt)))
    return len(sought) > 1 and any(sought <= set(words(child)) for child in texts)


@check(
    "model_answers",
    "warn",
    "Summaries that were written extractively because the model gave no usable answer or invented "
    "facts, summaries whose answers were cut off, and those whose texts together were too long for "
    "the model.",
)
def model_answers(layer: CheckedLayer) -> CheckMeasurement:
    """Count the marked summaries; the check fails if the model gave no usable answer for any."""
    refused = [node for node in layer.summaries if FALLBACK in node.quality]
    cut = [node for node in layer.summaries if CUT_OFF in node.quality]
    replaced = [node for node in layer.summaries if REPLACED in node.quality]
    n_checked = len(layer.summaries)
    numbers = {"summaries": n_checked, "fallback": len(refused), "cut_off": len(cut)}
    numbers["replaced"] = len(replaced)
    summary = f"The model wrote all of {n_checked} summaries."
    if refused:
        summary = (
            f"{len(refused)} of {n_checked} summaries were written extractively, because the model "
            "gave no usable answer."
        )
    if cut:
        summary += f" {len(cut)} end where their answer was cut off, or were written in parts."
    if replaced:
        summary += f" {len(replaced)} quote their children, because the model invented too much."
    worst = [
        *(WorstNode.of(node, 1.0, "written extractively") for node in refused),
        *(WorstNode.of(node, 0.7, "written extractively: too much invented") for node in replaced),
        *(WorstNode.of(node, 0.5, "its answer was cut off, or written in parts") for node in cut),
    ]
    remedy = (
        "Run `raptor build` again, which asks the model again; if it refuses again, read the "
        "chunks, set the offending one aside (`raptor curate set-aside`), or try another "
        "summarizer.model."
    )
    return CheckMeasurement(not refused, summary, numbers, worst, remedy)


def find_unfit(text: str, sources: Sequence[str]) -> Unfit | None:
    """Return the reason why ``text`` is not a summary of ``sources``, or None."""
    junk = find_junk(text, sources)
    if junk is not None:
        return Unfit(f"the answer is junk ({junk.kind}): {junk.excerpt[:80]!r}")
    switch = find_switch(writing(text), [writing(source) for source in sources])
    if switch is None or is_collage(text, sources):
        return None
    written, expected = switch
    return Unfit(f"the answer is in {written}, its sources in {expected}", expected)
