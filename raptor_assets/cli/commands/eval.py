"""`raptor eval`: the group; its commands are in ``raptor_assets.cli.evals``."""

from __future__ import annotations

from typing import Any

import click

from raptor_assets.cli.app import LazyGroup

COMMANDS = {
    "audit": ("audits", "Score a judge of summaries on labelled ones."),
    "golden": ("published", "Measure retrieval on questions whose answers are known."),
    "index": ("published", "Measure what the search by vectors misses."),
    "paper": ("paper", "Write the paper's tables that need no reader."),
    "reader": ("comparison", "Compare strategies by what a reader answers from their contexts."),
    "retrieval": ("comparison", "Compare strategies at equal token budgets."),
    "sheet": ("audits", "Draw summaries for a study of hallucinations by hand."),
    "verdicts": ("audits", "Read the sheet of such a study, and tell its figures."),
}
"""As ``app.COMMANDS``."""


@click.command(
    cls=LazyGroup,
    package="raptor_assets.cli.evals",
    lazy=COMMANDS,
    epilog="\b\nExample:\n  raptor eval golden questions.jsonl --json",
)
def eval_command(**_: Any) -> None:
    """Measure retrieval and audits against known answers."""
