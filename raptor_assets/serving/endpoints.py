"""Parts that all routes share: the web framework, which needs the extra ``http``, and responses.

Routes import the framework from here, so that a missing extra is always reported by name.
"""

from collections.abc import Callable
from functools import wraps
from typing import Any

from pydantic_core import to_json

from raptor_assets.serving.problems import Problem
from raptor_core.errors import MissingExtraError

try:
    from fastapi import APIRouter, Depends, FastAPI, Request
    from fastapi.exceptions import RequestValidationError
    from fastapi.middleware.trustedhost import TrustedHostMiddleware
    from fastapi.responses import HTMLResponse, JSONResponse, Response
    from fastapi.security import HTTPBearer
    from starlette.exceptions import HTTPException
    from starlette.types import ASGIApp, Message, Receive, Scope, Send
except ModuleNotFoundError as error:
    raise MissingExtraError("http", "serving over HTTP") from error

__all__ = [
    "PROBLEMS",
    "SCHEME",
    "APIRouter",
    "ASGIApp",
    "Depends",
    "FastAPI",
    "HTMLResponse",
    "HTTPException",
    "JSONResponse",
    "Message",
    "Receive",
    "Request",
    "RequestValidationError",
    "Response",
    "Scope",
    "Send",
    "TrustedHostMiddleware",
    "make_endpoint",
    "to_json_response",
]

SCHEME = HTTPBearer(auto_error=False, description="The key or token of the caller.")

PROBLEMS: dict[int | str, Any] = {
    status: {"model": Problem} for status in (400, 401, 403, 404, 413, 422, 503)
}
"""Errors that every route may return, for the API description."""


def make_endpoint(call: Callable[..., Any]) -> Callable[..., Response]:
    """Make an endpoint that builds its response in the thread of the call.

    FastAPI would wait for a second thread to build the response of a model.
    """

    @wraps(call)
    def respond(**values: Any) -> Response:
        return to_json_response(call(**values))

    return respond


def to_json_response(value: object) -> Response:
    """Return a value as JSON; bytes are already JSON."""
    content = value if isinstance(value, bytes) else to_json(value)
    return Response(content, media_type="application/json")
