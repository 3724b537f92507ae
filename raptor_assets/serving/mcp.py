"""Server of the Model Context Protocol, whose tools are the calls of ``reading``."""

from __future__ import annotations

from collections.abc import Callable
from functools import wraps
from importlib.metadata import version
from typing import Any

from raptor_assets.serving.reading import HomeReader
from raptor_core.errors import MissingExtraError, RaptorError
from raptor_core.home import HomeRetriever

INSTRUCTIONS = """\
A library of documents as trees: layer 0 holds chunks of the documents, the layers above hold
summaries of ever more of them. Use `search` to answer a question: chunks give details, summaries
give overviews. `read_node` goes up to broader summaries or down to the nodes of a summary, `trace`
gives the exact characters of the documents under a node, to quote and to cite. `list_trees` lists
all trees.
"""


def make_server(retriever: HomeRetriever) -> Any:
    """Make a server of a home; ``run()`` serves standard input and output."""
    try:
        import mcp.server
    except ModuleNotFoundError as error:
        raise MissingExtraError("mcp", "serving the Model Context Protocol") from error

    reader = HomeReader(retriever)
    values = {"instructions": INSTRUCTIONS, "log_level": "WARNING"}
    if hasattr(mcp.server, "MCPServer"):
        from mcp.server.mcpserver.exceptions import ToolError
        from mcp.server.mcpserver.tools import Tool

        make, values["version"] = mcp.server.MCPServer, version("raptor-assets")
    else:  # mcp 1 has other names for the same classes
        from mcp.server.fastmcp.exceptions import ToolError
        from mcp.server.fastmcp.tools import Tool

        make = mcp.server.FastMCP
    calls = (reader.search, reader.read_node, reader.trace, reader.list_trees)
    return make(
        "raptor", tools=[_make_tool(Tool, _report(call, ToolError)) for call in calls], **values
    )


def _make_tool(tool_class: Any, call: Callable[..., Any]) -> Any:
    """Make a read-only tool that refuses unknown parameters."""
    from mcp.types import ToolAnnotations

    hints = {"readOnlyHint": True, "idempotentHint": True, "openWorldHint": False}
    annotations = ToolAnnotations.model_validate(hints)
    tool = tool_class.from_function(call, annotations=annotations, structured_output=True)
    # A misspelt filter would be ignored, and all trees searched.
    model = tool.fn_metadata.arg_model
    model.model_config["extra"] = "forbid"
    model.model_rebuild(force=True)
    tool.parameters = model.model_json_schema(by_alias=True)
    return tool


def _report(call: Callable[..., Any], error_class: type[Exception]) -> Callable[..., Any]:
    """Send the message of a RaptorError to the client; the protocol hides those of other errors."""

    @wraps(call)
    def tool(*args: Any, **kwargs: Any) -> Any:
        try:
            return call(*args, **kwargs)
        except RaptorError as error:
            raise error_class(f"{type(error).__name__}: {error}") from error

    return tool
