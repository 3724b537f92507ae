"""HTTP API of a home: routes, keys, and the page that shows the trees.

It needs the extra ``http``, which ``endpoints`` imports. Functions that read a home are in
``answers``, values of the pages in ``window``, decisions in ``decisions``. ``chat`` and ``dify``
implement the protocols of other programs.
"""

import json
from collections.abc import AsyncGenerator, Callable, Sequence
from contextlib import aclosing
from functools import partial
from http import HTTPStatus
from importlib.metadata import version
from typing import Annotated, Any, Literal

from anyio import to_thread
from pydantic import BaseModel, ConfigDict, Field

from raptor_assets.local.curate import Curator
from raptor_assets.serving.answers import HomeService
from raptor_assets.serving.chat import PREFIX, chat_router
from raptor_assets.serving.decisions import decisions_router
from raptor_assets.serving.dify import dify_router
from raptor_assets.serving.endpoints import (
    PROBLEMS,
    SCHEME,
    APIRouter,
    ASGIApp,
    Depends,
    FastAPI,
    HTMLResponse,
    HTTPException,
    JSONResponse,
    Message,
    Receive,
    Request,
    RequestValidationError,
    Response,
    Scope,
    Send,
    TrustedHostMiddleware,
    make_endpoint,
    to_json_response,
)
from raptor_assets.serving.identity import Callers, current_readers, set_caller
from raptor_assets.serving.parameters import (
    AskParameters,
    Limit,
    Line,
    Name,
    NodeId,
    Question,
    SubtreeSearchParameters,
    WithinParameters,
)
from raptor_assets.serving.problems import (
    REQUEST_ERRORS,
    Problem,
    to_problem,
    to_problem_response,
)
from raptor_assets.serving.streams import (
    AnswerThreads,
    ClientLeftError,
    EventStream,
    Work,
    cancel_on_disconnect,
    encode_event,
)
from raptor_assets.serving.values import ApiModel, AskResponse, SearchResponse
from raptor_assets.serving.window import (
    call_on_corpus_of,
    map_values,
    published_tree_values,
    read_report,
)
from raptor_core.errors import AccessError, RaptorError, SettingsError
from raptor_core.home import HomeRetriever
from raptor_core.models.reading.reader import Answer
from raptor_core.report.data import report_values
from raptor_core.report.page import render_server_page
from raptor_core.retrieval import Retrieval
from raptor_core.tree.custom_components import require_reader

MAX_BODY_BYTES = 1 << 20  # limit of a request's body; fits a question and a thousand names


class Health(ApiModel):
    """State and version of the server."""

    status: str
    version: str


class Vote(BaseModel):
    """Vote of the caller who asked on an answer; a later vote replaces it."""

    model_config = ConfigDict(extra="forbid")

    id: Annotated[Line, Field(description="Id of a search's result or of an answer.")]
    vote: Literal["up", "down"]


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
        callers: identifies the caller from the header ``Authorization: Bearer KEY`` of a request.
        hosts: host names to which it responds; None for any. A server without a key must restrict
            them, or any web page could read it through a host name that resolves to this machine.
        curator: records and lists the decisions; None for an API without them.
    """
    app = FastAPI(
        docs_url=None,  # the page would load scripts from other hosts
        redoc_url=None,
        title="RAPTOR",
        summary="Reads published trees of chunks and summaries.",
        version=version("raptor-assets"),
    )
    app.add_middleware(BodyLimitAndHeadMiddleware)
    if hosts is not None:
        app.add_middleware(TrustedHostMiddleware, allowed_hosts=list(hosts))
    for kind, *_ in REQUEST_ERRORS:
        app.add_exception_handler(kind, _respond_to_failure)
    app.add_exception_handler(ClientLeftError, lambda _request, _error: Response(status_code=499))
    app.add_exception_handler(RequestValidationError, _respond_to_invalid_request)
    app.add_exception_handler(HTTPException, _respond_to_rejection)
    app.get("/health")(health)
    app.include_router(_page_router())
    described = [] if callers.is_open else [Depends(SCHEME)]
    reads = [*described, _make_identifying_dependency(callers), Depends(_refuse_malformed_request)]
    reader, threads = (
        HomeService(retriever),
        AnswerThreads[Answer](retriever.settings.reader.max_concurrent_calls),
    )
    routers = [
        _reader_router(reader),
        _ask_router(reader, threads),
        _page_data_router(retriever, reader),
    ]
    routers += [chat_router(reader, threads), dify_router(reader)]
    if retriever.settings.serving.questions:
        routers.append(_vote_router(reader))
    if curator is not None:
        routers.append(decisions_router(curator, can_decide=callers.can_decide))
    for router in routers:
        app.include_router(router, dependencies=reads)
    return app


async def health() -> Health:  # async, so that it needs no thread: searches may use all
    """Report that the server responds; needs no key."""
    return Health(status="ok", version=version("raptor-assets"))


def _page_router() -> APIRouter:
    """Make the routes of the pages, which need no key and contain no published text."""
    router = APIRouter(include_in_schema=False, default_response_class=HTMLResponse)

    @router.get("/")
    async def window() -> HTMLResponse:
        # The page contains the rest of its policy; only a header can forbid framing.
        framing = {"Content-Security-Policy": "frame-ancestors 'none'"}
        return HTMLResponse(render_server_page(), headers=framing)

    return router


def _reader_router(reader: HomeService) -> APIRouter:
    router = APIRouter(responses=PROBLEMS)

    def search_within(node_id: NodeId, parameters: WithinParameters) -> SearchResponse:
        """Find what answers a question in a node and the nodes under it."""
        return reader.search_within(SubtreeSearchParameters(node_id=node_id, **dict(parameters)))

    for path, call in (
        ("/search", reader.search),
        ("/nodes/{node_id}/search", search_within),
    ):
        router.post(path)(make_endpoint(call))
    for path, read in (
        ("/outline", reader.outline),
        ("/nodes/{node_id}", reader.read_node),
        ("/nodes/{node_id}/children", reader.browse),
        ("/nodes/{node_id}/spans", reader.trace),
        ("/trees", reader.list_trees),
    ):
        router.get(path)(make_endpoint(read))
    return router


def _ask_router(reader: HomeService, threads: AnswerThreads[Answer]) -> APIRouter:
    failures: dict[int | str, Any] = {status: {"model": Problem} for status in (501, 502)}
    streamed: dict[int | str, Any] = {200: {"content": {"text/event-stream": {}}}}
    router = APIRouter(responses=PROBLEMS | failures | streamed)

    @router.post("/ask", response_model=AskResponse)
    async def ask(request: Request, parameters: AskParameters) -> Response:
        """Answer a question from the hits of a search; [k] in it cites citation k."""
        query = parameters.to_query(reader.settings)
        retrieval = await to_thread.run_sync(reader.search_for_answer, parameters.question, query)
        work = partial(reader.answer_from, retrieval, parameters.stream)
        if parameters.stream:
            return EventStream(events(work, retrieval))
        answer = await cancel_on_disconnect(request, threads.run(work))
        return to_json_response(AskResponse.of(answer, retrieval, reader.link_of))

    async def events(work: Work[Answer], retrieval: Retrieval) -> AsyncGenerator[bytes, None]:
        try:
            async with aclosing(threads.stream(work)) as items:
                async for item in items:
                    if isinstance(item, str):
                        yield encode_event({"text": item}, "text")
                    else:
                        yield encode_event(
                            AskResponse.of(item, retrieval, reader.link_of), "answer"
                        )
        except Exception as error:  # noqa: BLE001  # the status was already sent
            yield encode_event(to_problem(error)[1], "error")

    return router


def _vote_router(reader: HomeService) -> APIRouter:
    router = APIRouter(responses=PROBLEMS)

    def vote(vote: Vote) -> Vote:
        """Say whether an answer was good. Only the caller who asked may vote on it."""
        reader.record_vote(vote.id.removeprefix(PREFIX), 1 if vote.vote == "up" else -1)
        return vote

    router.post("/vote")(make_endpoint(vote))
    return router


def _page_data_router(retriever: HomeRetriever, reader: HomeService) -> APIRouter:
    """Make the routes that the page of the server calls; the API description omits them."""
    router = APIRouter(prefix="/window", include_in_schema=False)

    def read(tree: str | None, call: Callable[..., Any]) -> Any:
        return call_on_corpus_of(retriever.for_readers(current_readers()), tree, call)

    def corpus() -> bytes:
        values = read(None, published_tree_values)
        try:
            require_reader(retriever.settings)
        except RaptorError as error:
            return _encode_json({**values, "no_reader": str(error)})
        return _encode_json({**values, "no_reader": ""})

    def report(tree: Name) -> bytes:
        report = read(tree, partial(read_report, tree=tree, with_map=False))
        return _encode_json(report_values(report))

    def map_of(tree: Name | None = None) -> bytes:
        return _encode_json(read(tree, partial(map_values, tree=tree)))

    def find(words: Question, limit: Limit = 40) -> SearchResponse:
        return reader.find_by_words(words, limit)

    for path, call in (
        ("/corpus", corpus),
        ("/report", report),
        ("/map", map_of),
        ("/find", find),
    ):
        router.get(path, response_model=None)(make_endpoint(call))
    return router


def _encode_json(values: object) -> bytes:
    return json.dumps(values, ensure_ascii=False).encode(errors="replace")


async def _refuse_malformed_request(request: Request) -> None:
    """Reject a query parameter that the route does not have, and a body that is not JSON.

    The parameter could be a misspelt filter. Pages of other sites may send other bodies unasked.
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


def _make_identifying_dependency(callers: Callers) -> Any:
    """Return the dependency that identifies the caller of a request, or rejects the request."""

    async def identify(request: Request) -> None:
        try:
            await set_caller(callers, request.headers.get("authorization", ""))
        except AccessError as error:
            raise HTTPException(401, str(error), {"WWW-Authenticate": "Bearer"}) from error

    return Depends(identify)


def _respond_to_failure(request: Request, error: Exception) -> JSONResponse:
    status, problem = to_problem(error)
    return _problem_response(
        request, status, problem, {"Retry-After": "1"} if status == 503 else {}
    )


def _respond_to_invalid_request(request: Request, error: Exception) -> JSONResponse:
    """Name the invalid fields of a request, without their values, which may not be valid text."""
    faults = error.errors() if isinstance(error, RequestValidationError) else ()
    messages = [f"{'.'.join(map(str, fault['loc']))}: {fault['msg']}" for fault in faults]
    problem = Problem(error="InvalidRequestError", message="; ".join(messages))
    return _problem_response(request, 422, problem, {})


def _respond_to_rejection(request: Request, error: Exception) -> JSONResponse:
    """Answer a request with a rejected key, path, method, or body that is not JSON."""
    if not isinstance(error, HTTPException):
        raise error
    phrase = HTTPStatus(error.status_code).phrase.title().replace(" ", "")
    names = {401: "WrongKey", 413: "TooLarge"}
    name = names.get(error.status_code, phrase)
    problem = Problem(error=f"{name}Error", message=str(error.detail))
    return _problem_response(request, error.status_code, problem, dict(error.headers or {}))


def _problem_response(
    request: Request, status: int, problem: Problem, headers: dict[str, str]
) -> JSONResponse:
    shown_status, content = to_problem_response(request.scope["path"], status, problem)
    return JSONResponse(content, shown_status, headers)


class BodyLimitAndHeadMiddleware:
    """ASGI middleware that answers 413 if a body is too long, and HEAD like GET without a body.

    It stops reading a body that is too long.
    """

    def __init__(self, app: ASGIApp) -> None:
        self._app = app

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Serve the request and count its body while it is read."""
        n_bytes = 0

        async def bounded() -> Message:
            nonlocal n_bytes
            message = await receive()
            n_bytes += len(message.get("body", b""))
            if n_bytes > MAX_BODY_BYTES:
                text = f"a request may have at most {MAX_BODY_BYTES:,} bytes"
                raise HTTPException(413, text, {"connection": "close"})
            return message

        if scope.get("method") == "HEAD":
            scope = {**scope, "method": "GET"}
        await self._app(scope, bounded, send)
