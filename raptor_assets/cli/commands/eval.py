"""Group `raptor eval`; its commands are in ``cli/evals`` and in the laboratory."""

from importlib.metadata import entry_points
from typing import Any

import click

from raptor_assets.cli.app import LazyGroup
from raptor_core.errors import MissingExtraError

COMMANDS = {
    "golden": ("published", "Measure retrieval on questions whose answers are known."),
    "retrieval": ("comparison", "Compare strategies at equal token budgets."),
}
"""Module of each command, and its line of help."""

LABORATORY = {
    "audit": "Score a judge on labelled summaries.",
    "index": "Measure the recall of the search by vectors.",
    "paper": "Write the paper's tables that need no reader.",
    "reader": "Compare strategies by a reader's answers from their contexts.",
    "sheet": "Draw summaries for a study of hallucinations by hand.",
    "verdicts": "Read the sheet of such a study, and print its figures.",
}
"""Commands that ``raptor_lab`` registers as entry points, listed even if it is not installed."""

GROUP = "raptor_assets.cli.evals"  # group of the entry points


class EvalGroup(LazyGroup):
    """Group of the commands of this package and of entry points."""

    def get_command(self, ctx: click.Context, name: str) -> click.Command | None:
        """Import one command.

        Raises:
            ClickException: the command is in the laboratory, which is not installed.
        """
        registered = entry_points(group=GROUP)
        if name in registered.names:
            command: click.Command = registered[name].load()
            return command
        if name in LABORATORY:
            raise click.ClickException(str(MissingExtraError("lab", f"`raptor eval {name}`")))
        return super().get_command(ctx, name)


@click.command(
    cls=EvalGroup,
    package=GROUP,
    lazy={**COMMANDS, **{name: ("", meaning) for name, meaning in LABORATORY.items()}},
    epilog="\b\nExample:\n  raptor eval golden questions.jsonl --json",
)
def eval_command(**_: Any) -> None:
    """Measure retrieval and audits against known answers."""
