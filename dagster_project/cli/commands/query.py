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
    """Retrieve the chunks and summaries that a question should be answered from.

    They come in the strategy's order: the default reads in document order, with scores beside.

    `raptor tree TREE --trace NODE` shows what a summary was made from.
    """
    from dagster_project.cli.output import print_hits, print_json, retrieval_values
    from dagster_project.cli.questions import make_query, require_words, why_nothing
    from raptor_core.home import HomeRetriever

    require_words(question)
    retriever = HomeRetriever(home)
    query = make_query(retriever.settings, values)
    found = retriever.search(question, query)
    if as_json:
        print_json(retrieval_values(found))
    elif found.hits:
        print_hits(found)
    else:
        click.secho(why_nothing(query), fg="yellow", err=True)
