"""Exit codes, and the conversion of errors to messages."""

import functools
import json
from collections.abc import Callable, Collection
from typing import Any, NoReturn

from raptor_assets.shown.terminal import say_json, say_text
from raptor_core import errors
from raptor_core.disk import os_error_remedy
from raptor_core.errors import RaptorError

EXITS = {
    0: "done",
    1: "failed",
    2: "the command line is invalid",
    3: "a setting is invalid",
    4: "the source, the tree or the home is missing or empty",
    5: "some partitions failed, a check failed, or a figure is below its minimum",
    6: "another process is using the store",
    7: "a key is missing in the environment, or the caller has no readers",
    8: "the run reached its budget; finished work is kept",
    130: "interrupted; published trees stay",
}

_CODES: tuple[tuple[type[RaptorError], int], ...] = (
    (errors.MissingHomeError, 4),
    (errors.QuestionError, 2),
    (errors.SettingsError, 3),
    (errors.SourceError, 4),
    (errors.UnknownTreeError, 4),
    (errors.CurationError, 4),
    (errors.AccessError, 7),
    (errors.StoreLockedError, 6),
    (errors.MissingKeyError, 7),
    (errors.BudgetError, 8),
    (errors.CheckError, 5),
)


def exit_code(error: type[RaptorError]) -> int:
    """Return the exit code for an error class."""
    return next((code for kind, code in _CODES if issubclass(error, kind)), 1)


def exit_code_of_failures(names: Collection[str], *, partly: bool) -> int:
    """Return the exit code for names of error classes; an empty name means that a check blocked.

    A spent budget decides the code, whatever else was built or failed, because it stops the run.
    """
    if errors.BudgetError.__name__ in names:
        return exit_code(errors.BudgetError)
    kinds = {getattr(errors, name, None) for name in names}
    if partly or len(kinds) != 1:
        return 5
    (kind,) = kinds
    return exit_code(kind) if isinstance(kind, type) and issubclass(kind, RaptorError) else 5


def fail(name: str, message: str, code: int, *, as_json: bool, **more: Any) -> NoReturn:
    """Show an error, as a message or as JSON that also contains ``more``, and exit."""
    if as_json:
        say_json(json.dumps({"error": name, "message": message, **more}, ensure_ascii=False))
    else:
        say_text(f"error: {message}", fg="red", err=True, indent=" " * len("error: "))
    raise SystemExit(code)


def reported(function: Callable[..., Any]) -> Callable[..., Any]:
    """Make a command exit with the message and code of its error, and a remedy."""

    @functools.wraps(function)
    def wrapper(*args: Any, **kwargs: Any) -> Any:
        as_json = bool(kwargs.get("as_json"))
        try:
            return function(*args, **kwargs)
        except RaptorError as error:
            code = exit_code(type(error))
            fail(type(error).__name__, str(error), code, as_json=as_json)
        except BrokenPipeError:
            raise
        except OSError as error:
            message = f"{error}; {os_error_remedy(error)}, then repeat it. What was published stays"
            fail(type(error).__name__, message, 1, as_json=as_json)

    return wrapper
