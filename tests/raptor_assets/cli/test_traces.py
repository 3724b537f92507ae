"""Spans and metrics of commands and servers, as a real OTLP receiver writes them to a file.

Names are those of the generative-AI conventions 1.41, of which ``NAMES`` is a copy.
"""

import base64
import json
import os
import subprocess
import sys

import pytest
from support.command import raptor
from support.mcp_lines import exchange
from support.openai_server import FakeOpenAI
from support.otlp_receiver import receiving
from support.stores import PROCESS_PATH

pytestmark = pytest.mark.slow

NAMES = {
    *("gen_ai.operation.name", "gen_ai.provider.name", "gen_ai.request.model"),
    *("gen_ai.request.max_tokens", "gen_ai.response.model", "gen_ai.usage.input_tokens"),
    *("gen_ai.usage.output_tokens", "gen_ai.data_source.id", "gen_ai.retrieval.documents"),
    *("gen_ai.retrieval.query.text", "gen_ai.system_instructions", "gen_ai.input.messages"),
    *("gen_ai.output.messages", "server.address", "server.port", "error.type"),
}
QUESTION = "who kept the lamp burning in the storm?"
ANSWER = "Tom Ferris did [1]."


@pytest.fixture
def received(tmp_path):
    with receiving(tmp_path) as received:
        yield received


@pytest.fixture
def endpoint():
    with FakeOpenAI(answer=lambda _: ANSWER) as server:
        yield server


def run(home, *arguments, **environ):
    """Run a command in a process of its own, which sends its spans when it ends."""
    code = "from raptor_assets.cli import main; main()"
    command = [sys.executable, "-c", code, *arguments, "--home", str(home)]
    given = {**os.environ, "PYTHONPATH": PROCESS_PATH, "HF_HUB_OFFLINE": "1", **environ}
    return subprocess.run(command, env=given, capture_output=True, text=True, check=False)


def ask(built, received, endpoint, **environ):
    reader = {"RAPTOR_READER__BASE_URL": endpoint.base_url, "OPENAI_API_KEY": "a-secret-key"}
    done = run(built.home, "ask", QUESTION, "--json", **reader, **received.environ, **environ)
    assert done.returncode == 0, done.stderr
    return json.loads(done.stdout)


def test_a_question_is_one_trace_from_the_embedding_to_the_reader_without_texts(
    built, received, endpoint
):
    answer = ask(built, received, endpoint)
    spans = received.spans
    assert len({span["traceId"] for span in spans}) == 1
    parents = {span["spanId"]: span["name"] for span in spans}
    chain = {span["name"]: parents.get(span.get("parentSpanId")) for span in spans}
    (embedding,) = (name for name in chain if name.startswith("embeddings "))
    assert chain[embedding] == chain["search hybrid"] == "retrieval corpus"
    assert chain["packing"] == "search hybrid"
    assert chain["retrieval corpus"] == chain["chat gpt-4o-mini"] == "raptor ask"
    names = {name for span in spans for name in span["attributes"]}
    assert names <= NAMES
    chat = received.span("chat gpt-4o-mini")["attributes"]
    assert chat["gen_ai.operation.name"] == "chat"
    assert chat["gen_ai.provider.name"] == "openai"
    assert chat["gen_ai.request.model"] == chat["gen_ai.response.model"] == "gpt-4o-mini"
    assert chat["server.address"] == "127.0.0.1"
    n_input, n_output = (int(chat[f"gen_ai.usage.{kind}_tokens"]) for kind in ("input", "output"))
    points = {p["attributes"]["gen_ai.token.type"]: p["sum"] for p in received.token_points}
    assert points == {"input": n_input, "output": n_output}
    assert n_input > n_output > 0
    retrieval = received.span("retrieval corpus")["attributes"]
    documents = json.loads(retrieval["gen_ai.retrieval.documents"])
    assert documents
    assert all({*document} == {"id", "score"} for document in documents)
    assert {citation["node"] for citation in answer["citations"]} <= {d["id"] for d in documents}
    sent = received.path.read_text()
    for text in (QUESTION, "Tom Ferris", "a-secret-key"):
        assert text not in sent


@pytest.mark.rare
def test_texts_are_recorded_when_they_are_switched_on(built, received, endpoint):
    switch = {"OTEL_INSTRUMENTATION_GENAI_CAPTURE_MESSAGE_CONTENT": "true"}
    ask(built, received, endpoint, **switch)
    chat = received.span("chat gpt-4o-mini")["attributes"]
    (message,) = json.loads(chat["gen_ai.output.messages"])
    assert message["parts"] == [{"type": "text", "content": ANSWER}]
    assert QUESTION in json.loads(chat["gen_ai.input.messages"])[0]["parts"][0]["content"]
    retrieval = received.span("retrieval corpus")["attributes"]
    assert retrieval["gen_ai.retrieval.query.text"] == QUESTION
    assert "a-secret-key" not in received.path.read_text()


@pytest.mark.rare
def test_a_call_over_mcp_goes_on_with_the_trace_of_its_caller(built, received):
    trace, parent = "0af7651916cd43dd8448eb211c80319c", "b7ad6b7169203331"
    search = {"name": "search", "arguments": {"question": QUESTION}}
    meta = {"traceparent": f"00-{trace}-{parent}-01"}
    exchange(
        built.home,
        ("tools/call", {**search, "_meta": meta}),
        ("tools/call", search),
        **received.environ,
    )
    by_id = {span["spanId"]: span for span in received.spans}
    first, second = (span for span in received.spans if span["name"] == "retrieval corpus")
    assert base64.b64decode(first["traceId"]).hex() == trace
    assert second["traceId"] != first["traceId"]
    call = by_id[first["parentSpanId"]]
    assert call["name"] == "tools/call search"
    assert base64.b64decode(call["parentSpanId"]).hex() == parent


@pytest.mark.rare
def test_a_build_is_one_trace_of_steps_and_calls(tmp_path, received, endpoint):
    docs, home = tmp_path / "docs", tmp_path / "home"
    docs.mkdir()
    text = "\n\n".join(f"Keeper {n} lit the lamp of tower {n} in the year {n}." for n in range(90))
    (docs / "lamps.md").write_text(text)
    assert raptor("init", docs, "--home", home).code == 0
    chat = {
        "RAPTOR_SUMMARIZER__KIND": "openai",
        "RAPTOR_SUMMARIZER__BASE_URL": endpoint.base_url,
        "OPENAI_API_KEY": "a-secret-key",
    }
    done = run(home, "build", "--json", **chat, **received.environ)
    assert done.returncode in (0, 5), done.stderr
    spans = received.spans
    assert len({span["traceId"] for span in spans}) == 1
    by_id = {span["spanId"]: span for span in spans}
    calls = [span for span in spans if span["name"].startswith("chat ")]
    assert calls
    assert {by_id[call["parentSpanId"]]["name"].split()[0] for call in calls} == {"step"}
    steps = [span for span in spans if span["name"].startswith("step ")]
    assert {by_id[step["parentSpanId"]]["name"] for step in steps} == {"raptor build"}


@pytest.mark.rare
def test_without_the_switch_nothing_is_sent_and_the_sdk_is_not_loaded(built, received):
    code = (
        "import sys\nfrom raptor_assets.cli import main\n"
        "try: main()\nexcept SystemExit: print('opentelemetry.sdk' in sys.modules)"
    )
    environ = {**os.environ, "PYTHONPATH": PROCESS_PATH, **received.environ}
    del environ["OTEL_TRACES_EXPORTER"]
    command = [sys.executable, "-c", code, "query", QUESTION, "--home", str(built.home)]
    done = subprocess.run(command, env=environ, capture_output=True, text=True, check=True)
    assert done.stdout.strip().endswith("False")
    assert received.spans == []
