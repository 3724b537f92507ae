"""Spans and metrics of commands, as an exporter in memory and a server of OTLP get them.

Names are those of the generative-AI conventions 1.41, of which ``NAMES`` is a copy.
"""

import json

import opentelemetry.metrics
import opentelemetry.trace
import pytest
from opentelemetry.sdk.metrics import MeterProvider
from opentelemetry.sdk.metrics.export import InMemoryMetricReader
from opentelemetry.sdk.trace import TracerProvider
from opentelemetry.sdk.trace.export import SimpleSpanProcessor
from opentelemetry.sdk.trace.export.in_memory_span_exporter import InMemorySpanExporter
from support.mcp_lines import exchange
from support.openai_server import FakeOpenAI
from support.raw_server import RawServer

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


class Recorded:
    """Spans and metrics of this process, in an application's providers."""

    def __init__(self):
        self.exporter, self.reader = InMemorySpanExporter(), InMemoryMetricReader()
        self.tracers, self.meters = TracerProvider(), MeterProvider([self.reader])
        self.tracers.add_span_processor(SimpleSpanProcessor(self.exporter))

    @property
    def spans(self):
        return self.exporter.get_finished_spans()

    def attributes(self, name):
        return next(span.attributes for span in self.spans if span.name == name)

    def parents(self):
        """The name of the span above each span, None for the first, by the span's name."""
        names = {span.context.span_id: span.name for span in self.spans}
        return {span.name: span.parent and names[span.parent.span_id] for span in self.spans}

    def n_traces(self):
        return len({span.context.trace_id for span in self.spans})

    def tokens(self):
        (resource,) = self.reader.get_metrics_data().resource_metrics
        points = resource.scope_metrics[0].metrics[0].data.data_points
        return {point.attributes["gen_ai.token.type"]: point.sum for point in points}


@pytest.fixture
def recorded(monkeypatch):
    recorded = Recorded()
    monkeypatch.setattr(opentelemetry.trace, "get_tracer", recorded.tracers.get_tracer)
    monkeypatch.setattr(opentelemetry.metrics, "get_meter", recorded.meters.get_meter)
    yield recorded
    recorded.meters.shutdown()


@pytest.fixture
def endpoint():
    with FakeOpenAI(answer=lambda _: ANSWER) as server:
        yield server


def ask(built, endpoint, **environ):
    reader = {"RAPTOR_READER__BASE_URL": endpoint.base_url, "OPENAI_API_KEY": "a-secret-key"}
    printed = built.call("ask", QUESTION, "--json", **reader, **environ)
    assert printed.code == 0, printed.err
    return printed.json


def test_a_question_is_one_trace_from_the_embedding_to_the_reader_without_texts(
    built, recorded, endpoint
):
    answer = ask(built, endpoint)
    assert recorded.n_traces() == 1
    chain = recorded.parents()
    (embedding,) = (name for name in chain if name.startswith("embeddings "))
    assert chain[embedding] == chain["search hybrid"] == "retrieval corpus"
    assert chain["packing"] == "search hybrid"
    assert chain["retrieval corpus"] == chain["chat gpt-4o-mini"] == "raptor ask"
    assert {name for span in recorded.spans for name in span.attributes} <= NAMES
    chat = recorded.attributes("chat gpt-4o-mini")
    assert chat["gen_ai.operation.name"] == "chat"
    assert chat["gen_ai.provider.name"] == "openai"
    assert chat["gen_ai.request.model"] == chat["gen_ai.response.model"] == "gpt-4o-mini"
    assert chat["server.address"] == "127.0.0.1"
    n_input, n_output = (chat[f"gen_ai.usage.{kind}_tokens"] for kind in ("input", "output"))
    assert recorded.tokens() == {"input": n_input, "output": n_output}
    assert n_input > n_output > 0
    retrieval = recorded.attributes("retrieval corpus")
    documents = json.loads(retrieval["gen_ai.retrieval.documents"])
    assert documents
    assert all({*document} == {"id", "score"} for document in documents)
    assert {citation["node"] for citation in answer["citations"]} <= {d["id"] for d in documents}
    sent = " ".join(span.to_json() for span in recorded.spans)
    for text in (QUESTION, "Tom Ferris", "a-secret-key"):
        assert text not in sent


def test_texts_are_recorded_when_they_are_switched_on(built, recorded, endpoint):
    ask(built, endpoint, OTEL_INSTRUMENTATION_GENAI_CAPTURE_MESSAGE_CONTENT="true")
    chat = recorded.attributes("chat gpt-4o-mini")
    (message,) = json.loads(chat["gen_ai.output.messages"])
    assert message["parts"] == [{"type": "text", "content": ANSWER}]
    assert QUESTION in json.loads(chat["gen_ai.input.messages"])[0]["parts"][0]["content"]
    assert recorded.attributes("retrieval corpus")["gen_ai.retrieval.query.text"] == QUESTION
    assert "a-secret-key" not in " ".join(span.to_json() for span in recorded.spans)


@pytest.mark.rare
def test_a_server_sends_over_otlp_and_goes_on_with_the_trace_of_its_caller(built):
    """Protobuf has ids and names as they are; texts are switched off, and not in it."""
    trace, parent = "0af7651916cd43dd8448eb211c80319c", "b7ad6b7169203331"
    search = {"name": "search", "arguments": {"question": QUESTION}}
    meta = {"traceparent": f"00-{trace}-{parent}-01"}
    ended = b"HTTP/1.1 200 OK\r\nContent-Length: 0\r\nConnection: close\r\n\r\n"
    with RawServer(lambda connection, _: connection.sendall(ended)) as receiver:
        given = {"OTEL_TRACES_EXPORTER": "otlp", "OTEL_EXPORTER_OTLP_ENDPOINT": receiver.origin}
        exchange(built.home, ("tools/call", {**search, "_meta": meta}), **given)
        sent = b"".join(r for r in receiver.requests if r.startswith(b"POST /v1/traces "))
    assert b"retrieval corpus" in sent
    assert sent.count(bytes.fromhex(trace)) > 1
    assert bytes.fromhex(parent) in sent
    assert QUESTION.encode() not in sent
