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
    uncited = printed.out.partition("read, but not cited:\n")[2]
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


def files(place):
    return {path: path.stat().st_mtime_ns for path in place.home.rglob("*.parquet")}


def test_the_plan_of_an_edit_is_what_the_build_then_makes(own):
    assert own.call("plan", "--json").json["trees"] == []
    lighthouse = own.docs / "farness" / "lighthouse.md"
    lighthouse.write_text(lighthouse.read_text().replace("Tom Ferris", "Thomas Ferris"))
    before = files(own)
    plan = own.call("plan", "--json").json
    assert files(own) == before
    assert (plan["changed"], plan["exact"]) == (["farness/lighthouse.md"], True)
    (tree,) = plan["trees"]
    assert (tree["action"], tree["n_leaves_added"], tree["n_leaves_removed"]) == ("rebuild", 1, 1)
    assert plan["summaries"]["calls"] >= plan["lower_bound"] >= 1
    assert plan["summaries_range"] == [plan["summaries"]["calls"]] * 2
    assert f"(at least {plan['lower_bound']})" in own.call("plan").out
    built = own.call("build", "--json").json
    assert built["n_summarized"] == plan["summaries"]["calls"]
    assert own.call("plan", "--json").json["changed"] == []


def test_a_plan_has_a_cost_where_a_price_is_set_and_names_the_missing_price_elsewhere(own):
    own.configure('[summarizer]\nkind = "openai"\nmodel = "some-chat"')
    plan = own.call("plan")
    assert 'not known; set [prices."some-chat"] in the settings' in plan.out
    text = own.settings.read_text()
    own.settings.write_text(text + '\n[prices."some-chat"]\ninput = 1.0\noutput = 2.0\n')
    plan = own.call("plan", "--json").json
    tokens = plan["summaries"]["prompt_tokens"] + 2 * plan["summaries"]["completion_tokens"]
    assert plan["cost"]["usd"] == pytest.approx(tokens / 1e6)


def test_a_document_in_a_script_that_the_model_does_not_know_is_named_before_a_build(own):
    own.write("thai.md", "ผู้ดูแลประภาคารจุดตะเกียงทุกเย็นและจดบันทึกไว้ " * 20)
    odd = own.call("plan", "--json").json["odd"]
    assert list(odd) == ["thai.md"]
    assert "embedder.model" in odd["thai.md"]
    assert "BAAI/bge-m3" in own.call("plan").err
    previews = own.call("documents", "--json").json["documents"]
    doubts = {preview["document"]: preview["doubt"] for preview in previews}
    assert doubts["thai.md"] == odd["thai.md"]
    assert [name for name, doubt in doubts.items() if doubt] == ["thai.md"]
