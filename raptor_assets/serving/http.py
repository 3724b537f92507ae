"""A small HTTP API that reads a home; the extra ``http``. Importing it imports the vendor."""

from __future__ import annotations

import json
import secrets
from collections.abc import Callable, Sequence
from http import HTTPStatus
from importlib.metadata import version
from typing import Annotated, Any

from pydantic import BaseModel, ConfigDict, Field

from raptor_assets.serving.answers import (
    Answer,
    Answered,
    Found,
    PublishedTrees,
    ReadNode,
    Traced,
)
from raptor_assets.serving.pages import POLICY, description_page
from raptor_assets.serving.reading import (
    Asked,
    Limit,
    Line,
    Name,
    NameContains,
    NodeId,
    Offset,
    Question,
    Reading,
)
from raptor_assets.standalone.curating import Author, Curator
from raptor_core.curation import Decision, Kind
from raptor_core.errors import (
    CurationError,
    EndpointError,
    MissingExtraError,
    MissingKeyError,
    RaptorError,
    SettingsError,
    StoreLockedError,
    UnknownTreeError,
)
from raptor_core.report.page import render_window

try:
    from fastapi import APIRouter, Depends, FastAPI, Request
    from fastapi.exceptions import RequestValidationError
    from fastapi.middleware.trustedhost import TrustedHostMiddleware
    from fastapi.responses import HTMLResponse, JSONResponse, Response
    from fastapi.security import HTTPAuthorizationCredentials, HTTPBearer
    from starlette.exceptions import HTTPException
    from starlette.types import ASGIApp, Message, Receive, Scope, Send
except ModuleNotFoundError as error:
    raise MissingExtraError("http", "serving over HTTP") from error

MAX_BODY_BYTES = 1 << 20
"""A question and a thousand names fit."""

_STATUS: tuple[tuple[type[RaptorError], int, str], ...] = (
    (UnknownTreeError, 404, "UnknownTreeError"),
    (CurationError, 422, "CurationError"),
    (StoreLockedError, 503, "StoreLockedError"),
    (SettingsError, 422, "InvalidRequestError"),
    (MissingKeyError, 501, "NoReaderError"),
    (EndpointError, 502, "ReaderError"),
)
"""Of the errors that a request may cause, and their names; any other is the server's own: 500, and
its words stay in the log."""

_SCHEME = HTTPBearer(auto_error=False, description="The key of the server's environment.")


class Problem(Answer):
    """What went wrong: the error's name, and a message that says what to do."""

    error: str
    message: str


_PROBLEMS: dict[int | str, Any] = {
    status: {"model": Problem} for status in (400, 401, 404, 413, 422, 503)
}


class Health(Answer):
    """That the server answers."""

    status: str
    version: str


def make_app(
    reading: Reading,
    key: str | None = None,
    hosts: Sequence[str] | None = None,
    *,
    curator: Curator | None = None,
    writing_key: str | None = None,
) -> FastAPI:
    """The application, as ASGI servers run it.

    Args:
        key: that each request must give as ``Authorization: Bearer KEY``; None asks for none.
        hosts: names by which it may be called; None is any. A server without a key must name its
            own, or a page in a browser beside it could read it by a name of its own making.
        curator: shows what people decided; None shows nothing of it.
        writing_key: that a request to decide must give, and that reads, too; None takes none.
    """
    app = FastAPI(
        title="RAPTOR",
        summary="Reads published trees of chunks and summaries.",
        version=version("raptor-assets"),
        docs_url=None,  # the vendor's pages load scripts from elsewhere
        redoc_url=None,
    )
    app.add_middleware(BodyLimit)
    if hosts is not None:
        app.add_middleware(TrustedHostMiddleware, allowed_hosts=list(hosts))
    for kind, status, name in _STATUS:
        app.add_exception_handler(kind, _problem(status, name))
    app.add_exception_handler(RequestValidationError, _invalid)
    app.add_exception_handler(HTTPException, _refused)
    app.get("/health")(health)
    app.include_router(_pages(app))
    reads = [] if key is None else [_guard(*filter(None, (key, writing_key)))]
    app.include_router(_router(reading), dependencies=reads)
    app.include_router(_window(reading), dependencies=reads)
    if curator is not None:
        writes = [_guard(writing_key)] if writing_key else []
        app.include_router(_decisions(curator, reads, writes))
    return app


async def health() -> Health:  # so it waits for no thread: searches may have them all
    """Say that the server answers; asks for no key and reads nothing."""
    return Health(status="ok", version=version("raptor-assets"))


def _pages(app: FastAPI) -> APIRouter:
    """Pages that ask for no key, and tell nothing of what is published."""
    router = APIRouter(include_in_schema=False, default_response_class=HTMLResponse)

    @router.get("/")
    def window() -> HTMLResponse:
        """Its own policy stands in the page; that no other page may frame it, only here."""
        framing = {"Content-Security-Policy": "frame-ancestors 'none'"}
        return HTMLResponse(render_window(), headers=framing)

    @router.get("/docs")
    def description() -> HTMLResponse:
        page = description_page(app.openapi())
        return HTMLResponse(page, headers={"Content-Security-Policy": POLICY})

    return router


def _router(reading: Reading) -> APIRouter:
    router = APIRouter(responses=_PROBLEMS)

    @router.post("/search")
    def search(asked: Asked) -> Found:
        """Find the chunks and summaries that answer a question, within a budget of tokens."""
        return reading.search(**dict(asked))

    @router.post("/ask", responses={status: {"model": Problem} for status in (501, 502)})
    def ask(asked: Asked) -> Answered:
        """Answer a question from what a search finds; [k] in it cites citation k."""
        return reading.ask(asked)

    @router.get("/nodes/{node_id}")
    def read_node(node_id: NodeId) -> ReadNode:
        """Read one node whole, with the summaries over it and what it summarizes."""
        return reading.read_node(node_id)

    @router.get("/nodes/{node_id}/spans")
    def spans(node_id: NodeId, offset: Offset = 0, limit: Limit = 50) -> Traced:
        """Give the exact spans of the documents that a chunk or a summary was made from."""
        return reading.trace(node_id, offset, limit)

    @router.get("/trees")
    def trees(
        name_contains: NameContains = "", offset: Offset = 0, limit: Limit = 50
    ) -> PublishedTrees:
        """List the published trees with their layers and documents, by name."""
        return reading.list_trees(name_contains, offset, limit)

    return router


def _window(reading: Reading) -> APIRouter:
    """What the first page shows; for that page alone, so no part of the description."""
    router = APIRouter(prefix="/window", include_in_schema=False)

    def told(values: object) -> Response:
        return Response(
            json.dumps(values, ensure_ascii=False).encode(errors="replace"),
            media_type="application/json",
        )

    @router.get("/corpus")
    def corpus() -> Response:
        return told(reading.corpus())

    @router.get("/report")
    def report(tree: Name) -> Response:
        return told(reading.report(tree))

    @router.get("/map")
    def map_of(tree: Name | None = None) -> Response:
        return told(reading.map(tree))

    @router.get("/find")
    def find(words: Question, limit: Limit = 40) -> Found:
        return reading.find(words, limit)

    return router


MAX_TEXT_CHARS = 100_000


class Decide(BaseModel):
    """A decision to make."""

    model_config = ConfigDict(extra="forbid")

    kind: Annotated[Kind, Field(description="What to do; see docs/curation.md.")]
    subject: Annotated[Name, Field(description="A node's id; of a document, the document's.")]
    value: Annotated[
        str,
        Field(
            max_length=MAX_TEXT_CHARS,
            description="A summary's whole new text; of a finding, right or wrong.",
        ),
    ] = ""
    sentence: Annotated[Line, Field(description="Of a finding: the sentence it is about.")] = ""
    who: Annotated[Line, Field(min_length=1, description="Who decides.")]
    why: Annotated[Line, Field(description="The reason, for those who read it later.")] = ""


class Decisions(Answer):
    """All decisions, oldest first. ``can_decide`` says whether this server takes new ones."""

    can_decide: bool
    decisions: list[Decision]


def _decisions(curator: Curator, reads: list[Any], writes: list[Any]) -> APIRouter:
    """The paths under /decisions; ``writes`` guards those that decide, empty takes none."""
    router = APIRouter(prefix="/decisions", responses=_PROBLEMS)

    @router.get("", dependencies=reads)
    def decisions() -> Decisions:
        """List what people decided: texts set aside, summaries corrected, findings marked."""
        return Decisions(can_decide=bool(writes), decisions=curator.decisions())

    if not writes:
        return router

    @router.post("", dependencies=writes)
    def decide(asked: Decide) -> Decision:
        """Decide something; the next build honours it, and nothing published changes before."""
        author = Author(asked.who, asked.why)
        match asked.kind:
            case "document":
                return curator.set_document_aside(asked.subject, author)
            case "chunk":
                return curator.set_chunk_aside(asked.subject, author)
            case "summary":
                return curator.correct(asked.subject, asked.value, author)
            case "pin":
                return curator.pin(asked.subject, author)
            case "finding":
                return curator.mark(asked.subject, asked.sentence, asked.value, author)

    @router.delete("/{decision_id}", dependencies=writes)
    def take_back(decision_id: Line, who: Line, why: Line = "") -> Decision:
        """Take a decision back, from the next build on."""
        return curator.take_back(decision_id, Author(who, why))

    return router


def _guard(*keys: str) -> Any:
    """What a request depends on that must give one of the keys."""

    def check(given: Annotated[HTTPAuthorizationCredentials | None, Depends(_SCHEME)]) -> None:
        sent = b"" if given is None else given.credentials.encode()
        if not sum(secrets.compare_digest(sent, key.encode()) for key in keys):  # of all, always
            told = "send the server's key as 'Authorization: Bearer KEY'"
            raise HTTPException(401, told, {"WWW-Authenticate": "Bearer"})

    return Depends(check)


def _problem(status: int, name: str) -> Callable[[Request, Exception], JSONResponse]:
    """Answers an error that says what to do."""
    headers = {"Retry-After": "1"} if status == 503 else {}
    return lambda _request, error: _answer(status, name, str(error), headers)


def _invalid(_request: Request, error: Exception) -> JSONResponse:
    """What of a request is wrong, and where; it is not repeated, for it may be no valid text."""
    faults = error.errors() if isinstance(error, RequestValidationError) else ()
    told = [f"{'.'.join(map(str, fault['loc']))}: {fault['msg']}" for fault in faults]
    return _answer(422, "InvalidRequestError", "; ".join(told), {})


def _refused(_request: Request, error: Exception) -> JSONResponse:
    """What the server itself refuses: a key, a path, a method, a body that is no JSON."""
    if not isinstance(error, HTTPException):
        raise error
    phrase = HTTPStatus(error.status_code).phrase.title().replace(" ", "")
    name = "WrongKey" if error.status_code == 401 else phrase
    return _answer(error.status_code, f"{name}Error", str(error.detail), dict(error.headers or {}))


def _answer(status: int, name: str, message: str, headers: dict[str, str]) -> JSONResponse:
    content = Problem(error=name, message=message).model_dump()
    return JSONResponse(content, status, headers)


class BodyLimit:
    """Answers 413 to a longer body, and reads no more of it. ASGI middleware."""

    def __init__(self, app: ASGIApp) -> None:
        self._app = app

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Serve one request; the whole body is in memory before the application begins."""
        if scope["type"] != "http":
            await self._app(scope, receive, send)
            return
        body = bytearray()
        more = True
        while more:
            message = await receive()
            if message["type"] != "http.request":
                return  # the client has gone
            body += message.get("body", b"")
            more = message.get("more_body", False)
            if len(body) > MAX_BODY_BYTES:
                told = f"a request holds at most {MAX_BODY_BYTES:,} bytes"
                refusal = _answer(413, "TooLargeError", told, {"connection": "close"})
                await refusal(scope, receive, send)
                return
        whole = [{"type": "http.request", "body": bytes(body), "more_body": False}]

        async def replay() -> Message:
            return whole.pop() if whole else await receive()

        await self._app(scope, replay, send)
