"""`raptor mcp`, spoken to with the SDK's own client: over pipes, and in this process."""

import asyncio
import json
from typing import get_args

import pytest
from mcp import Client

from raptor_assets.serving.mcp import make_server
from raptor_core import HomeRetriever
from raptor_core.retrieval import STRATEGIES
from raptor_core.settings.retrieval import Strategy

pytestmark = pytest.mark.slow

LOOKS = {"outline", "browse", "search_within"}
TOOLS = {"search", "read_node", "trace", "list_trees", *LOOKS}


def conversation(server, *calls):
    """The results of calls ``(tool, arguments)``, one after another."""

    async def talk():
        async with Client(server) as client:
            return [await client.call_tool(tool, given) for tool, given in calls]

    return asyncio.run(talk())


def values(result):
    """A result's value, which is the same as JSON text for clients that know no schema."""
    assert not result.is_error, result.content
    assert json.loads(result.content[0].text) == result.structured_content
    return result.structured_content


@pytest.fixture(scope="module")
def server(built):
    return make_server(HomeRetriever(built.home))


def test_tools_say_that_they_only_read_and_what_they_take_and_give(server):
    async def listed():
        async with Client(server) as client:
            assert "layer 0" in client.instructions
            return (await client.list_tools()).tools

    tools = {tool.name: tool for tool in asyncio.run(listed())}
    assert tools.keys() == TOOLS
    for tool in tools.values():
        assert tool.annotations.read_only_hint
        assert tool.description
        assert tool.output_schema["properties"]
        assert tool.input_schema["additionalProperties"] is False
        assert all("description" in given for given in tool.input_schema["properties"].values())
    assert set(get_args(Strategy)) == set(STRATEGIES)


def test_an_outline_lists_names_from_the_top_in_pages_within_their_tokens(server, built):
    nodes = built.call("tree", "farness/harbour.md", "--json").json["nodes"]
    pages, offset = [], 0
    while offset is not None:
        arguments = {"tree": "farness/harbour.md", "offset": offset, "budget_tokens": 150}
        pages += map(values, conversation(server, ("outline", arguments)))
        offset = pages[-1]["next_offset"]
    listed = [node for page in pages for node in page["nodes"]]
    assert len(pages) > 1
    assert all(page["n_tokens"] <= 150 for page in pages)
    assert sorted(node["id"] for node in listed) == sorted(node["id"] for node in nodes)
    layers = [node["layer"] for node in listed]
    assert layers == sorted(layers, reverse=True)
    assert pages[0]["layer_sizes"] == [layers.count(k) for k in range(layers[0] + 1)]
    tokens = [sum(n["n_tokens"] for n in listed if n["layer"] == k) for k in range(layers[0] + 1)]
    assert pages[0]["layer_tokens"] == tokens
    named = {node["id"]: node for node in nodes}
    for node in listed:
        assert node["n_children"] == len(named[node["id"]]["children"])
        assert node["name"]
        assert len(node["name"]) <= 80
