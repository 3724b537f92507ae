"""A server of four tools that read: search, read_node, trace, list_trees."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import replace
from importlib.metadata import version
from typing import TYPE_CHECKING, Annotated, Literal

from pydantic import Field

from dagster_project.home_retriever import HomeRetriever
from dagster_project.mcp.values import Found, PublishedTree, PublishedTrees, ReadNode, Traced
from raptor_core.errors import MissingExtraError, RaptorError
from raptor_core.store.base import Where

if TYPE_CHECKING:
    from mcp.server import MCPServer

INSTRUCTIONS = """\
A library of documents as trees: layer 0 holds chunks of the documents, the layers above hold
summaries of ever more of them. Use `search` for what answers a question: chunks for details,
summaries for overviews. `read_node` goes up to broader summaries or down to what a summary was
made from, `trace` gives the exact characters of the documents under a node, to quote and to cite.
`list_trees` says what there is.
"""

Strategy = Literal["hybrid", "collapsed", "traversal", "beam", "flat", "lexical"]
NodeId = Annotated[str, Field(description="A node's id, as search and read_node give it.")]
Offset = Annotated[int, Field(ge=0, description="How many to pass over, to read on.")]
Limit = Annotated[int, Field(ge=1, le=500, description="How many to give at the most.")]


class ReadingTools:
    """The tools; each opens the home's store for as long as it reads."""

    def __init__(self, retriever: HomeRetriever) -> None:
        self._retriever = retriever

    def search(
        self,
        question: Annotated[str, Field(min_length=1, description="A question, or words.")],
        trees: Annotated[list[str] | None, Field(description="Only these trees.")] = None,
        documents: Annotated[
            list[str] | None,
            Field(description="Only these documents, and summaries that cover one of them."),
        ] = None,
        strategy: Annotated[
            Strategy | None, Field(description="How to search; by default as the home is set.")
        ] = None,
        budget_tokens: Annotated[
            int | None, Field(ge=1, description="Tokens of all texts together; default as set.")
        ] = None,
    ) -> Found:
        """Find the chunks and summaries that answer a question, within a budget of tokens."""
        base = self._retriever.query
        query = replace(
            base,
            strategy=strategy or base.strategy,
            budget_tokens=budget_tokens or base.budget_tokens,
            where=Where(trees=_tuple(trees), documents=_tuple(documents)),
        )
        with told():
            return Found.of(self._retriever.search(question, query))

    def read_node(self, node_id: NodeId) -> ReadNode:
        """Read one node whole, with the summaries over it and what it summarizes."""
        with told():
            return ReadNode.of(self._retriever.family(node_id))

    def trace(self, node_id: NodeId, offset: Offset = 0, limit: Limit = 50) -> Traced:
        """Give the exact spans of the documents that a chunk or a summary was made from."""
        with told():
            return Traced.of(self._retriever.trace(node_id), offset, limit)

    def list_trees(
        self,
        name_contains: Annotated[
            str, Field(description="Only trees whose name contains this, in any case.")
        ] = "",
        offset: Offset = 0,
        limit: Limit = 50,
    ) -> PublishedTrees:
        """List the published trees with their layers and documents, by name."""
        with told():
            manifests = self._retriever.manifests()
        wanted = [m for m in manifests if name_contains.casefold() in m.tree.casefold()]
        shown = [PublishedTree.of(manifest) for manifest in wanted[offset : offset + limit]]
        return PublishedTrees(n_trees=len(wanted), offset=offset, trees=shown)


@contextmanager
def told() -> Iterator[None]:
    """Errors that say what to do reach the client; of any other the protocol hides the text.

    Raises:
        ToolError: in place of a RaptorError.
    """
    from mcp.server.mcpserver.exceptions import ToolError

    try:
        yield
    except RaptorError as error:
        raise ToolError(f"{type(error).__name__}: {error}") from error


def make_server(retriever: HomeRetriever) -> MCPServer:
    """A server over a home; ``run()`` serves standard input and output.

    While it serves, what anything else prints goes to standard error.

    Raises:
        MissingExtraError: the SDK is not installed.
    """
    try:
        from mcp.server import MCPServer
        from mcp_types import ToolAnnotations
    except ModuleNotFoundError as error:
        raise MissingExtraError("mcp", "serving the Model Context Protocol") from error

    server: MCPServer = MCPServer(
        "raptor",
        instructions=INSTRUCTIONS,
        version=version("raptor-assets"),
        log_level="WARNING",
    )
    tools = ReadingTools(retriever)
    reads = ToolAnnotations(read_only_hint=True, idempotent_hint=True, open_world_hint=False)
    for tool in (tools.search, tools.read_node, tools.trace, tools.list_trees):
        server.add_tool(tool, annotations=reads, structured_output=True)
    return server


def _tuple(names: list[str] | None) -> tuple[str, ...] | None:
    """An empty list filters nothing: models write one where they mean none."""
    return tuple(names) if names else None
