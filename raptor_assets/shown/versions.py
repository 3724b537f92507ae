"""Summaries of two builds of a tree side by side, as Markdown."""

import difflib
import re
from collections.abc import Iterable
from dataclasses import dataclass
from itertools import pairwise

from raptor_assets.shown.markdown import code_markdown
from raptor_core.text.sentence_ends import sentence_ends


@dataclass(frozen=True, slots=True)
class SummaryChange:
    """Summary of one build beside that of another; a text is empty if its build lacks it."""

    layer: int
    name: str
    old: str
    new: str


def difference_markdown(tree: str, lines: Iterable[str], summaries: Iterable[SummaryChange]) -> str:
    """Return Markdown with ``lines`` on two builds, and a diff of each summary's sentences."""
    parts = [f"### {code_markdown(tree)}", "", *(f"- {line}" for line in lines)]
    for change in summaries:
        sides = _split_sentences(change.old), _split_sentences(change.new)
        differing = list(difflib.unified_diff(*sides, lineterm="", n=1))[3:]
        fence = "~" * (3 + max(map(_longest_run_of_tildes, differing), default=0))
        title = f"Layer {change.layer}: {code_markdown(change.name)}"
        parts += ["", title, "", f"{fence}diff", *differing, fence]
    return "\n".join(parts)


def _longest_run_of_tildes(line: str) -> int:
    return max(map(len, re.findall("~+", line)), default=0)


def _split_sentences(text: str) -> list[str]:
    """Return the sentences of a text, each on a line."""
    ends = [0, *sentence_ends(text, 0, len(text)), len(text)]
    parts = (text[start:end] for start, end in pairwise(ends))
    return [" ".join(part.split()) for part in parts if part.strip()]
