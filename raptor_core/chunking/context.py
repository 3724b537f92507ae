"""Context that the embedder reads before a chunk: title, headings and column names.

It is never part of the chunk's span.
"""

from collections.abc import Iterable, Iterator, Sequence

from raptor_core.tokens.base import TokenCounter

_JOIN = " > "
_GAP = "…"
_CELL = " | "


def context_lines(
    paths: Iterable[tuple[str, tuple[str, ...]]], counter: TokenCounter, max_tokens: int
) -> list[str]:
    """Return a line "Title > Section" of at most ``max_tokens`` for each pair, or ""."""
    names = [_distinct_headings(title, section) for title, section in paths]
    candidates = {path: _candidate_lines(path) if max_tokens else [""] for path in names}
    counts = iter(counter.count([line for lines in candidates.values() for line in lines]))
    line_of = {}
    for path, lines in candidates.items():
        fitting = [line for line in lines if next(counts) <= max_tokens]
        line_of[path] = fitting[0] if fitting else ""
    return [line_of[path] for path in names]


def _distinct_headings(title: str, section: tuple[str, ...]) -> tuple[str, ...]:
    """Return title and headings with single spaces, without empty and repeated ones."""
    names: list[str] = []
    for name in (title, *section):
        folded = " ".join(name.split())
        if folded and (not names or folded.casefold() != names[-1].casefold()):
            names.append(folded)
    return tuple(names)


def _candidate_lines(names: tuple[str, ...]) -> list[str]:
    """Return candidate lines from the whole path down to one name, the best first.

    The middle of the path is dropped first, because the title names the topic of the document and
    the innermost heading that of the chunk. Then the title is dropped, and last the words at the
    end of the innermost heading.
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


def add_table_headers(
    lines: Sequence[str], tables: Sequence[str], counter: TokenCounter, max_tokens: int
) -> list[str]:
    """Return the lines, each with a second line for the columns of its table, if it has one.

    Args:
        lines: the line of each chunk, as ``context_lines`` returns it.
        tables: the title and the columns of the table of each chunk, or "".
        counter: counter of tokens.
        max_tokens: maximum tokens of a second line; 0 adds none.
    """
    shown = {"": ""}
    for label in set(tables) - {""} if max_tokens else ():
        candidates = list(_shorten_column_names(label))
        counts = counter.count(candidates)
        fitting = (c for c, n in zip(candidates, counts, strict=True) if n <= max_tokens)
        shown[label] = next(fitting, "")
    pairs = ((line, shown.get(label, "")) for line, label in zip(lines, tables, strict=True))
    return [f"{line}\n{table}" if table else line for line, table in pairs]


def _shorten_column_names(label: str) -> Iterator[str]:
    """Yield the column names with fewer and fewer words, then with fewer and fewer names."""
    cells = label.split(_CELL)
    yield label
    for n_words in (4, 3, 2, 1):
        yield _CELL.join(" ".join(cell.split()[:n_words]) for cell in cells)
    for n_cells in range(len(cells) - 1, 0, -1):
        yield _CELL.join(cell.split()[0] for cell in cells[:n_cells] if cell.strip())
