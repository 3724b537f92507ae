"""`raptor ask`."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import click

from dagster_project.cli.options import home_and_json, query_options


@click.command(epilog="\b\nExample:\n  raptor ask 'what did the two incidents have in common?'")
@click.argument("question")
@query_options
@home_and_json
def command(question: str, home: Path, as_json: bool, **values: Any) -> None:
    """Answer a question from the trees, with its sources.

    Needs a chat endpoint (settings [reader]); without its key the context is shown, and what is
    missing is said.
    """
    from dagster_project.cli.output import print_hits, print_json, retrieval_values
    from dagster_project.cli.session import make_query, open_home, retrieve
    from raptor_core.errors import MissingKeyError
    from raptor_core.reading import Passage, Reader

    opened, settings = open_home(home)
    found = retrieve(opened, settings, question, make_query(settings, values))
    try:
        answer = Reader(settings.reader).read(
            question, [Passage.from_node(h.node) for h in found.hits]
        )
    except MissingKeyError:
        if not as_json:
            click.secho("context that a reader would answer from:", bold=True)
            print_hits(found)
        raise
    if as_json:
        cited = [passage.node_id for passage in answer.citations]
        print_json({"answer": answer.text, "cited": cited, **retrieval_values(found)})
        return
    click.echo(answer.text)
    for number, passage in enumerate(answer.citations, 1):
        click.secho(f"[{number}] {passage.place}  {passage.node_id}", fg="cyan")
