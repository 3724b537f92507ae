"""Server of the Model Context Protocol; its tools are the functions of ``answers``."""

import logging
from collections.abc import Callable
from functools import wraps
from http import HTTPStatus
from importlib import import_module
from importlib.metadata import version
from inspect import Parameter, Signature
from typing import Annotated, Any, get_type_hints

from pydantic import BaseModel

from raptor_assets.serving.answers import HomeService
from raptor_assets.serving.identity import Callers, current_readers, set_caller
from raptor_assets.serving.parameters import SearchParameters, SubtreeSearchParameters
from raptor_assets.serving.problems import REQUEST_ERRORS
from raptor_core.errors import AccessError, MissingExtraError, RaptorError
from raptor_core.home import HomeRetriever

INSTRUCTIONS = """\
A library of documents as trees: layer 0 holds chunks of the documents, the layers above hold
summaries of ever more of them. A text with `is_summary` is no quotation, and may be wrong: quote
what `trace` gives. Use `search` to answer a question: chunks give details, summaries
give overviews. `read_node` goes up to broader summaries or down to the nodes of a summary, `trace`
gives the exact characters of the documents under a node, to quote and to cite. `list_trees` lists
all trees. To look around first, at few tokens: `outline` lists the names in a tree, `browse` the
children of a node, and `search_within` searches under a node.
"""


def make_server(retriever: HomeRetriever) -> Any:
    """Make a server for a home; ``run()`` serves standard input and output."""
    try:
        import mcp.server
    except ModuleNotFoundError as missing:
        raise MissingExtraError("mcp", "serving the Model Context Protocol") from missing

    reader = HomeService(retriever)
    values: dict[str, Any] = {"instructions": INSTRUCTIONS, "log_level": "WARNING"}
    name, package = "MCPServer", "mcp.server.mcpserver"
    if hasattr(mcp.server, name):
        values["version"] = version("raptor-assets")
    else:
        name, package = "FastMCP", "mcp.server.fastmcp"  # names of mcp 1
    tool = import_module(f"{package}.tools").Tool
    error = import_module(f"{package}.exceptions").ToolError
    searches: dict[Callable[..., Any], type[BaseModel]] = {
        reader.search: SearchParameters,
        reader.search_within: SubtreeSearchParameters,
    }
    looks = (reader.outline, reader.browse, reader.read_node, reader.trace, reader.list_trees)
    calls: list[Callable[..., Any]] = [_flatten_parameters(*pair) for pair in searches.items()]
    calls += looks
    tools = [_make_tool(tool, _report_errors_to_client(call, retriever, error)) for call in calls]
    return getattr(mcp.server, name)("raptor", tools=tools, **values)


def make_http_app(retriever: HomeRetriever, callers: Callers) -> Any:
    """Make the application that serves the protocol over HTTP at the path /mcp.

    The key or token in the header ``Authorization: Bearer KEY`` identifies the caller of each
    request; an invalid one gets 401. There are no sessions, because another caller could continue
    them. A server without keys responds only to host names of this machine, because otherwise a
    page of another site could reach it through a name that resolves to this machine.
    """
    server = make_server(retriever)
    if hasattr(server, "settings") and hasattr(server.settings, "stateless_http"):  # mcp 1
        server.settings.stateless_http = True
        if not callers.is_open:
            server.settings.transport_security = None
        app = server.streamable_http_app()
    else:
        host = "127.0.0.1" if callers.is_open else ""
        app = server.streamable_http_app(stateless_http=True, host=host)
    return IdentifyingMiddleware(app, callers, retriever.settings.access.jwt_issuer)


WELL_KNOWN = "/.well-known/oauth-protected-resource"
PATH = "/mcp"


class IdentifyingMiddleware:
    """ASGI middleware that identifies the caller of each request, or rejects the request.

    If callers send tokens, it tells clients which service issues them (RFC 9728).
    """

    def __init__(self, app: Any, callers: Callers, issuer: str) -> None:
        self._app, self._callers = app, callers
        self._issuer = issuer if issuer.startswith("https://") else ""

    async def __call__(self, scope: Any, receive: Any, send: Any) -> None:
        """Serve a request on behalf of its caller."""
        from starlette.requests import HTTPConnection
        from starlette.responses import JSONResponse

        if scope["type"] != "http":
            await self._app(scope, receive, send)
            return
        request = HTTPConnection(scope)
        origin = f"{request.url.scheme}://{request.url.netloc}"
        if self._issuer and scope["path"] in (WELL_KNOWN, f"{WELL_KNOWN}{PATH}"):
            values = {
                "resource": f"{origin}{PATH}",
                "authorization_servers": [self._issuer],
                "bearer_methods_supported": ["header"],
                "resource_name": "RAPTOR",
            }
            await JSONResponse(values)(scope, receive, send)
            return
        try:
            await set_caller(self._callers, request.headers.get("authorization", ""))
        except AccessError as error:
            place = f' resource_metadata="{origin}{WELL_KNOWN}{PATH}"' if self._issuer else ""
            headers = {"WWW-Authenticate": f"Bearer{place}"}
            refusal = JSONResponse({"error": str(error)}, HTTPStatus.UNAUTHORIZED, headers)
            await refusal(scope, receive, send)
            return
        await self._app(scope, receive, send)


def _flatten_parameters(call: Callable[..., Any], model: type[BaseModel]) -> Callable[..., Any]:
    """Wrap a function so that it takes the fields of a model as parameters of its own."""

    @wraps(call)
    def flat(**values: Any) -> Any:
        return call(model(**values))

    parameters = [
        Parameter(
            name,
            Parameter.KEYWORD_ONLY,
            default=Parameter.empty if field.is_required() else field.default,
            annotation=Annotated[field.annotation, field],
        )
        for name, field in model.model_fields.items()
    ]
    signature = Signature(parameters, return_annotation=get_type_hints(call)["return"])
    flat.__signature__ = signature  # type: ignore[attr-defined]  # read by inspect
    flat.__annotations__ = {}
    return flat


def _make_tool(tool_class: Any, call: Callable[..., Any]) -> Any:
    """Make a read-only tool that rejects unknown parameters."""
    from mcp.types import ToolAnnotations

    hints = {"readOnlyHint": True, "idempotentHint": True, "openWorldHint": False}
    annotations = ToolAnnotations.model_validate(hints)
    tool = tool_class.from_function(call, annotations=annotations, structured_output=True)
    # Otherwise a misspelt filter would be ignored, and all trees searched.
    model = tool.fn_metadata.arg_model
    model.model_config["extra"] = "forbid"
    model.model_rebuild(force=True)
    tool.parameters = model.model_json_schema(by_alias=True)
    return tool


def _report_errors_to_client(
    call: Callable[..., Any], retriever: HomeRetriever, error_class: type[Exception]
) -> Callable[..., Any]:
    """Send the message of a RaptorError to the client; the protocol hides other messages.

    A caller with readers, by key or by ``--as``, only gets messages of ``REQUEST_ERRORS``.
    """
    shown = tuple(kind for kind, *_ in REQUEST_ERRORS)

    @wraps(call)
    def tool(*args: Any, **kwargs: Any) -> Any:
        try:
            return call(*args, **kwargs)
        except RaptorError as error:
            readers = retriever.for_readers(current_readers()).readers
            if readers is not None and not isinstance(error, shown):
                logging.getLogger(__name__).exception("a tool failed")
                raise error_class("the server failed; its log says why") from error
            raise error_class(f"{type(error).__name__}: {error}") from error

    return tool
