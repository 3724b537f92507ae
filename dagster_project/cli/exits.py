"""Exit codes, and the one place where errors become messages."""

from __future__ import annotations

import functools
import json
from collections.abc import Callable
from typing import Any

import click

from raptor_core.errors import (
    MissingKeyError,
    RaptorError,
    SettingsError,
    SourceError,
    StoreLockedError,
    UnknownTreeError,
)

EXITS = {
    0: "done",
    1: "failed",
    2: "the command line is wrong",
    3: "a setting is wrong",
    4: "the source, the tree or the home is not there, or is empty",
    5: "done in part: some partitions failed, or a check with severity error did",
    6: "another process holds the store",
    7: "a key is missing in the environment",
}

_CODES: tuple[tuple[type[RaptorError], int], ...] = (
    (SettingsError, 3),
    (SourceError, 4),
    (UnknownTreeError, 4),
    (StoreLockedError, 6),
    (MissingKeyError, 7),
)


def exit_code(error: RaptorError) -> int:
    """The exit code of an error."""
    return next((code for kind, code in _CODES if isinstance(error, kind)), 1)


def reported(function: Callable[..., Any]) -> Callable[..., Any]:
    """Show a ``RaptorError`` as a message, or as JSON with ``--json``, and exit with its code."""

    @functools.wraps(function)
    def wrapper(*args: Any, **kwargs: Any) -> Any:
        try:
            return function(*args, **kwargs)
        except RaptorError as error:
            if kwargs.get("as_json"):
                problem = {"error": type(error).__name__, "message": str(error)}
                click.echo(json.dumps(problem, ensure_ascii=False))
            else:
                click.secho(f"error: {error}", fg="red", err=True)
            raise SystemExit(exit_code(error)) from error

    return wrapper
