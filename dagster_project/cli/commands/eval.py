"""`raptor eval`: the group; its commands are in ``dagster_project.cli.evals``."""

from __future__ import annotations

from typing import Any

import click

from dagster_project.cli.app import LazyGroup

MEANINGS = {
    "audit": "Score a judge of summaries on labelled ones.",
    "golden": "Measure retrieval on questions whose answers are known.",
    "index": "Measure what the search by vectors misses.",
    "paper": "Write the paper's tables that need no reader.",
    "reader": "Compare strategies by what a reader answers from their contexts.",
    "retrieval": "Compare strategies at equal token budgets.",
    "sheet": "Draw summaries for a study of hallucinations by hand.",
    "verdicts": "Read the sheet of such a study, and tell its figures.",
}


SHARED = {
    "audits": ("audit", "sheet", "verdicts"),
    "comparison": ("retrieval", "reader"),
    "published": ("golden", "index"),
}
"""As ``app.SHARED``."""


@click.command(
    cls=LazyGroup,
    package="dagster_project.cli.evals",
    meanings=MEANINGS,
    shared=SHARED,
    epilog="\b\nExample:\n  raptor eval golden questions.jsonl --json",
)
def command(**_: Any) -> None:
    """Measure retrieval and audits against known answers."""
