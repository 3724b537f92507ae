"""`raptor mcp`, spoken to with the SDK's own client: over pipes, and in this process."""

import asyncio
import json
import sys
from typing import get_args

import pytest
from mcp import Client
from support.command import raptor
from support.serving import serving

from raptor_assets.serving.mcp import make_server
from raptor_core import HomeRetriever
from raptor_core.disk import file_lock
from raptor_core.errors import MissingExtraError
from raptor_core.retrieval import STRATEGIES
from raptor_core.settings.retrieval import Strategy

pytestmark = pytest.mark.slow

LOOKS = {"outline", "browse", "search_within"}
TOOLS = {"search", "read_node", "trace", "list_trees", *LOOKS}
KEEPER = "who kept the lamp burning in the storm?"


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


def refusal(result):
    assert result.is_error
    return result.content[0].text


@pytest.fixture
def server(built):
    return make_server(HomeRetriever(built.home))


def test_a_client_over_http_searches(built):
    async def talk(address):
        async with Client(f"{address}/mcp") as client:
            assert {tool.name for tool in (await client.list_tools()).tools} == TOOLS
            return values(await client.call_tool("search", {"question": KEEPER}))

    with serving(built.home, "mcp") as address:
        found = asyncio.run(talk(address))
    assert any("Tom Ferris" in node["text"] for node in found["nodes"])


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


def test_what_finds_nothing_says_why(server):
    off_topic, small, unknown = map(
        values,
        conversation(
            server,
            ("search", {"question": "Which vaccine does a puppy need first?"}),
            ("search", {"question": KEEPER, "budget_tokens": 1}),
            ("search", {"question": KEEPER, "documents": ["nosuch.md"]}),
        ),
    )
    assert small["nodes"] == unknown["nodes"] == []
    assert "than chance" in off_topic["note"]
    assert "raise budget_tokens" in small["note"]
    assert "list the trees" in unknown["note"]


def test_trees_are_listed_by_name_in_parts(server):
    every, farness, second = map(
        values,
        conversation(
            server,
            ("list_trees", {}),
            ("list_trees", {"name_contains": "FARNESS"}),
            ("list_trees", {"offset": 1, "limit": 1}),
        ),
    )
    names = [tree["tree"] for tree in every["trees"]]
    assert names == ["farness/harbour.md", "farness/lighthouse.md", "soup.md"]
    assert every["trees"][0]["documents"] == ["farness/harbour.md"]
    assert every["trees"][0]["layer_sizes"][0] > every["trees"][0]["layer_sizes"][-1]
    assert [tree["tree"] for tree in farness["trees"]] == names[:2]
    assert (second["n_trees"], [tree["tree"] for tree in second["trees"]]) == (3, names[1:2])


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


def test_a_page_of_an_outline_has_a_node_however_small_its_budget(server):
    first, end = map(
        values,
        conversation(
            server,
            ("outline", {"tree": "soup.md", "budget_tokens": 1}),
            ("outline", {"tree": "soup.md", "offset": 1000}),
        ),
    )
    assert (len(first["nodes"]), first["next_offset"]) == (1, 1)
    assert (end["nodes"], end["n_tokens"], end["next_offset"]) == ([], 0, None)


def test_children_come_by_name_and_with_texts_on_request(server):
    (outline,) = map(values, conversation(server, ("outline", {"tree": "farness/harbour.md"})))
    top = outline["nodes"][0]["id"]
    names, texts, rest, read = map(
        values,
        conversation(
            server,
            ("browse", {"node_id": top}),
            ("browse", {"node_id": top, "show": "texts"}),
            ("browse", {"node_id": top, "show": "texts", "offset": 1, "limit": 1}),
            ("read_node", {"node_id": top}),
        ),
    )
    children = [child["id"] for child in read["children"]]
    assert [child["id"] for child in names["children"]] == children
    assert (names["id"], names["n_children"], names["texts"]) == (top, len(children), [])
    reads = conversation(server, *(("read_node", {"node_id": child}) for child in children))
    assert texts["texts"] == [values(read)["text"] for read in reads]
    assert (rest["children"], rest["texts"]) == (names["children"][1:2], texts["texts"][1:2])


def nodes_below(server, node_id):
    ids = [node_id]
    for at in ids:
        (read,) = map(values, conversation(server, ("browse", {"node_id": at})))
        ids += [child["id"] for child in read["children"] if child["id"] not in ids]
    return set(ids)


@pytest.mark.parametrize("strategy", ["hybrid", "traversal"])
def test_a_search_within_a_node_gives_nodes_under_it_alone(server, strategy):
    (outline,) = map(values, conversation(server, ("outline", {"tree": "farness/harbour.md"})))
    for node in (outline["nodes"][0], outline["nodes"][1], outline["nodes"][-1]):
        arguments = {"question": KEEPER, "node_id": node["id"], "strategy": strategy}
        (hits,) = map(values, conversation(server, ("search_within", arguments)))
        ids = {hit["id"] for hit in hits["nodes"]}
        assert ids <= nodes_below(server, node["id"])
        assert ids or strategy in ("lexical", "collapsed-lexical")


def test_a_general_question_within_a_node_is_answered_from_what_lies_under_it(server):
    (outline,) = map(values, conversation(server, ("outline", {"tree": "soup.md"})))
    arguments = {"question": "Summarize it.", "node_id": outline["nodes"][0]["id"]}
    (hits,) = map(values, conversation(server, ("search_within", arguments)))
    assert hits["kind"] == "general"
    assert {hit["tree"] for hit in hits["nodes"]} == {"soup.md"}


def test_a_long_trace_comes_in_parts(server, built):
    nodes = built.call("tree", "farness/harbour.md", "--json").json["nodes"]
    top = nodes[-1]["id"]
    whole, rest = map(
        values,
        conversation(
            server,
            ("trace", {"node_id": top}),
            ("trace", {"node_id": top, "offset": 1, "limit": 2}),
        ),
    )
    assert whole["n_spans"] == sum(node["layer"] == 0 for node in nodes)
    assert rest["spans"] == whole["spans"][1:3]
    assert rest["offset"] == 1


def test_errors_are_named_with_the_remedy(server):
    unknown = "00000000-0000-0000-0000-000000000000"
    tree, node, strategy, empty, misspelt, *looks = map(
        refusal,
        conversation(
            server,
            ("search", {"question": "why?", "trees": ["nosuch"]}),
            ("trace", {"node_id": unknown}),
            ("search", {"question": "why?", "strategy": "best"}),
            ("search", {"question": ""}),
            ("search", {"question": "why?", "tree": "soup.md"}),
            ("outline", {"tree": "nosuch"}),
            ("browse", {"node_id": unknown}),
            ("search_within", {"question": "why?", "node_id": unknown}),
        ),
    )
    assert all("UnknownTreeError" in message for message in looks)
    assert "UnknownTreeError" in tree
    assert "soup.md" in tree
    assert "no published node has the id" in node
    assert "'hybrid'" in strategy
    assert "at least 1 character" in empty
    assert "tree\n  Extra inputs are not permitted" in misspelt


def test_a_home_with_nothing_published_is_served_and_says_what_to_do(tmp_path):
    assert raptor("init", "--home", tmp_path / "h").code == 0
    server = make_server(HomeRetriever(tmp_path / "h"))
    for told in map(
        refusal, conversation(server, ("list_trees", {}), ("search", {"question": "x"}))
    ):
        assert "raptor build SOURCE" in told


def test_a_store_that_a_build_holds_is_named(built, monkeypatch):
    monkeypatch.setenv("RAPTOR_STORE__LOCK_SECONDS", "0.1")
    (alias,) = (built.home / "qdrant").glob("**/corpus.lock")
    with file_lock(alias, 1):
        (told,) = conversation(make_server(HomeRetriever(built.home)), ("list_trees", {}))
    assert "StoreLockedError" in refusal(told)


def test_a_missing_sdk_names_the_extra(built, monkeypatch):
    monkeypatch.setitem(sys.modules, "mcp.server", None)
    with pytest.raises(MissingExtraError, match=r"raptor-assets\[mcp\]"):
        make_server(HomeRetriever(built.home))
