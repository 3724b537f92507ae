"""`raptor serve`."""

from __future__ import annotations

import os
from ipaddress import ip_address
from pathlib import Path

import click

from dagster_project.cli.options import home_and_json
from dagster_project.curating import Curator
from dagster_project.serving.reading import Reading
from raptor_core.errors import MissingKeyError, SettingsError
from raptor_core.home import HomeRetriever

_LOOPBACK = ("localhost", "127.0.0.1")


@click.command(epilog="\b\nExample:\n  raptor serve --port 8700\n  curl localhost:8700/trees")
@click.option("--host", default="127.0.0.1", show_default=True, help="Address to listen at.")
@click.option(
    "--port", type=click.IntRange(1, 65535), default=8700, show_default=True, help="Port."
)
@click.option(
    "--key-env",
    default="RAPTOR_API_KEY",
    show_default=True,
    metavar="NAME",
    help="Environment variable of the key that requests must give.",
)
@click.option(
    "--writing-key-env",
    default="RAPTOR_WRITING_KEY",
    show_default=True,
    metavar="NAME",
    help="Environment variable of the key that decisions must give; without one none are taken.",
)
@home_and_json
def command(
    home: Path,
    host: str,
    port: int,
    key_env: str,
    writing_key_env: str,
    as_json: bool,  # noqa: ARG001  # only errors are printed
) -> None:
    """Serve the published trees over HTTP: search, answers, nodes, their sources, decisions.

    Requests give the key as 'Authorization: Bearer KEY'. Without a key it serves this machine
    alone. Decisions are taken only with a key of their own. What it speaks is described at
    /openapi.json, and in docs/applications.md. Needs the extra 'http'.
    """
    key = os.environ.get(key_env) or None
    writing_key = os.environ.get(writing_key_env) or None
    alone = _is_loopback(host)
    if key is None and not alone:
        raise MissingKeyError(
            f"{host} can be reached from other machines: set {key_env} to a key that requests must "
            "give, or listen at 127.0.0.1"
        )
    if writing_key is not None and writing_key == key:
        raise SettingsError(
            f"{writing_key_env} holds the same key as {key_env}: whoever reads could decide; give "
            "them different keys"
        )

    from dagster_project.serving.http import make_app

    hosts = None if key else (*_LOOPBACK, host)
    retriever = HomeRetriever(home)
    retriever.load_model()
    app = make_app(Reading(retriever), key, hosts, curator=Curator(home), writing_key=writing_key)
    _run(app, host, port)


def _run(app: object, host: str, port: int) -> None:
    import uvicorn

    uvicorn.run(app, host=host, port=port, server_header=False)  # type: ignore[arg-type]


def _is_loopback(host: str) -> bool:
    try:
        return ip_address(host).is_loopback
    except ValueError:
        return host == "localhost"
