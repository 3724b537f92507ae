"""One filter gives the same nodes over Python, HTTP, MCP, the command and other frameworks."""

import asyncio
from dataclasses import replace
from itertools import count, cycle

import pytest
from fastapi.testclient import TestClient
from mcp import Client
from support.command import Place, embedder_made_by
from support.hashing import HashingEmbedder
from support.workshop import settings_text

from raptor_assets.serving.http import make_app
from raptor_assets.serving.identity import ServerKeys
from raptor_assets.serving.mcp import make_server
from raptor_core import HomeRetriever, Where
from raptor_core.errors import SettingsError
from raptor_core.integrations import langchain, llama_index

pytestmark = pytest.mark.slow

QUESTION = "what is said about the pump"
FACTS = {
    "hr/pay.md": "version: 2\nlang: en\ndate: 2024-03-05\ndraft: false\nreaders: group:hr",
    "hr/leave.md": "version: 3\nlang: en\ndate: 2023-01-01\ndraft: True\nreaders: [ana, group:hr]",
    "ops/pump.md": "version: 2\nlang: EN\ndate: 2024-11-20\ndraft: false",
}


@pytest.fixture(scope="module")
def home(tmp_path_factory):
    """A home of one tree over three documents in two folders."""
    place = Place(tmp_path_factory.mktemp("mixed"))
    for name, facts in FACTS.items():
        word = name.partition("/")[2].removesuffix(".md")
        lines = (f"The pump {n} of {word} is {word}only{n} here." for n in range(8))
        place.write(name, f"---\n{facts}\n---\n" + "\n\n".join(lines))
    place.home.mkdir(parents=True)
    parts = {"grouping": {"by": "corpus"}, "tree": {"max_layers": 3}}
    place.settings.write_text(settings_text(place.docs, **parts))
    with embedder_made_by(lambda *_, **__: HashingEmbedder()):
        assert place.call("build").code == 0
        yield place


CASES = [
    ({"documents": ["hr/pay.md"]}, ["--document", "hr/pay.md"], {"pay"}),
    ({"folders": ["hr/"]}, ["--folder", "hr/"], {"pay", "leave"}),
    ({"exclude": {"folders": ["hr"]}}, ["--exclude-folder", "hr"], {"pump"}),
    (
        {"exclude": {"documents": ["hr/pay.md"]}},
        ["--exclude-document", "hr/pay.md"],
        {"leave", "pump"},
    ),
    ({"metadata": {"lang": "en"}}, ["--metadata", "lang=en"], {"pay", "leave"}),
    ({"metadata": {"version": 2}}, ["--metadata", "version=2"], {"pay", "pump"}),
    ({"metadata": {"draft": True}}, ["--metadata", "draft=true"], {"leave"}),
    (
        {"metadata": {"date": {"gte": "2024-01-01", "lt": "2024-06-01"}}},
        ["--metadata", "date>=2024-01-01", "--metadata", "date<2024-06-01"],
        {"pay"},
    ),
    (
        {"exclude": {"metadata": {"version": 3}}},
        ["--exclude-metadata", "version=3"],
        {"pay", "pump"},
    ),
    (
        {"readers": ["group:hr", "ben"]},
        ["--as", "group:hr", "--as", "ben"],
        {"pay", "leave"},
    ),
    ({"readers": ["ana"]}, ["--as", "ana"], {"leave"}),
]
USUAL = (0, 2, 7, 9)
"""Cases of `make test`: documents, an exclusion, a range, readers."""


@pytest.mark.parametrize(
    ("filters", "options", "words", "strategy"),
    [
        pytest.param(*case, strategy, marks=[] if at in USUAL else [pytest.mark.rare])
        for at, case, strategy in zip(count(), CASES, cycle(["hybrid", "collapsed", "traversal"]))
    ],
)
def test_every_interface_gives_the_same_nodes_and_no_word_beyond(
    home, filters, options, words, strategy
):
    retriever = HomeRetriever(home.home)
    exclude = filters.get("exclude")
    where = Where(**{**filters, "exclude": exclude and Where(**exclude)})
    query = replace(retriever.query, where=where, strategy=strategy)
    hits = retriever.search(QUESTION, query).hits
    foreign = {"pay", "leave", "pump"} - words
    assert hits
    assert not [hit for hit in hits for word in foreign if f"{word}only" in hit.node.text]

    body = {"question": QUESTION, "strategy": strategy, **filters}
    found = TestClient(make_app(retriever, ServerKeys())).post("/search", json=body).json()["nodes"]
    tool = asyncio.run(call(make_server(retriever), "search", body))["nodes"]
    printed = home.call("query", QUESTION, "--strategy", strategy, *options, "--json").json["nodes"]
    ids = [hit.node.id for hit in hits]
    assert [node["id"] for node in found] == [node["id"] for node in tool] == ids
    assert [node["id"] for node in printed] == ids
    chain = langchain.RaptorRetriever(searcher=retriever, query=query).invoke(QUESTION)
    index = llama_index.RaptorRetriever(retriever, query).retrieve(QUESTION)
    assert {node.id for node in chain} == {node.node.id_ for node in index} == {*ids}


async def call(server, tool, arguments):
    async with Client(server) as client:
        return (await client.call_tool(tool, arguments)).structured_content


def test_every_interface_reads_a_follow_up_with_the_turns_before_it(home):
    retriever = HomeRetriever(home.home)
    question, history = "And why?", ["What is said about the pump?", "The leave of the pump."]
    retrieval = retriever.search(question, history=history)
    ids = {hit.node.id for hit in retrieval.hits}
    body = {"question": question, "history": history}
    turns = [part for turn in history for part in ("--history", turn)]
    client = TestClient(make_app(retriever, ServerKeys()))
    found = client.post("/search", json=body).json()
    assert client.post("/search", json=body | {"history": "a text"}).status_code == 422
    long = {"history": ["", "x" * 11_000, *["y"] * 150, *history, " "]}
    assert client.post("/search", json=body | long).json()["note"] == found["note"]
    tool = asyncio.run(call(make_server(retriever), "search", body))
    printed = home.call("query", question, *turns, "--json").json
    chain = langchain.RaptorRetriever(searcher=retriever).invoke(question, history=history)
    assert [{node["id"] for node in each["nodes"]} for each in (found, tool, printed)] == [ids] * 3
    assert {node.id for node in chain} == ids
    assert "leave" in retrieval.note
    assert retrieval.note == found["note"] == tool["note"] == printed["note"]


def test_filters_of_a_caller_are_intersected_with_a_node_and_a_tree(home):
    retriever = HomeRetriever(home.home)
    top = retriever.nodes("corpus")[-1]
    for where in (Where(trees=()), Where(documents=("ops/pump.md",), folders=("hr/",))):
        query = replace(retriever.query, where=where)
        assert not retriever.search_within(QUESTION, top.id, query).hits
    for filters in (
        {"trees": []},
        {"documents": ["ops/pump.md"], "folders": ["hr"]},
        {"readers": ["ana"], "documents": ["hr/pay.md"]},
    ):
        body = {"question": QUESTION, **filters}
        client = TestClient(make_app(retriever, ServerKeys()))
        assert client.post("/search", json=body).json()["nodes"] == []


def test_a_blank_question_is_refused_everywhere(home):
    retriever = HomeRetriever(home.home)
    client = TestClient(make_app(retriever, ServerKeys()))
    top = retriever.nodes("corpus")[-1].id
    for question in (" ", "?!", "\u200b", "\0"):
        for path in ("/search", "/ask", f"/nodes/{top}/search"):
            refused = client.post(path, json={"question": question})
            assert (refused.status_code, "at least one word" in refused.text) == (422, True)
        with pytest.raises(SettingsError, match="at least one word"):
            langchain.RaptorRetriever(searcher=retriever).invoke(question)
    for command in ("query", "ask"):
        assert home.call(command, "?!").code == 2
