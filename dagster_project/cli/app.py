"""The command group: commands are imported when they are called."""

from __future__ import annotations

import atexit
import gc
import importlib
import io
import sys
from collections.abc import Mapping, Sequence
from typing import Any, NoReturn

import click

from dagster_project.cli.exits import EXITS, fail

COMMANDS = {
    "ask": "Answer a question from the trees, with its sources.",
    "build": "Build what is new or changed in the source, and publish it.",
    "curate": "Set texts aside, correct or pin summaries, mark findings.",
    "documents": "Show what a build would read, before anything is paid.",
    "drop": "Remove a tree: its vectors, tables and partition.",
    "eval": "Measure retrieval and audits against known answers.",
    "export": "Write published trees into a folder: a backup, or a move.",
    "import": "Publish the trees of an export, verified first.",
    "init": "Make a home with a commented settings file.",
    "mcp": "Serve the published trees to language models (MCP).",
    "plan": "Say what the next build will do and cost, before anything is paid.",
    "query": "Retrieve the nodes that match a question.",
    "report": "Show a tree as one HTML page, to explore down to its documents.",
    "serve": "Serve the published trees over HTTP.",
    "status": "Show what is published, and whether its checks passed.",
    "tree": "Print a tree, from the top down to its chunks.",
    "ui": "Open the Dagster UI on this home.",
}


YOUNG_OBJECTS = 50_000
"""New objects until Python looks for cycles that nothing holds; its default is 700. Imports make
hundreds of thousands, all of which stay, and looking through them took a tenth of a build."""


SHARED = {
    "builds": ("plan", "build", "drop"),
    "questions": ("query", "ask"),
    "servers": ("ui", "serve", "mcp"),
    "sources": ("init", "documents"),
    "transfer": ("export", "import"),
    "trees": ("tree", "report"),
}
"""Modules of several commands; each of the rest has one of its own name."""


class LazyGroup(click.Group):
    """A group whose commands are imported when they are called.

    One lives in a module of its own name, as ``command``, or in one of ``shared``, under its name,
    as ``query_command``.
    """

    def __init__(
        self,
        *args: Any,
        package: str,
        meanings: Mapping[str, str],
        shared: Mapping[str, Sequence[str]],
        **extra: Any,
    ) -> None:
        """``package`` holds the modules; ``meanings`` are one line for each command."""
        super().__init__(*args, **extra)
        self._package = package
        self._meanings = meanings
        self._modules = {name: module for module, names in shared.items() for name in names}

    def list_commands(self, ctx: click.Context) -> list[str]:  # click's signature
        """Names in alphabetical order."""
        return sorted(self._meanings)

    def get_command(self, ctx: click.Context, name: str) -> click.Command | None:
        """Import one command."""
        if name not in self._meanings:
            return None
        module = importlib.import_module(f"{self._package}.{self._modules.get(name, name)}")
        called = f"{name}_command" if name in self._modules else "command"
        command: click.Command = getattr(module, called)
        return command

    def format_commands(self, ctx: click.Context, formatter: click.HelpFormatter) -> None:
        """List the commands without importing them."""
        with formatter.section("Commands"):
            formatter.write_dl(sorted(self._meanings.items()))


class RaptorGroup(LazyGroup):
    """The group of all commands; it ends with an exit code."""

    def main(
        self,
        args: Sequence[str] | None = None,
        prog_name: str | None = None,
        complete_var: str | None = None,
        standalone_mode: bool = True,
        **extra: Any,
    ) -> NoReturn:
        """Run; with ``--json`` on the command line, its mistakes are told as JSON too."""
        gc.set_threshold(YOUNG_OBJECTS)
        # Or Python would look through them again before it ends, one second of a build's five.
        atexit.register(gc.freeze)
        for stream in (sys.stdout, sys.stderr):
            if isinstance(stream, io.TextIOWrapper):
                stream.reconfigure(encoding="utf-8")  # documents hold every character
        given = list(sys.argv[1:] if args is None else args)
        as_json = "--json" in given
        try:
            result = super().main(given, prog_name, complete_var, standalone_mode=False, **extra)
        except click.ClickException as error:
            if not as_json:
                error.show()
                raise SystemExit(error.exit_code) from error
            usage = isinstance(error, click.UsageError)
            name = "UsageError" if usage else type(error).__name__
            fail(name, error.format_message(), error.exit_code, as_json=True)
        except click.Abort:
            message = "interrupted; what was published stays, and the next build goes on from there"
            fail("Interrupted", message, 130, as_json=as_json)
        raise SystemExit(result if isinstance(result, int) else 0)


_EXIT_HELP = "\n".join(f"  {code:<3}  {meaning}" for code, meaning in EXITS.items())


@click.command(
    cls=RaptorGroup,
    package="dagster_project.cli.commands",
    meanings=COMMANDS,
    shared=SHARED,
    context_settings={"help_option_names": ["-h", "--help"]},
    epilog=(
        f"\b\nExit codes:\n{_EXIT_HELP}\n\n"
        "\b\nExample:\n  raptor build docs/ && raptor query 'what changed?'"
    ),
)
@click.version_option(package_name="raptor-assets", prog_name="raptor")
def main(**_: Any) -> None:
    """Trees of summaries over your documents: built, checked, published, queried."""
