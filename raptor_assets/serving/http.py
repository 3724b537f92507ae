"""HTTP API of a home: routes, keys, decisions, and the page on the trees.

It needs the extra ``http``, which is imported here. Calls that read a home are in ``answers``,
values of the pages in ``window``.
"""

import json
from collections.abc import Callable, Sequence
from functools import partial, wraps
from http import HTTPStatus
from importlib.metadata import version
from typing import Annotated, Any

from pydantic import BaseModel, ConfigDict, Field
from pydantic_core import to_json

from raptor_assets.local.curate import Author, Curator
from raptor_assets.serving.answers import REQUEST_ERRORS, ApiModel, HomeReader, SearchResponse
from raptor_assets.serving.identity import CALLER, Callers, current_readers, set_caller
from raptor_assets.serving.parameters import (
    Limit,
    Line,
    Name,
    NodeId,
    NodeSearchParameters,
    Question,
    WithinParameters,
)
from raptor_assets.serving.window import corpus_values, map_values, read_pages, read_report
from raptor_core.curation import Decision, Kind
from raptor_core.errors import (
    AccessError,
    CurationError,
    MissingExtraError,
    RaptorError,
    SettingsError,
)
from raptor_core.home import HomeRetriever
from raptor_core.report.data import report_values
from raptor_core.report.page import render_window
from raptor_core.tree.custom_components import require_reader

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

MAX_BODY_BYTES = 1 << 20  # bound of a request's body; a question and a thousand names fit
_SCHEME = HTTPBearer(auto_error=False, description="The key or token of the caller.")


class Problem(ApiModel):
    """Name of an error, and a message that says what to do."""

    error: str
    message: str


_PROBLEMS: dict[int | str, Any] = {
    status: {"model": Problem} for status in (400, 401, 403, 404, 413, 422, 503)
}


class Health(ApiModel):
    """State and version of the server."""

    status: str
    version: str


def make_app(
    retriever: HomeRetriever,
    callers: Callers,
    hosts: Sequence[str] | None = None,
    *,
    curator: Curator | None = None,
) -> FastAPI:
    """Make the application that ASGI servers run.

    Args:
        retriever: retriever of the home to serve.
        callers: source of who asks, by what a request sends as ``Authorization: Bearer KEY``.
        hosts: host names that it answers to; None for any. A server without a key must restrict
            them, or any web page could read it by a host name that resolves to this machine.
        curator: source of the decisions; None for an API without them.
    """
    app = FastAPI(
        docs_url=None,  # the page would load scripts from other hosts
        redoc_url=None,
        title="RAPTOR",
        summary="Reads published trees of chunks and summaries.",
        version=version("raptor-assets"),
    )
    app.add_middleware(BodyLimit)
    if hosts is not None:
        app.add_middleware(TrustedHostMiddleware, allowed_hosts=list(hosts))
    for kind, status, name in REQUEST_ERRORS:
        app.add_exception_handler(kind, _problem(status, name))
    app.add_exception_handler(RequestValidationError, _invalid)
    app.add_exception_handler(HTTPException, _refused)
    app.get("/health")(health)
    app.include_router(_pages())
    described = [] if callers.is_open else [Depends(_SCHEME)]
    reads = [*described, _identified(callers), Depends(_refuse_unknown)]
    reader = HomeReader(retriever)
    app.include_router(_router(reader), dependencies=reads)
    app.include_router(_window(retriever, reader), dependencies=reads)
    if curator is not None:
        app.include_router(_decisions(curator, can_decide=callers.can_decide), dependencies=reads)
    return app


async def health() -> Health:  # async, so that it needs no thread: searches may use all
    """Say that the server answers, without a key."""
    return Health(status="ok", version=version("raptor-assets"))


def _pages() -> APIRouter:
    """Make the routes of the pages, which need no key and hold no published text."""
    router = APIRouter(include_in_schema=False, default_response_class=HTMLResponse)

    @router.get("/")
    async def window() -> HTMLResponse:
        # The page itself holds the rest of its policy; framing can be forbidden by a header alone.
        framing = {"Content-Security-Policy": "frame-ancestors 'none'"}
        return HTMLResponse(render_window(), headers=framing)

    return router


def _endpoint(call: Callable[..., Any]) -> Callable[..., Response]:
    """Return an endpoint that makes the response in the thread of its call.

    FastAPI would wait for a second thread to make the response of a model.
    """

    @wraps(call)
    def endpoint(**values: Any) -> Response:
        value = call(**values)
        content = value if isinstance(value, bytes) else to_json(value)
        return Response(content, media_type="application/json")

    return endpoint


def _router(reader: HomeReader) -> APIRouter:
    router = APIRouter(responses=_PROBLEMS)

    def search_within(node_id: NodeId, parameters: WithinParameters) -> SearchResponse:
        """Find what answers a question in a node and the nodes under it."""
        return reader.search_within(NodeSearchParameters(node_id=node_id, **dict(parameters)))

    failures: dict[int | str, Any] = {status: {"model": Problem} for status in (501, 502)}
    for path, call in (
        ("/search", reader.search),
        ("/nodes/{node_id}/search", search_within),
    ):
        router.post(path)(_endpoint(call))
    router.post("/ask", responses=failures)(_endpoint(reader.ask))
    for path, read in (
        ("/outline", reader.outline),
        ("/nodes/{node_id}", reader.read_node),
        ("/nodes/{node_id}/children", reader.browse),
        ("/nodes/{node_id}/spans", reader.trace),
        ("/trees", reader.list_trees),
    ):
        router.get(path)(_endpoint(read))
    return router


def _window(retriever: HomeRetriever, reader: HomeReader) -> APIRouter:
    """Make the routes that the first page calls, which are no part of the description."""
    router = APIRouter(prefix="/window", include_in_schema=False)

    def read(tree: str | None, call: Callable[..., Any]) -> Any:
        return read_pages(retriever.for_readers(current_readers()), tree, call)

    def corpus(partition: Name | None = None) -> bytes:
        values = read(None, partial(corpus_values, partition=partition))
        try:
            require_reader(retriever.settings)
        except RaptorError as error:
            return _encode({**values, "no_reader": str(error)})
        return _encode({**values, "no_reader": ""})

    def report(tree: Name) -> bytes:
        report = read(tree, partial(read_report, tree=tree, with_map=False))
        return _encode(report_values(report))

    def map_of(tree: Name | None = None) -> bytes:
        return _encode(read(tree, partial(map_values, tree=tree)))

    def find(words: Question, limit: Limit = 40) -> SearchResponse:
        return reader.find(words, limit)

    for path, call in (
        ("/corpus", corpus),
        ("/report", report),
        ("/map", map_of),
        ("/find", find),
    ):
        router.get(path, response_model=None)(_endpoint(call))
    return router


def _encode(values: object) -> bytes:
    return json.dumps(values, ensure_ascii=False).encode(errors="replace")


MAX_TEXT_CHARS = 100_000
_VALUE = "The full new text of a summary; for a finding, right or wrong."


class Decide(BaseModel):
    """Decision to record, under the name of the caller's key or token."""

    model_config = ConfigDict(extra="forbid")

    kind: Annotated[Kind, Field(description="What to do; see docs/curation.md.")]
    subject: Annotated[Name, Field(description="Id of a node or a document.")]
    value: Annotated[str, Field(max_length=MAX_TEXT_CHARS, description=_VALUE)] = ""
    sentence: Annotated[Line, Field(description="The sentence that a finding is about.")] = ""
    why: Annotated[Line, Field(description="The reason, for later readers.")] = ""


class Decisions(ApiModel):
    """Decisions, oldest first; ``can_decide`` is true if the server records new ones.

    Where callers have readers of their own, it says whether this one may decide.
    """

    can_decide: bool
    decisions: list[Decision]


def _decisions(curator: Curator, *, can_decide: bool) -> APIRouter:
    """Make the routes under /decisions; unless one can decide, there is only the list."""
    router = APIRouter(prefix="/decisions", responses=_PROBLEMS)

    def of_caller() -> Curator:
        return curator.for_readers(current_readers())

    def decisions() -> Decisions:
        """List the decisions: texts set aside, summaries corrected, findings marked."""
        caller = CALLER.get()
        decides = caller is not None and (caller.decides or (can_decide and not caller.readers))
        return Decisions(can_decide=decides, decisions=of_caller().decisions())

    router.get("")(_endpoint(decisions))
    if not can_decide:
        return router

    def decide(decision: Decide) -> Decision:
        """Record a decision, which takes effect with the next build."""
        subject, author = decision.subject, _author(decision.why)
        match decision.kind:
            case "document":
                return of_caller().set_document_aside(subject, author)
            case "chunk":
                return of_caller().set_chunk_aside(subject, author)
            case "summary":
                return of_caller().correct(subject, decision.value, author)
            case "finding":
                return of_caller().mark(subject, decision.sentence, decision.value, author)

    def take_back(decision_id: Line, why: Line = "") -> Decision:
        """Undo a decision, from the next build on."""
        return of_caller().take_back(decision_id, _author(why))

    writes = [Depends(_SCHEME), Depends(_require_decider)]
    router.post("", dependencies=writes)(_endpoint(decide))
    router.delete("/{decision_id}", dependencies=writes)(_endpoint(take_back))
    return router


def _author(why: str) -> Author:
    """Return the caller of this request as the author of a decision."""
    caller = CALLER.get()
    if caller is None or not caller.name:
        raise CurationError("a decision needs a name, and the caller's token has no subject (sub)")
    return Author(caller.name, why)


async def _refuse_unknown(request: Request) -> None:
    """Refuse a query parameter that the route does not take, and a body that is not JSON.

    The parameter could be meant as a filter. Pages of other sites may send other bodies unasked.
    """
    kind = request.headers.get("content-type", "").partition(";")[0].strip().lower()
    if request.method == "POST" and kind != "application/json":
        raise HTTPException(415, f"expected the type application/json, got {kind[:80]!r}")
    known = {parameter.alias for parameter in request.scope["route"].dependant.query_params}
    if unknown := sorted(set(request.query_params) - known):
        raise SettingsError(
            f"expected parameters among {', '.join(sorted(known)) or 'none'}, got "
            f"{', '.join(unknown)}",
        )


def _identified(callers: Callers) -> Any:
    """Return the dependency that sets the caller of a request, or refuses it."""

    async def identify(request: Request) -> None:
        try:
            await set_caller(callers, request.headers.get("authorization", ""))
        except AccessError as error:
            raise HTTPException(401, str(error), {"WWW-Authenticate": "Bearer"}) from error

    return Depends(identify)


async def _require_decider() -> None:
    caller = CALLER.get()
    if caller is None or not caller.decides:
        # Where keys are the server's own, the page then asks for the one that decides.
        status = 403 if caller is not None and caller.readers else 401
        message = "this key reads only; decisions need one that may decide"
        raise HTTPException(status, message, {"WWW-Authenticate": "Bearer"})


def _problem(status: int, name: str) -> Callable[[Request, Exception], JSONResponse]:
    headers = {"Retry-After": "1"} if status == 503 else {}
    return lambda _request, error: _answer(status, name, str(error), headers)


def _invalid(_request: Request, error: Exception) -> JSONResponse:
    """Name the invalid fields of a request, without their values: they may be no valid text."""
    faults = error.errors() if isinstance(error, RequestValidationError) else ()
    messages = [f"{'.'.join(map(str, fault['loc']))}: {fault['msg']}" for fault in faults]
    return _answer(422, "InvalidRequestError", "; ".join(messages), {})


def _refused(_request: Request, error: Exception) -> JSONResponse:
    """Answer where the server refuses a key, a path, a method, or a body that is no JSON."""
    if not isinstance(error, HTTPException):
        raise error
    phrase = HTTPStatus(error.status_code).phrase.title().replace(" ", "")
    names = {401: "WrongKey", 413: "TooLarge"}
    name = names.get(error.status_code, phrase)
    return _answer(error.status_code, f"{name}Error", str(error.detail), dict(error.headers or {}))


def _answer(status: int, name: str, message: str, headers: dict[str, str]) -> JSONResponse:
    content = Problem(error=name, message=message).model_dump()
    return JSONResponse(content, status, headers)


class BodyLimit:
    """ASGI middleware that answers 413 to a longer body, and HEAD as GET; a server sends no body.

    It stops reading a body that is too long.
    """

    def __init__(self, app: ASGIApp) -> None:
        self._app = app

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Serve the request with a body that is counted while it is read."""
        n_bytes = 0

        async def bounded() -> Message:
            nonlocal n_bytes
            message = await receive()
            n_bytes += len(message.get("body", b""))
            if n_bytes > MAX_BODY_BYTES:
                text = f"a request holds at most {MAX_BODY_BYTES:,} bytes"
                raise HTTPException(413, text, {"connection": "close"})
            return message

        if scope.get("method") == "HEAD":
            scope = {**scope, "method": "GET"}
        await self._app(scope, bounded, send)
