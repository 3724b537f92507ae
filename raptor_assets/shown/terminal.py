"""Printing to a terminal: control characters are removed, so that no text can control it.

``say`` and ``say_text`` print for people, instead of ``click.echo``. ``install_clean_streams``
cleans all other output: logs, warnings, tracebacks.
"""

import json
import re
import sys
from collections.abc import Iterable
from typing import Any, TextIO

import click

from raptor_core.redaction import UNPRINTABLE, escape_control_characters

_COLORS = r"\x1b\[[0-9;]*m"
_COLORED = re.compile(f"(?P<color>{_COLORS})|{UNPRINTABLE.pattern}")


def say(line: str = "", *, err: bool = False, **style: Any) -> None:
    """Print one line in a ``click`` style, with line breaks escaped."""
    click.secho(escape_control_characters(line, lines=False), err=err, **style)


def say_text(text: str, *, err: bool = False, indent: str = "", **style: Any) -> None:
    """Print a text of several lines; indent all but the first."""
    lines = escape_control_characters(text).splitlines()
    click.secho(f"\n{indent}".join(lines), err=err, **style)


def say_json(value: str) -> None:
    """Print JSON, with escapes for control characters that JSON allows."""
    click.echo(UNPRINTABLE.sub(lambda match: json.dumps(match.group())[1:-1], value))


class CleanStream:
    """Text stream that passes colours, and makes all other control characters visible."""

    def __init__(self, stream: TextIO) -> None:
        self._stream = stream

    def __getattr__(self, name: str) -> Any:
        return getattr(self._stream, name)

    def write(self, text: str) -> int:
        """Write a text without control characters."""
        self._stream.write(_COLORED.sub(_escape_uncolored, text.replace("\r\n", "\n")))
        return len(text)

    def writelines(self, lines: Iterable[str]) -> None:
        """Write several texts."""
        for line in lines:
            self.write(line)


def _escape_uncolored(match: re.Match[str]) -> str:
    return match["color"] or escape_control_characters(match.group())


def install_clean_streams() -> None:
    """Replace standard output and error by clean streams, once."""
    for name in ("stdout", "stderr"):
        stream = getattr(sys, name)
        if stream is not None and not isinstance(stream, CleanStream):
            setattr(sys, name, CleanStream(stream))
