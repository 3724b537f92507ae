"""Where the command prints: no name and no text of others reaches a terminal as a command of it.

``say`` and ``say_text`` print for people, in place of ``click.echo``. ``clean_streams`` stands
below them for what is printed by others: logs, warnings, tracebacks.
"""

from __future__ import annotations

import json
import re
import sys
from collections.abc import Iterable
from typing import Any, TextIO

import click

from raptor_core.redaction import UNPRINTABLE, printable

_COLORS = r"\x1b\[[0-9;]*m"
_COLORED = re.compile(f"(?P<color>{_COLORS})|{UNPRINTABLE.pattern}")


def say(line: str = "", *, err: bool = False, **style: Any) -> None:
    """Print one line; a line break in it is escaped, so that no name forges a line.

    Args:
        err: to standard error.
        style: colours and the like, as ``click.style`` takes them.
    """
    click.secho(printable(line, lines=False), err=err, **style)


def say_text(text: str, *, err: bool = False, indent: str = "", **style: Any) -> None:
    """Print a text of several lines, those after the first indented."""
    lines = printable(text).splitlines()
    click.secho(f"\n{indent}".join(lines), err=err, **style)


def say_json(value: str) -> None:
    """Print JSON; characters that steer a terminal, which JSON lets pass, are escaped in it."""
    click.echo(UNPRINTABLE.sub(lambda found: json.dumps(found.group())[1:-1], value))


class CleanStream:
    """Text stream that writes only what a terminal prints, and colours."""

    def __init__(self, stream: TextIO) -> None:
        self._stream = stream

    def __getattr__(self, name: str) -> Any:
        return getattr(self._stream, name)

    def write(self, text: str) -> int:
        """Write the text with everything else that steers a terminal made visible."""
        self._stream.write(_COLORED.sub(_escape_uncolored, text.replace("\r\n", "\n")))
        return len(text)

    def writelines(self, lines: Iterable[str]) -> None:
        """Write the lines, each as ``write`` does."""
        for line in lines:
            self.write(line)


def _escape_uncolored(found: re.Match[str]) -> str:
    return found["color"] or printable(found.group())


def clean_streams() -> None:
    """Replace standard output and error by clean ones, once; what prints later uses them."""
    for name in ("stdout", "stderr"):
        stream = getattr(sys, name)
        if stream is not None and not isinstance(stream, CleanStream):
            setattr(sys, name, CleanStream(stream))
