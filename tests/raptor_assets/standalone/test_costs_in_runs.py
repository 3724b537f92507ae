"""What each summary was paid for: kept beside the nodes, shown, and never lost by a later build."""

import json
import re

import pytest
from support.openai_faults import Fault
from support.openai_server import FakeOpenAI, default_answer
from support.workshop import Workshop, prose

from raptor_assets.costs import node_usages, read_usages
from raptor_core.models.money.usage import Usage
from raptor_core.store.base import Where
from raptor_core.tables.values import NODES

pytestmark = pytest.mark.slow

LAYERS = (1, 2)


@pytest.fixture
def server():
    with FakeOpenAI() as fake:
        yield fake


def paying(tmp_path, server, *names, **settings):
    values = {"prices": {"writer": {"input": 1.0, "output": 2.0}}, **settings}
    summarizer = {"kind": "openai", "model": "writer", "base_url": server.base_url}
    workshop = Workshop(tmp_path, summarizer=summarizer, **values)
    for name in names:
        workshop.write(name, prose(24, seed=ord(name[0])))
    return workshop


def answer_or_judge(body):
    return json.dumps({"unsupported": []}) if "response_format" in body else default_answer(body)


def judged_by(server):
    return {"judge": "llm", "model": "auditor", "base_url": server.base_url}


def paid(workshop, partition="a.md"):
    """Usages of a partition's summaries by content key."""
    return read_usages(workshop.resources().tables, partition, LAYERS)


def summaries(workshop, tree="a.md"):
    with workshop.resources().store.open() as store:
        return store.nodes(Where(trees=(tree,), layers=LAYERS))


def page(workshop, partition="a.md"):
    text = (workshop.home.reports / f"{partition}.html").read_text(encoding="utf-8")
    found = re.search(r'<script id="data"[^>]*>(.*?)</script>', text, re.DOTALL)[1]
    return json.loads(found)["report"]


def shown(workshop):
    return {node["id"]: node["u"] for node in page(workshop)["nodes"] if "u" in node}


def nodes(workshop, partition="a.md"):
    tables = workshop.resources().tables
    return [tables.read([f"layer_{layer}", "summaries"], partition) for layer in LAYERS]


def test_every_summary_has_its_calls_tokens_and_money(tmp_path, server):
    server.fail(Fault(status=503), times=1)
    address = "https://team.example/raptor"
    workshop = paying(tmp_path, server, "a.md", "b.md", report={"url": address})
    assert workshop.build().succeeded
    found = paid(workshop) | paid(workshop, "b.md")
    assert paid(workshop).keys() == {node.content_key for node in summaries(workshop)}
    assert sum(usage.calls for usage in found.values()) == len(server.bodies) - 1
    assert sum(usage.retries for usage in found.values()) == 1
    total = sum(found.values(), Usage())
    assert total.usd == pytest.approx((total.prompt_tokens + 2 * total.completion_tokens) / 1e6)
    assert all(tuple(table.column_names) == NODES.names for table in nodes(workshop))

    layer = workshop.metadata("layer_1/summaries", "a.md")
    first = read_usages(workshop.resources().tables, "a.md", [1])
    most = max(first.values(), key=lambda usage: usage.tokens)
    assert (layer["calls"], layer["paid_tokens_maximum"]) == (len(first), most.tokens)
    assert layer["paid_tokens_mean"] == pytest.approx(
        sum(usage.tokens for usage in first.values()) / len(first), abs=0.1
    )
    head, _, row = layer["costliest_summaries"].splitlines()[:3]
    assert head.count("|") == 8
    assert f"| {most.prompt_tokens} | {most.completion_tokens} |" in row

    assert f"]({address}/a.md.html#node=" in row
    assert workshop.metadata("tree_report", "a.md")["page"] == f"{address}/a.md.html"

    by_node = node_usages(summaries(workshop), found)
    assert shown(workshop).keys() == by_node.keys()
    for node_id, (calls, retries, prompt, completion, usd) in shown(workshop).items():
        assert Usage(calls, prompt, completion, retries, usd) == by_node[node_id]


def test_a_reused_summary_keeps_its_cost_and_a_gone_one_leaves_none(tmp_path, server):
    workshop = paying(tmp_path, server, "a.md")
    workshop.build()
    before, tables = paid(workshop), nodes(workshop)
    workshop.build(force=True)
    assert paid(workshop) == before
    assert nodes(workshop) == tables
    assert "costliest_summaries" not in workshop.metadata("layer_1/summaries", "a.md")
    text = (workshop.docs / "a.md").read_text()
    workshop.write("a.md", text.replace(".", " indeed.", 1))
    workshop.build()
    after = paid(workshop)
    assert after.keys() == {node.content_key for node in summaries(workshop)}
    kept = after.keys() & before.keys()
    assert kept
    assert {key: after[key] for key in kept} == {key: before[key] for key in kept}
    assert workshop.metadata("layer_1/summaries", "a.md")["calls"] < len(kept)
    (workshop.docs / "a.md").rename(workshop.docs / "c.md")
    n_asked = len(server.bodies)
    workshop.build()
    assert len(server.bodies) == n_asked
    assert paid(workshop, "c.md") == after
    workshop.drop("c.md")
    assert not list(workshop.home.tables.rglob("usages/*.parquet"))


def test_builds_that_ended_at_their_budget_add_up(tmp_path):
    with FakeOpenAI(answer=answer_or_judge) as server:
        audited = {"audit": judged_by(server)}
        workshop = paying(tmp_path, server, "a.md", budget={"calls": 3}, **audited)
        n_ended = 0
        while not workshop.build().succeeded:
            n_ended += 1
            assert n_ended < 9
        asked = [body["model"] for body in server.bodies]
    assert n_ended
    found = paid(workshop)
    assert found.keys() == {node.content_key for node in summaries(workshop)}
    assert sum(usage.calls for usage in found.values()) == asked.count("writer") > 3
    assert len(shown(workshop)) == len(found)


def test_what_was_built_before_costs_were_kept_is_shown_without(tmp_path, server):
    workshop = paying(tmp_path, server, "a.md", prices={})
    workshop.build()
    assert all(usage.usd is None for usage in paid(workshop).values())
    assert {usage[-1] for usage in shown(workshop).values()} == {None}
    head = workshop.metadata("layer_1/summaries", "a.md")["costliest_summaries"].splitlines()[0]
    assert "USD" not in head
    version = workshop.data_version("tree_report", "a.md")
    for path in workshop.home.tables.rglob("usages/*.parquet"):
        path.unlink()
    (workshop.home.reports / "a.md.html").unlink()
    assert workshop.build(force=True).succeeded
    assert shown(workshop) == {}
    assert workshop.data_version("tree_report", "a.md") == version


def test_a_summarizer_that_calls_no_endpoint_leaves_no_costs(tmp_path):
    workshop = Workshop(tmp_path)
    workshop.write("a.md", prose(24, seed=1))
    workshop.build()
    assert paid(workshop) == shown(workshop) == {}
    metadata = workshop.metadata("layer_1/summaries", "a.md")
    assert metadata["n_made"] > 0
    assert not {"calls", "costliest_summaries", "paid_tokens_mean"} & metadata.keys()
