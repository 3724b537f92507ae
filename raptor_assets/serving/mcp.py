"""Server of the Model Context Protocol, whose tools are the calls of ``reading``."""

from __future__ import annotations

from collections.abc import Callable
from functools import wraps
from importlib.metadata import version
from typing import TYPE_CHECKING, Any

from raptor_assets.serving.reading import HomeReader
from raptor_core.errors import MissingExtraError, RaptorError
from raptor_core.home import HomeRetriever

if TYPE_CHECKING:
    from mcp.server import MCPServer

INSTRUCTIONS = """\
A library of documents as trees: layer 0 holds chunks of the documents, the layers above hold
summaries of ever more of them. Use `search` to answer a question: chunks give details, summaries
give overviews. `read_node` goes up to broader summaries or down to the nodes of a summary, `trace`
gives the exact characters of the documents under a node, to quote and to cite. `list_trees` lists
all trees.
"""


def make_server(retriever: HomeRetriever) -> MCPServer:
    """Make a server of a home; ``run()`` serves standard input and output."""
    try:
        from mcp.server import MCPServer
        from mcp.server.mcpserver.tools import Tool
        from mcp_types import ToolAnnotations
    except ModuleNotFoundError as error:
        raise MissingExtraError("mcp", "serving the Model Context Protocol") from error

    reader = HomeReader(retriever)
    reads = ToolAnnotations(read_only_hint=True, idempotent_hint=True, open_world_hint=False)
    tools = []
    for call in (reader.search, reader.read_node, reader.trace, reader.list_trees):
        tool = Tool.from_function(_report(call), annotations=reads, structured_output=True)
        # A misspelt filter would be ignored, and all trees searched.
        model = tool.fn_metadata.arg_model
        model.model_config["extra"] = "forbid"
        model.model_rebuild(force=True)
        tool.parameters = model.model_json_schema(by_alias=True)
        tools.append(tool)
    name, number = "raptor", version("raptor-assets")
    return MCPServer(
        name, instructions=INSTRUCTIONS, version=number, tools=tools, log_level="WARNING"
    )


def _report(call: Callable[..., Any]) -> Callable[..., Any]:
    """Send the message of a RaptorError to the client; the protocol hides those of other errors."""
    from mcp.server.mcpserver.exceptions import ToolError

    @wraps(call)
    def tool(*args: Any, **kwargs: Any) -> Any:
        try:
            return call(*args, **kwargs)
        except RaptorError as error:
            raise ToolError(f"{type(error).__name__}: {error}") from error

    return tool
