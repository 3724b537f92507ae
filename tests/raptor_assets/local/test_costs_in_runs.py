"""Costs of a run are shown by layer, and a run that ended early pays for nothing twice."""

import pytest
from support.openai_faults import Fault
from support.openai_server import FakeOpenAI
from support.workshop import TWO_LAYERS, Workshop, prose

pytestmark = pytest.mark.slow

LAYERS = (1, 2)


@pytest.fixture
def server():
    with FakeOpenAI() as fake:
        yield fake


def paying(tmp_path, server, *names, **settings):
    values = {"prices": {"writer": {"input": 1.0, "output": 2.0}}, **settings}
    summarizer = {"kind": "openai", "model": "writer", "base_url": server.base_url}
    workshop = Workshop(tmp_path, summarizer=summarizer, **TWO_LAYERS, **values)
    for name in names:
        workshop.write(name, prose(24, seed=ord(name[0])))
    return workshop


def layers_of(workshop, name):
    return [workshop.metadata(f"layer_{layer}/summaries", name) for layer in LAYERS]


@pytest.mark.rare
def test_layers_show_the_calls_tokens_and_money_of_a_run_and_none_where_it_reused_all(
    tmp_path, server
):
    server.fail(Fault(status=503), times=1)
    workshop = paying(tmp_path, server, "a.md", "b.md")
    assert workshop.build().succeeded
    layers = [layer for name in ("a.md", "b.md") for layer in layers_of(workshop, name)]
    assert sum(layer["calls"] for layer in layers) == len(server.bodies) - 1
    assert sum(layer["retries"] for layer in layers) == 1
    for layer in layers:
        tokens = layer["prompt_tokens"] + 2 * layer["completion_tokens"]
        assert layer["usd"] == pytest.approx(tokens / 1e6, abs=1e-6)
        assert layer["model"] == "writer"
    workshop.build("a.md", force=True)
    assert not any(
        {"calls", "model", "usd"} & layer.keys() for layer in layers_of(workshop, "a.md")
    )
    text = (workshop.docs / "a.md").read_text()
    n_asked = len(server.bodies)
    workshop.write("a.md", text.replace(".", " indeed.", 1))
    workshop.build()
    calls = sum(layer.get("calls", 0) for layer in layers_of(workshop, "a.md"))
    assert calls == len(server.bodies) - n_asked > 0
