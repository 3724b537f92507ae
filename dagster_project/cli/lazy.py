"""A group of commands that are imported when they are called."""

from __future__ import annotations

import importlib
import keyword
from collections.abc import Mapping
from typing import Any

import click


class LazyGroup(click.Group):
    """A group whose commands live in modules of their own name, each as ``command``.

    One whose name is a word of Python has an underscore after it there.
    """

    def __init__(self, *args: Any, package: str, meanings: Mapping[str, str], **extra: Any) -> None:
        """``package`` holds the modules; ``meanings`` are one line for each command."""
        super().__init__(*args, **extra)
        self._package = package
        self._meanings = meanings

    def list_commands(self, ctx: click.Context) -> list[str]:  # noqa: ARG002  # click's signature
        """Names in alphabetical order."""
        return sorted(self._meanings)

    def get_command(self, ctx: click.Context, name: str) -> click.Command | None:  # noqa: ARG002
        """Import one command."""
        if name not in self._meanings:
            return None
        file = f"{name}_" if keyword.iskeyword(name) else name
        module = importlib.import_module(f"{self._package}.{file}")
        command: click.Command = module.command
        return command

    def format_commands(self, ctx: click.Context, formatter: click.HelpFormatter) -> None:  # noqa: ARG002
        """List the commands without importing them."""
        with formatter.section("Commands"):
            formatter.write_dl(sorted(self._meanings.items()))
