"""A server of the Model Context Protocol: reading a home, as tools of a language model."""

from __future__ import annotations

from collections.abc import Callable
from functools import wraps
from importlib.metadata import version
from typing import TYPE_CHECKING, Any

from raptor_assets.serving.reading import Reading
from raptor_core.errors import MissingExtraError, RaptorError
from raptor_core.home import HomeRetriever

if TYPE_CHECKING:
    from mcp.server import MCPServer

INSTRUCTIONS = """\
A library of documents as trees: layer 0 holds chunks of the documents, the layers above hold
summaries of ever more of them. Use `search` for what answers a question: chunks for details,
summaries for overviews. `read_node` goes up to broader summaries or down to what a summary was
made from, `trace` gives the exact characters of the documents under a node, to quote and to cite.
`list_trees` says what there is.
"""


def make_server(retriever: HomeRetriever) -> MCPServer:
    """A server over a home; ``run()`` serves standard input and output.

    While it serves, what anything else prints goes to standard error.

    Raises:
        MissingExtraError: the SDK is not installed.
    """
    try:
        from mcp.server import MCPServer
        from mcp.server.mcpserver.tools import Tool
        from mcp_types import ToolAnnotations
    except ModuleNotFoundError as error:
        raise MissingExtraError("mcp", "serving the Model Context Protocol") from error

    reading = Reading(retriever)
    reads = ToolAnnotations(read_only_hint=True, idempotent_hint=True, open_world_hint=False)
    tools = []
    for way in (reading.search, reading.read_node, reading.trace, reading.list_trees):
        tool = Tool.from_function(told(way), annotations=reads, structured_output=True)
        # A misspelt filter would be passed over, and all trees searched.
        model = tool.fn_metadata.arg_model
        model.model_config["extra"] = "forbid"
        model.model_rebuild(force=True)
        tool.parameters = model.model_json_schema(by_alias=True)
        tools.append(tool)
    name, own = "raptor", version("raptor-assets")
    return MCPServer(name, instructions=INSTRUCTIONS, version=own, tools=tools, log_level="WARNING")


def told(way: Callable[..., Any]) -> Callable[..., Any]:
    """Errors that say what to do reach the client; of any other the protocol hides the text."""
    from mcp.server.mcpserver.exceptions import ToolError

    @wraps(way)
    def tool(*args: Any, **kwargs: Any) -> Any:
        try:
            return way(*args, **kwargs)
        except RaptorError as error:
            raise ToolError(f"{type(error).__name__}: {error}") from error

    return tool
