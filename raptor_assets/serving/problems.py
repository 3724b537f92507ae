"""Errors as clients see them: the status, and a body in the format of the interface they called.

The handlers that send them are in ``http``.
"""

from __future__ import annotations

import logging
from typing import Any

from raptor_assets.serving.values import ApiModel
from raptor_core.errors import (
    AccessError,
    CurationError,
    EndpointError,
    MissingKeyError,
    RaptorError,
    SettingsError,
    StoreLockedError,
    UnknownTreeError,
)

REQUEST_ERRORS: tuple[tuple[type[RaptorError], int, str], ...] = (
    (UnknownTreeError, 404, "UnknownTreeError"),
    (AccessError, 403, "AccessError"),
    (CurationError, 422, "CurationError"),
    (StoreLockedError, 503, "StoreLockedError"),
    (SettingsError, 422, "InvalidRequestError"),
    (MissingKeyError, 501, "NoReaderError"),
    (EndpointError, 502, "ReaderError"),
)
"""HTTP status and name of each error that a request may cause. The text of any other error may name
what the caller may not read, so it only goes to the log; over HTTP its status is 500."""

OPENAI, DIFY = "/v1/", "/retrieval"
"""Prefix of the paths in OpenAI's format, and the path in Dify's."""


class Problem(ApiModel):
    """Name of an error, and a message that says what to do."""

    error: str
    message: str


def to_problem(error: Exception) -> tuple[int, Problem]:
    """Return status and problem for an error; hide the text unless the request caused it."""
    for kind, status, name in REQUEST_ERRORS:
        if isinstance(error, kind):
            return status, Problem(error=name, message=str(error))
    logging.getLogger(__name__).error("a request failed", exc_info=error)
    return 500, Problem(error="ServerError", message="the server failed; its log says why")


def to_problem_response(path: str, status: int, problem: Problem) -> tuple[int, dict[str, Any]]:
    """Return the status and the body of a problem in the format that a path's clients expect."""
    if path.startswith(OPENAI):
        return _to_openai_format(status, problem)
    if path == DIFY:
        codes = {401: 1002, 403: 1002, 404: 2001}
        return status, {"error_code": codes.get(status, status), "error_msg": problem.message}
    return status, problem.model_dump()


def _to_openai_format(status: int, problem: Problem) -> tuple[int, dict[str, Any]]:
    codes = {"WrongKeyError": "invalid_api_key", "UnknownTreeError": "model_not_found"}
    kind = "invalid_request_error" if status < 500 else "server_error"
    error = {"message": problem.message, "type": kind, "param": None}
    code = codes.get(problem.error, problem.error)
    return 400 if status == 422 else status, {"error": {**error, "code": code}}
