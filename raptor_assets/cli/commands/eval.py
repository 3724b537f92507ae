"""Group `raptor eval`: `raptor eval golden`, and the commands of the laboratory."""

from importlib.metadata import entry_points
from typing import Any

import click

from raptor_assets.cli.app import LazyGroup
from raptor_core.errors import MissingExtraError

LABORATORY = {
    "audit": "Score a judge on labelled summaries.",
    "board": "Measure strategies on public data sets, in one table.",
    "paper": "Write the tables and figures of the paper.",
    "retrieval": "Compare strategies at equal token budgets.",
    "reader": "Compare strategies by the answers of models.",
    "sheet": "Sample summaries for a manual study of hallucinations.",
    "verdicts": "Print the results of such a study.",
}
"""Commands that ``raptor_lab`` registers as entry points, listed even if it is not installed."""

GROUP = "raptor_assets.cli.eval"  # group of the entry points


class EvalGroup(LazyGroup):
    """Group of `golden` and of entry points."""

    def get_command(self, ctx: click.Context, name: str) -> click.Command | None:
        """Import a command.

        Raises:
            ClickException: the command belongs to the laboratory, which is not installed.
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
    package="raptor_assets.cli.commands",
    lazy={
        "golden": ("golden", "Measure retrieval on questions whose answers are known."),
        **{name: ("", meaning) for name, meaning in LABORATORY.items()},
    },
    epilog="\b\nExample:\n  raptor eval golden questions.jsonl --json",
)
def eval_command(**_: Any) -> None:
    """Measure retrieval and audits against known answers."""
