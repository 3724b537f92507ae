"""An answer from more passages than a call holds is joined from answers of parts."""

import pytest
from support.openai_server import FakeOpenAI

from raptor_core.errors import BudgetError
from raptor_core.home.corpus_tree import answer_by, plan_layer
from raptor_core.nodes import Node
from raptor_core.settings import Settings

pytestmark = pytest.mark.slow


@pytest.fixture
def server():
    with FakeOpenAI() as fake:
        yield fake


def node(number, layer=1):
    return Node(
        id=f"node-{number}", tree="corpus", layer=layer, content_key="", text=f"Fact {number}.",
        n_tokens=90, position=number, documents=(f"{number}.md",), children=(), fingerprint="",
        embedding_key="",
    )  # fmt: skip


def settings(server, **budget):
    return Settings(
        reader={"base_url": server.base_url, "api_key_env": "PLANTED_KEY", "max_tokens": 64},
        budget=budget,
    )


def test_the_parts_answers_are_read_together_and_cite_the_nodes(server):
    server.answer = lambda body: (
        "Together [2], and [1]." if "Seen:" in body["messages"][-1]["content"] else "Seen: [2]."
    )
    given = settings(server)
    plan = plan_layer([node(n) for n in range(4)], given, 200)
    assert (len(plan.parts), plan.calls) == (2, 3)
    found = answer_by(plan, "What?", given)
    assert server.n_requests == plan.calls == found.usage.calls
    assert found.text == "Together [1], and [2]."
    assert [one.node_id for one in found.citations] == ["node-3", "node-1"]


def test_what_fits_one_context_takes_one_call(server):
    server.answer = lambda _body: "So it is [1]."
    given = settings(server)
    found = answer_by(plan_layer([node(n) for n in range(4)], given, 2000), "What?", given)
    assert server.n_requests == 1
    assert found.citations[0].node_id == "node-0"


def test_the_budget_bounds_it(server):
    given = settings(server, calls=1)
    with pytest.raises(BudgetError):
        answer_by(plan_layer([node(n) for n in range(4)], given, 200), "What?", given)
    assert server.n_requests <= 1


def test_a_layer_that_is_too_long_gives_way_to_the_one_above(server):
    nodes = [*(node(n, 0) for n in range(40)), *(node(n) for n in range(40, 44))]
    assert plan_layer(nodes, settings(server), 200).layer == 1
    assert plan_layer(nodes, settings(server), 2000).layer == 0
