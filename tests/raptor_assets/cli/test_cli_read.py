"""What reads a built home: status, tree, query, ask, ui."""

import os
import re
import socket
import sys

import pytest
from support.openai_server import FakeOpenAI

pytestmark = pytest.mark.slow

QUESTION = "Who kept the lamp burning in the storm?"


def test_status_shows_shapes_checks_and_totals(built):
    printed = built.call("status")
    assert printed.code == 0
    assert "farness/lighthouse.md" in printed.out
    assert "passed" in printed.out
    assert "3 trees, " in printed.out
    values = built.call("status", "--check", "--json").json
    assert values["n_trees"] == 3
    assert values["all_structural_checks_passed"]
    tree = values["trees"][0]
    titles = {tree["tree"]: tree["title"] for tree in values["trees"]}
    assert titles["farness/lighthouse.md"] == "The lighthouse at Skerry Point"
    assert "The lighthouse at Skerry Point  farness/lighthouse.md" in printed.out
    assert tree["layer_sizes"][0] > tree["layer_sizes"][-1]
    assert f"{len(tree['checks'])} passed\n" in printed.out
    assert len(tree["checks"]) > 10
    assert {"asset", "name", "passed", "severity", "blocking", "description"} == set(
        tree["checks"][0]
    )


def test_tree_as_json_holds_the_nodes_and_a_trace_ends_in_the_document(built):
    values = built.call("tree", "farness/harbour.md", "--json").json
    nodes = {node["id"]: node for node in values["nodes"]}
    top = max(nodes.values(), key=lambda node: node["layer"])
    assert set(top["children"]) <= set(nodes)
    assert "content_key" not in top
    shown = built.call("tree", "farness/harbour.md", "--ids").out
    assert top["id"] in shown
    traced = built.call("tree", "farness/harbour.md", "--trace", top["id"], "--json").json
    text = (built.docs / "farness/harbour.md").read_text()
    assert traced["spans"]
    for span in traced["spans"]:
        assert span["text"] == text[span["start"] : span["end"]]
    people = built.call("tree", "farness/harbour.md", "--trace", top["id"])
    first = traced["spans"][0]
    assert first["title"] == "The harbour of Farness"
    place = f"farness/harbour.md[{first['start']}:{first['end']}]"
    assert f"  The harbour of Farness ({place})\n" in people.out
    assert built.call("tree", "soup.md", "--trace", top["id"]).code == 4


def test_ask_without_a_key_prints_the_passages_and_exits_with_7(built):
    printed = built.call("ask", QUESTION)
    assert printed.code == 7
    assert "Tom Ferris" in printed.out
    assert "farness/lighthouse.md[" in printed.out
    assert "OPENAI_API_KEY" in printed.err
    values = built.call("ask", QUESTION, "--json")
    assert (values.code, values.json["error"]) == (7, "MissingKeyError")
    node = next(node for node in values.json["found"]["nodes"] if node["layer"] == 0)
    text = (built.docs / node["documents"][0]).read_text()
    assert node["text"] == text[node["start"] : node["end"]]


def test_ask_answers_with_citations(own):
    with FakeOpenAI(answer=lambda _: "Tom Ferris did [1], for nineteen hours [1][2].") as server:
        own.configure(f'[reader]\nbase_url = "{server.base_url}"\nsystem_prompt = "Be brief."')
        printed = own.call("ask", QUESTION, OPENAI_API_KEY="a-key")
        values = own.call("ask", QUESTION, "--json", OPENAI_API_KEY="a-key")
    assert printed.code == 0
    assert printed.out.startswith("Tom Ferris did [1], for nineteen hours [1][2].\n[1] ")
    assert [seen.token for seen in server.seen] == ["a-key", "a-key"]
    assert server.seen[0].body["messages"][0]["content"] == "Be brief."
    found, nodes = values.json, values.json["found"]["nodes"]
    uncited = printed.out.partition("read, and not cited:\n")[2]
    assert re.findall(r"\S+$", uncited, re.MULTILINE) == [n["id"] for n in nodes[2:]]
    assert found["answer"].startswith("Tom Ferris did [1]")
    assert [item["node"] for item in found["citations"]] == [n["id"] for n in nodes[:2]]


def test_a_cited_summary_differs_from_quotations_and_leads_to_its_spans(own):
    with FakeOpenAI(answer=lambda _: "It is told [1].") as server:
        own.configure(f'[reader]\nbase_url = "{server.base_url}"')
        options = ("--layer", 1, "--tree", "farness/lighthouse.md")
        printed = own.call("ask", QUESTION, *options, OPENAI_API_KEY="a-key")
        (cited,) = own.call("ask", QUESTION, *options, "--json", OPENAI_API_KEY="a-key").json[
            "citations"
        ]
    system, user = (message["content"] for message in server.bodies[0]["messages"])
    assert '<passage n="1" kind="summary">' in user
    assert 'of the kind "summary"' in system
    assert cited["is_summary"]
    traced = own.call("tree", "farness/lighthouse.md", "--trace", cited["node"], "--json").json
    places = {(span["document"], span["start"], span["end"]) for span in traced["spans"]}
    behind = [(span["document"], span["start"], span["end"]) for span in cited["behind"]]
    assert len(behind) == cited["n_behind"]
    for document, start, end in places:
        assert any(d == document and s <= start < end <= e for d, s, e in behind)
    document, start, end = behind[0]
    assert f"made from {document}:{start}-{end}\n" in printed.out


def test_ui_starts_dagster_on_this_home(own, monkeypatch):
    started = []
    monkeypatch.setattr(os, "execve", lambda *arguments: started.append(arguments))
    with socket.create_server(("127.0.0.1", 0)) as taken:
        busy = taken.getsockname()[1]
        printed = own.call("ui", "--port", busy, "--json")
        assert (printed.code, started) == (2, [])
        assert str(busy) in printed.json["message"]
    printed = own.call("ui", "--port", busy, "--json")
    assert printed.json == {"url": f"http://127.0.0.1:{busy}", "home": str(own.home)}
    ((program, arguments, environ),) = started
    assert (program, arguments[1:4]) == (sys.executable, ["-m", "dagster", "dev"])
    assert environ["DAGSTER_HOME"] == str(own.home / "dagster")
    assert environ["RAPTOR_HOME"] == str(own.home)
    assert "RAPTOR_SOURCE__WATCH" not in environ


@pytest.mark.parametrize("condition", ["year", "=2024", "a=1"])
def test_a_condition_that_is_none_is_refused(built, condition):
    more = ("--metadata", "a>1") if condition == "a=1" else ()
    refused = built.call("query", "storm", "--metadata", condition, *more)
    assert (refused.code, "--metadata" in refused.err) == (2, True)
