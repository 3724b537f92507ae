"""Output of commands: JSON for programs, short text and tables for people.

The streams are in ``terminal``.
"""

from __future__ import annotations

import sys
from collections.abc import Iterable, Iterator
from dataclasses import asdict
from typing import TYPE_CHECKING, Any

from pydantic_core import to_json

from raptor_assets.shown.terminal import say_json
from raptor_core.nodes import Node
from raptor_core.redaction import escape_control_characters

if TYPE_CHECKING:
    from rich.console import Console, ConsoleOptions, RenderableType
    from rich.segment import Segment

PIPE_COLUMNS = 160  # width of a line without a terminal
_INTERNAL = ("content_key", "embedding_key", "fingerprint", "context", "paragraphs")


def print_json(value: Any) -> None:
    """Print a JSON value, indented; pydantic's encoder is twenty times as fast as Python's."""
    say_json(to_json(value, indent=2, inf_nan_mode="constants").decode())


def usd_text(usd: float | None, digits: str = ".6g") -> str:
    """Format an amount in US dollars; ``digits`` is the format of the number."""
    return "cost unknown (no price is set)" if usd is None else f"{usd:{digits}} USD"


def join_reasons(reasons: Iterable[tuple[str, str]]) -> list[str]:
    """Return a line for each reason, with its first name and how many others have it."""
    alike: dict[str, list[str]] = {}
    for name, reason in reasons:
        alike.setdefault(reason, []).append(name)
    return [
        f"{names[0]} and {len(names) - 1} more: {reason}" if names[1:] else f"{names[0]}: {reason}"
        for reason, names in alike.items()
    ]


def node_values(node: Node) -> dict[str, Any]:
    """Convert a node to plain values, without internal keys."""
    return {name: value for name, value in asdict(node).items() if name not in _INTERNAL}


class _EscapedRenderable:
    """Renderable of rich that escapes control characters other than rich's own."""

    def __init__(self, shown: RenderableType) -> None:
        self._shown = shown

    def __rich_console__(self, console: Console, options: ConsoleOptions) -> Iterator[Segment]:
        for segment in console.render(self._shown, options):
            is_text = not segment.control
            yield (
                segment._replace(text=escape_control_characters(segment.text))
                if is_text
                else segment
            )


def print_wide(shown: RenderableType) -> None:
    """Print a renderable as wide as the terminal, or ``PIPE_COLUMNS`` into a pipe."""
    from rich.console import Console

    width = None if sys.stdout.isatty() else PIPE_COLUMNS
    Console(width=width, highlight=False).print(_EscapedRenderable(shown))
