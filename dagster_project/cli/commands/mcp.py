"""`raptor mcp`."""

from __future__ import annotations

from pathlib import Path

import click

from dagster_project.cli.options import home_and_json


@click.command(epilog="\b\nExample:\n  raptor mcp --home /srv/handbook/.raptor")
@home_and_json
def command(home: Path, as_json: bool) -> None:  # noqa: ARG001  # only errors are printed
    """Serve the published trees to language models, until standard input ends.

    Speaks the Model Context Protocol on standard input and output; tools: search, read_node,
    trace, list_trees. A client starts this command itself: see docs/applications.md. Needs the
    extra 'mcp'.
    """
    from dagster_project.home_retriever import HomeRetriever
    from dagster_project.serving.mcp import make_server

    retriever = HomeRetriever(home)
    retriever.load_model()
    make_server(retriever).run()
