"""`raptor query`."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import click

from dagster_project.cli.options import home_and_json, query_options


@click.command(
    epilog="\b\nExample:\n  raptor query 'why did the pump fail?' --budget-tokens 500 --layer 0"
)
@click.argument("question")
@query_options
@home_and_json
def command(question: str, home: Path, as_json: bool, **values: Any) -> None:
    """Retrieve the nodes that match a question."""
    from dagster_project.cli.output import print_hits, print_json, retrieval_values
    from dagster_project.cli.session import make_query, open_home, retrieve

    opened, settings = open_home(home)
    found = retrieve(opened, settings, question, make_query(settings, values))
    if as_json:
        print_json(retrieval_values(found))
    else:
        print_hits(found)
