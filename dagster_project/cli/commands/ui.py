"""`raptor ui`."""

from __future__ import annotations

import os
import socket
import sys
from pathlib import Path

import click

from dagster_project.cli.options import home_and_json
from dagster_project.cli.output import print_json
from dagster_project.instance import open_instance
from raptor_assets.project.home import Home


@click.command(epilog="\b\nExample:\n  raptor ui --port 3333")
@click.option("--port", type=click.IntRange(1, 65535), default=3000, show_default=True)
@click.option("--host", default="127.0.0.1", show_default=True)
@click.option(
    "--watch",
    is_flag=True,
    help="Build changed documents unasked: the sensor is on, as by source.watch.",
)
@home_and_json
def command(port: int, host: str, watch: bool, home: Path, as_json: bool) -> None:
    """Open the Dagster UI on this home: web server and daemon, until interrupted."""
    opened, settings = Home.open(home)
    if corpus := opened.names().corpus:
        raise click.UsageError(
            f"the corpus {corpus} belongs to a Dagster project of its own; `dagster dev` there "
            "shows it"
        )
    _require_free(host, port)
    with open_instance(opened):
        pass  # the UI's own processes would make new records side by side, and beside others
    url = f"http://{host}:{port}"
    if as_json:
        print_json({"url": url, "home": str(opened.path)})
    else:
        click.echo(f"{url} (stop with Ctrl+C)")
        if not (watch or settings.source.watch):
            click.echo("Changed documents are not built unasked; --watch does that.")
    sys.stdout.flush()
    arguments = [sys.executable, "-m", "dagster", "dev", "-m", "dagster_project.definitions"]
    arguments += ["--host", host, "--port", str(port)]
    environment = {**os.environ, **opened.environment()}
    if watch:
        environment["RAPTOR_SOURCE__WATCH"] = "true"
    os.execve(sys.executable, arguments, environment)  # noqa: S606


def _require_free(host: str, port: int) -> None:
    """Refuse an address that something else listens on, before anything is started.

    Raises:
        BadParameter: it is taken, or no address of this machine.
    """
    try:
        with socket.create_server((host, port)):
            return
    except OSError as error:
        raise click.BadParameter(
            f"{host}:{port}: {error.strerror or error}; choose another --port",
            param_hint="--host, --port",
        ) from error
