"""What commands print: JSON for machines, short text for people."""

from __future__ import annotations

import sys
from collections.abc import Iterable, Iterator
from dataclasses import asdict
from typing import TYPE_CHECKING, Any

from pydantic_core import to_json

from raptor_assets.cli.terminal import say, say_json
from raptor_core.evaluation.tables import Table as EvaluationTable
from raptor_core.nodes import Node
from raptor_core.redaction import printable

if TYPE_CHECKING:
    from rich.console import Console, ConsoleOptions, RenderableType
    from rich.segment import Segment

PIPE_COLUMNS = 160
"""Width of a line where there is no terminal."""

_INTERNAL = ("content_key", "embedding_key", "fingerprint", "context", "paragraphs")


def print_json(value: Any) -> None:
    """One JSON value, indented; dataclasses by their fields.

    Python's own encoder takes twenty times as long once it indents.
    """
    say_json(to_json(value, indent=2, inf_nan_mode="constants").decode())


def told_usd(usd: float | None, digits: str = ".6g") -> str:
    """Money in words; ``digits`` is the format of the amount."""
    return "money unknown (no price is set)" if usd is None else f"{usd:{digits}} USD"


def told_together(reasons: Iterable[tuple[str, str]]) -> list[str]:
    """A line for each reason, with the first name that has it, and how many more do."""
    alike: dict[str, list[str]] = {}
    for name, reason in reasons:
        alike.setdefault(reason, []).append(name)
    return [
        f"{names[0]} and {len(names) - 1} more: {reason}" if names[1:] else f"{names[0]}: {reason}"
        for reason, names in alike.items()
    ]


def print_orphaned(partitions: Iterable[str]) -> None:
    """Name what is published under the name of the corpus and was not built here."""
    why = "published by another home of the corpus, or by a lost one; `raptor drop` removes it"
    for line in told_together((name, why) for name in partitions):
        say(line, fg="yellow", err=True)


def node_values(node: Node) -> dict[str, Any]:
    """A node as plain values, without the keys that are the store's own."""
    return {name: value for name, value in asdict(node).items() if name not in _INTERNAL}


class _Printable:
    """What rich renders, with no control characters but rich's own."""

    def __init__(self, shown: RenderableType) -> None:
        self._shown = shown

    def __rich_console__(self, console: Console, options: ConsoleOptions) -> Iterator[Segment]:
        for segment in console.render(self._shown, options):
            is_text = not segment.control
            yield segment._replace(text=printable(segment.text)) if is_text else segment


def print_wide(shown: RenderableType) -> None:
    """What rich renders, as wide as the terminal, or wide enough where it goes into a pipe."""
    from rich.console import Console

    width = None if sys.stdout.isatty() else PIPE_COLUMNS
    Console(width=width, highlight=False).print(_Printable(shown))


def print_table(given: EvaluationTable) -> None:
    """A table with its title above and its note below, in full where it goes into a pipe."""
    from rich.table import Table

    table = Table(
        title=given.title, caption=given.note, title_justify="left", caption_justify="left"
    )
    for name in given.head:
        table.add_column(name, justify="right" if table.columns else "left", no_wrap=True)
    for row in given.rows:
        table.add_row(*row)
    print_wide(table)
