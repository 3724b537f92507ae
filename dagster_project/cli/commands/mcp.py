"""`raptor mcp`."""

from __future__ import annotations

from pathlib import Path

import click

from dagster_project.cli.options import home_and_json
from dagster_project.serving.mcp import make_server
from raptor_core.home import HomeRetriever


@click.command(epilog="\b\nExample:\n  raptor mcp --home /srv/handbook/.raptor")
@click.option(
    "--port",
    type=click.IntRange(1, 65535),
    help="Serve HTTP at this port, for clients of this machine alone, in place of standard input.",
)
@home_and_json
def command(home: Path, port: int | None, as_json: bool) -> None:  # noqa: ARG001  # only errors are printed
    """Serve the published trees to language models, until standard input ends.

    Speaks the Model Context Protocol on standard input and output, or with --port over HTTP at
    http://127.0.0.1:PORT/mcp; tools: search, read_node, trace, list_trees. A client starts this
    command itself: see docs/applications.md. Needs the extra 'mcp'.
    """
    retriever = HomeRetriever(home)
    retriever.load_model()
    server = make_server(retriever)
    if port is None:
        server.run()
    else:
        server.run("streamable-http", host="127.0.0.1", port=port)
