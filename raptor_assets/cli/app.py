"""Group of all commands; it imports a command when that is called.

The commands are in ``commands``, the exit codes in ``exits``.
"""

import atexit
import gc
import importlib
import io
import os
import signal
import sys
import threading
from collections.abc import Mapping, Sequence
from contextlib import AbstractContextManager, nullcontext
from typing import Any, NoReturn

import click

from raptor_assets.cli.exits import EXITS, exit_with_error
from raptor_assets.shown.terminal import install_clean_streams, say_text
from raptor_core.errors import MissingExtraError
from raptor_core.tracing import set_up_tracing, span

COMMANDS = {
    "ask": ("questions", "Answer a question from the trees, and cite the sources."),
    "build": ("builds", "Build what is new or changed in the source, and publish it."),
    "curate": ("curate", "Set texts aside, correct summaries, and mark findings."),
    "documents": ("sources", "Show which documents a build would read."),
    "drop": ("builds", "Remove trees with their vectors, tables and partitions."),
    "eval": ("eval", "Measure retrieval and audits against known answers."),
    "export": ("transfer", "Write published trees into a folder, to back up or move them."),
    "import": ("transfer", "Verify an export, and publish its trees."),
    "init": ("sources", "Create a home with a commented settings file."),
    "mcp": ("servers", "Serve the published trees to language models (MCP)."),
    "plan": ("builds", "Predict what the next build will do and cost."),
    "query": ("questions", "Search for nodes that answer a question."),
    "questions": ("asked", "List questions from users that need a better answer."),
    "report": ("trees", "Show a tree with its sources as an HTML page."),
    "serve": ("servers", "Serve the published trees over HTTP."),
    "status": ("status", "Show what is published, and whether its checks passed."),
    "tree": ("trees", "Print a tree, from its top layer to its chunks."),
    "versions": ("versions", "Compare, roll back and approve builds of a tree."),
    "ui": ("servers", "Open the Dagster UI on this home."),
}
"""Module of each command, and its line in the help."""

_INTERRUPTED = 130  # exit code of a command that a signal interrupted
_ENDING_SECONDS = 3.0  # time that the threads of an interrupted command have to end

GC_THRESHOLD = 50_000
"""New objects between garbage collections. Python's default of 700 would cost a tenth of a build,
because imports create hundreds of thousands of objects that stay."""


class LazyGroup(click.Group):
    """Group that imports its ``lazy`` commands, modules of ``package`` with help, when called."""

    def __init__(
        self, *args: Any, package: str, lazy: Mapping[str, tuple[str, str]], **extra: Any
    ) -> None:
        super().__init__(*args, **extra)
        self._package, self._lazy = package, lazy

    def list_commands(self, ctx: click.Context) -> list[str]:  # click's signature
        """Return the names in alphabetical order."""
        return sorted(self._lazy)

    def get_command(self, ctx: click.Context, name: str) -> click.Command | None:
        """Import one command."""
        if name not in self._lazy:
            return None
        module = importlib.import_module(f"{self._package}.{self._lazy[name][0]}")
        command: click.Command = getattr(module, f"{name}_command")
        return command

    def format_commands(self, ctx: click.Context, formatter: click.HelpFormatter) -> None:
        """List the commands without importing them."""
        with formatter.section("Commands"):
            formatter.write_dl([(name, self._lazy[name][1]) for name in sorted(self._lazy)])


class RaptorGroup(LazyGroup):
    """Group of all commands."""

    def main(self, args: Sequence[str] | None = None, *rest: Any, **extra: Any) -> NoReturn:
        """Run a command and exit with its code; ``--json`` makes usage errors JSON as well."""
        if owns_process := args is None:
            _interrupt_on_signals()
        gc.set_threshold(GC_THRESHOLD)
        # Skips the last collection, which takes one second of a build's five.
        atexit.register(gc.freeze)
        for stream in (sys.stdout, sys.stderr):
            if isinstance(stream, io.TextIOWrapper):
                stream.reconfigure(encoding="utf-8")  # documents may contain any character
        install_clean_streams()
        arguments = list(sys.argv[1:] if args is None else args)
        as_json = "--json" in arguments
        command = next((each for each in arguments if each in COMMANDS), "")
        try:
            with _command_span(command):
                result = super().main(arguments, *rest, **{**extra, "standalone_mode": False})
        except click.ClickException as error:
            if not as_json:
                shown = io.StringIO()
                error.show(shown)
                say_text(shown.getvalue(), err=True)
                raise SystemExit(error.exit_code) from error
            usage = isinstance(error, click.UsageError)
            name = "UsageError" if usage else type(error).__name__
            exit_with_error(name, error.format_message(), error.exit_code, as_json=True)
        except click.Abort:
            if owns_process:
                _exit_after_grace_period()
            exit_with_error(
                "Interrupted", _interruption_message(command), _INTERRUPTED, as_json=as_json
            )
        raise SystemExit(result if isinstance(result, int) else 0)


_SERVERS = {"mcp", "serve", "ui"}  # commands whose spans begin with a request
_PUBLISHERS = {"build", "drop", "import", "versions"}


def _interruption_message(command: str) -> str:
    """Return the message of an interrupted command."""
    stays = "; what was published stays, and the next build continues from there"
    return f"interrupted{stays if command in _PUBLISHERS else ''}"


def _command_span(command: str) -> AbstractContextManager[object]:
    """Return the span of a command, after configuring an exporter from the environment."""
    try:
        set_up_tracing()
    except MissingExtraError as error:
        raise click.ClickException(str(error)) from error
    return nullcontext() if command in _SERVERS or not command else span(f"raptor {command}")


def _interrupt_on_signals() -> None:
    """Make SIGINT and SIGTERM interrupt the command, also in background jobs and containers."""
    signal.signal(signal.SIGINT, signal.default_int_handler)
    signal.signal(signal.SIGTERM, signal.default_int_handler)


def _exit_after_grace_period() -> None:
    timer = threading.Timer(_ENDING_SECONDS, os._exit, [_INTERRUPTED])
    timer.daemon = True
    timer.start()


_EXIT_HELP = "\n".join(f"  {code:<3}  {meaning}" for code, meaning in EXITS.items())


@click.command(
    cls=RaptorGroup,
    package="raptor_assets.cli.commands",
    lazy=COMMANDS,
    context_settings={"help_option_names": ["-h", "--help"]},
    epilog=(
        f"\b\nExit codes:\n{_EXIT_HELP}\n\n"
        "\b\nExample:\n  raptor build docs/ && raptor query 'what changed?'"
    ),
)
@click.version_option(package_name="raptor-assets", prog_name="raptor")
def main(**_: Any) -> None:
    """Build, check, publish and search trees of summaries over your documents."""
