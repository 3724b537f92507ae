"""Context that the embedder reads before a chunk: title and headings, never part of the span."""

from collections.abc import Iterable

from raptor_core.tokens.base import TokenCounter

_JOIN = " > "
_GAP = "…"


def context_lines(
    paths: Iterable[tuple[str, tuple[str, ...]]], counter: TokenCounter, max_tokens: int
) -> list[str]:
    """Return a line "Title > Section" of at most ``max_tokens`` for each pair, or ""."""
    names = [_names(title, section) for title, section in paths]
    candidates = {path: _candidates(path) if max_tokens else [""] for path in names}
    counts = iter(counter.count([line for lines in candidates.values() for line in lines]))
    line_of = {}
    for path, lines in candidates.items():
        fitting = [line for line in lines if next(counts) <= max_tokens]
        line_of[path] = fitting[0] if fitting else ""
    return [line_of[path] for path in names]


def _names(title: str, section: tuple[str, ...]) -> tuple[str, ...]:
    """Return title and headings with white space folded, without empty ones and repetitions."""
    names: list[str] = []
    for name in (title, *section):
        folded = " ".join(name.split())
        if folded and (not names or folded.casefold() != names[-1].casefold()):
            names.append(folded)
    return tuple(names)


def _candidates(names: tuple[str, ...]) -> list[str]:
    """Return lines from the whole path down to one name, the best first.

    The middle of the path is dropped first, because the title names the topic of the document and
    the innermost heading that of the chunk. Then the title is dropped, then words at the end of the
    innermost heading.
    """
    if not names:
        return [""]
    lines = [_JOIN.join(names)]
    lines += [_JOIN.join([names[0], _GAP, *names[-kept:]]) for kept in range(len(names) - 2, 0, -1)]
    words = names[-1].split()
    while words:
        lines.append(" ".join(words))
        words = words[: len(words) * 3 // 4]
    return lines
