"""`raptor eval`: the group; its commands are in ``cli/evals`` and in the laboratory."""

from __future__ import annotations

from importlib.metadata import entry_points
from typing import Any

import click

from raptor_assets.cli.app import LazyGroup
from raptor_core.errors import MissingExtraError

COMMANDS = {
    "golden": ("published", "Measure retrieval on questions whose answers are known."),
    "retrieval": ("comparison", "Compare strategies at equal token budgets."),
}
"""As ``app.COMMANDS``."""

LABORATORY = {
    "audit": "Score a judge of summaries on labelled ones.",
    "index": "Measure what the search by vectors misses.",
    "paper": "Write the paper's tables that need no reader.",
    "reader": "Compare strategies by what a reader answers from their contexts.",
    "sheet": "Draw summaries for a study of hallucinations by hand.",
    "verdicts": "Read the sheet of such a study, and print its figures.",
}
"""Commands that ``raptor_lab`` registers, with their meanings, whether it is installed or not."""

GROUP = "raptor_assets.cli.evals"
"""Entry points of further commands, by name."""


class EvalGroup(LazyGroup):
    """The commands of this package, and those that are registered as entry points."""

    def get_command(self, ctx: click.Context, name: str) -> click.Command | None:
        """Import one command.

        Raises:
            ClickException: it is a command of the laboratory, which is not installed.
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
