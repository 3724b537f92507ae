"""Servers: `raptor ui`, `raptor serve` and `raptor mcp`."""

import os
import socket
import sys
from collections.abc import Mapping
from contextlib import suppress
from pathlib import Path
from typing import Any

import click

from raptor_assets.cli.options import home_and_json
from raptor_assets.cli.output import print_json
from raptor_assets.home.folder import Home
from raptor_assets.local.curate import Curator
from raptor_assets.local.dagster import CODE_LOCATION, open_instance_and_clean_up
from raptor_assets.serving.identity import Callers, KnownCallers, ServerKeys
from raptor_assets.serving.mcp import make_http_app, make_server
from raptor_assets.shown.terminal import say
from raptor_core.credentials import is_loopback, require_sendable_key
from raptor_core.errors import MissingKeyError, SettingsError
from raptor_core.home import HomeRetriever
from raptor_core.settings import Settings

_PORT = click.IntRange(1, 65535)
_key_env = click.option(
    "--key-env",
    default="RAPTOR_API_KEY",
    show_default=True,
    metavar="NAME",
    help="Environment variable with the key that requests must send.",
)


@click.command(epilog="\b\nExample:\n  raptor ui --port 3333")
@click.option("--port", type=_PORT, default=3000, show_default=True, help="Port to listen on.")
@click.option("--host", default="127.0.0.1", show_default=True, help="Address to listen on.")
@click.option(
    "--watch",
    is_flag=True,
    help="Switch on the sensor, which builds changed documents (like source.watch).",
)
@home_and_json
def ui_command(port: int, host: str, watch: bool, home: Path, as_json: bool) -> None:
    """Run Dagster's web server and daemon for this home until you interrupt the command."""
    opened, settings = Home.open_with_settings(home)
    if corpus := opened.read_names().corpus:
        raise click.UsageError(
            f"the corpus {corpus} belongs to a Dagster project; run `dagster dev` there"
        )
    _require_free_port(host, port)
    # Otherwise the UI's processes create the records in parallel, and print tracebacks.
    with open_instance_and_clean_up(opened) as instance:
        instance.get_dynamic_partitions(opened.read_names().partitions_name)
    url = f"http://{host}:{port}"
    if as_json:
        print_json({"url": url, "home": str(opened.path)})
    else:
        say(f"{url} (stop with Ctrl+C)")
        if not (watch or settings.source.watch):
            say("Changed documents are only built with --watch.")
    sys.stdout.flush()
    arguments = [sys.executable, "-m", "dagster", "dev", "-m", CODE_LOCATION]
    arguments += ["--host", host, "--port", str(port)]
    environment = {**os.environ, **opened.dagster_environment()}
    if watch:
        environment["RAPTOR_SOURCE__WATCH"] = "true"
    os.execve(sys.executable, arguments, environment)  # noqa: S606


def _require_free_port(host: str, port: int) -> None:
    try:
        with socket.create_server((host, port)):
            return
    except OSError as error:
        raise click.BadParameter(
            f"{host}:{port}: {error.strerror or error}; choose another --port",
            param_hint="--host, --port",
        ) from error


@click.command(epilog="\b\nExample:\n  raptor serve --port 8700\n  curl localhost:8700/trees")
@click.option("--host", default="127.0.0.1", show_default=True, help="Address to listen on.")
@click.option("--port", type=_PORT, default=8700, show_default=True, help="Port to listen on.")
@_key_env
@click.option(
    "--writing-key-env",
    default="RAPTOR_WRITING_KEY",
    show_default=True,
    metavar="NAME",
    help="Environment variable with the key for decisions; without a key, decisions are rejected.",
)
@home_and_json
def serve_command(
    home: Path,
    host: str,
    port: int,
    key_env: str,
    writing_key_env: str,
    as_json: bool,  # noqa: ARG001  # only errors are printed
) -> None:
    """Serve searches, answers, nodes, sources and decisions over HTTP.

    Requests send the key as 'Authorization: Bearer KEY'. Without a key, the server accepts requests
    only from this machine. Decisions need a second key. If the settings [access] contain keys or
    tokens of callers, each caller gets only what the caller may read (docs/rights.md). The API is
    described at /openapi.json and in docs/applications.md. Install the extra 'http'.
    """
    from raptor_assets.serving.http import make_app

    keys = {name: _read_key(name) for name in (key_env, writing_key_env)}
    retriever = HomeRetriever(home)
    callers = _make_callers(home, retriever.settings, host, keys)
    hosts = ("localhost", "127.0.0.1", host) if callers.is_open else None
    retriever.load_model()
    run_server(make_app(retriever, callers, hosts, curator=Curator(home)), host, port)


def _make_callers(
    home: Path, settings: Settings, host: str, keys: Mapping[str, str | None]
) -> Callers:
    """Return the callers of a server that listens on a host, from its keys by variable.

    The first key may read, the second one may also decide.
    """
    if settings.access.requires_caller:
        if variables := [name for name, key in keys.items() if key]:
            raise SettingsError(
                f"{variables[0]} is set, but its holder would have no readers; unset it, because "
                "callers are identified by the settings [access]"
            )
        return KnownCallers(settings.access, Home.at(home).path)
    key_env, *writing_key_envs = keys
    key = keys[key_env]
    if key is None and not is_loopback(host):
        raise MissingKeyError(
            f"{host} can be reached from other machines: set {key_env} to a key that requests must "
            "send, or listen on 127.0.0.1"
        )
    for name in writing_key_envs:
        if key is not None and keys[name] == key:
            raise SettingsError(
                f"{name} has the same key as {key_env}, so everyone who may read could decide; set "
                "different keys"
            )
    return ServerKeys(*keys.values())


def _read_key(variable: str) -> str | None:
    key = os.environ.get(variable)
    return None if key is None else require_sendable_key(key, variable, "requests to this server")


@click.command(epilog="\b\nExample:\n  raptor mcp --home /srv/handbook/.raptor")
@click.option("--port", type=_PORT, help="Serve HTTP on this port instead of standard input.")
@click.option("--host", default="127.0.0.1", show_default=True, help="Address to listen on.")
@_key_env
@click.option(
    "--as",
    "readers",
    multiple=True,
    help="Without --port: serve only what this user or group may read; may be repeated.",
)
@home_and_json
def mcp_command(
    home: Path,
    port: int | None,
    host: str,
    key_env: str,
    readers: tuple[str, ...],
    as_json: bool,  # noqa: ARG001  # only errors are printed
) -> None:
    """Serve the published trees to language models, until standard input ends.

    The server uses the Model Context Protocol (MCP) on standard input and output, or with --port
    over HTTP at http://127.0.0.1:PORT/mcp. Its tools are search, search_within, outline, browse,
    read_node, trace and list_trees. MCP clients start this command (docs/applications.md). Over
    HTTP, the keys and tokens of `raptor serve` apply. Install the extra 'mcp'.
    """
    keys = {} if port is None else {key_env: _read_key(key_env)}
    retriever = HomeRetriever(home).for_readers(readers or None)
    if port is None:
        retriever.require_caller()
        retriever.load_model()
        make_server(retriever).run()
        return
    if readers:
        raise click.UsageError("over HTTP each request identifies its caller; omit --as or --port")
    callers = _make_callers(home, retriever.settings, host, keys)
    retriever.load_model()
    run_server(make_http_app(retriever, callers), host, port, "warning")


MAX_HEAD_BYTES = 64 << 10  # limit of a request line with its headers
MAX_CONNECTIONS = 512  # further ones get 503
ENDING_SECONDS = 20  # time that a stopping server waits for open requests


def run_server(app: Any, host: str, port: int, log_level: str = "info") -> None:
    """Serve an ASGI application until a signal stops the process.

    The size of a request's body is limited in ``http``. Handling slow clients is a proxy's job.
    """
    import uvicorn

    config = uvicorn.Config(
        app,
        host=host,
        port=port,
        http="h11",  # httptools accepts headers of any size
        ws="none",
        h11_max_incomplete_event_size=MAX_HEAD_BYTES,
        limit_concurrency=MAX_CONNECTIONS,
        log_level=log_level,
        server_header=False,
        timeout_graceful_shutdown=ENDING_SECONDS,
    )
    with suppress(KeyboardInterrupt):  # uvicorn raises the signal again that stopped it
        uvicorn.Server(config).run()
