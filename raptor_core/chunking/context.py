"""What the embedder reads before a chunk: title and headings, never part of the span."""

from __future__ import annotations

from collections.abc import Iterable, Sequence

from raptor_core.tokens.base import TokenCounter

_JOIN = " > "
_GAP = "…"


class ContextWriter:
    """Writes "Title > Section > Subsection" lines, each distinct path once."""

    def __init__(self, counter: TokenCounter, max_tokens: int) -> None:
        """``max_tokens`` bounds a line; 0 writes none."""
        self._counter = counter
        self._max_tokens = max_tokens
        self._written: dict[tuple[str, ...], str] = {}

    def write(self, title: str, section: Sequence[str]) -> str:
        """The line for one chunk; empty when there is nothing to say or no room."""
        return self.write_all([(title, tuple(section))])[0]

    def write_all(self, paths: Iterable[tuple[str, tuple[str, ...]]]) -> list[str]:
        """The line for each pair of document title and section path, in order."""
        names = [_names(title, section) for title, section in paths]
        new = [path for path in dict.fromkeys(names) if path not in self._written]
        candidates = [_candidates(path) if self._max_tokens else [""] for path in new]
        counts = iter(self._counter.count([line for lines in candidates for line in lines]))
        for path, lines in zip(new, candidates, strict=True):
            fitting = [line for line in lines if next(counts) <= self._max_tokens]
            self._written[path] = fitting[0] if fitting else ""
        return [self._written[path] for path in names]


def _names(title: str, section: tuple[str, ...]) -> tuple[str, ...]:
    """Title and headings with white space folded; empty ones and repetitions left out."""
    names: list[str] = []
    for name in (title, *section):
        folded = " ".join(name.split())
        if folded and (not names or folded.casefold() != names[-1].casefold()):
            names.append(folded)
    return tuple(names)


def _candidates(names: tuple[str, ...]) -> list[str]:
    """Lines from the whole path down to one name, the best first.

    The middle is dropped first: the title says what it is about, the innermost heading what
    this part is about. Then the title goes, then words at the end of the innermost heading.
    """
    if not names:
        return [""]
    lines = [_JOIN.join(names)]
    lines += [_JOIN.join([names[0], _GAP, *names[-kept:]]) for kept in range(len(names) - 2, 0, -1)]
    words = names[-1].split()
    lines += [" ".join(words[:n]) for n in _halvings(len(words))]
    return lines


def _halvings(n: int) -> list[int]:
    """``n``, about three quarters of it, and so on down to one."""
    numbers = []
    while n > 0:
        numbers.append(n)
        n = n * 3 // 4
    return numbers
