"""OpenTelemetry spans and the token metric, by its conventions for generative AI (1.41).

This module contains every attribute name, and the switch that adds texts to spans. A span costs
almost nothing until an application, or ``set_up_tracing`` for the `raptor` command, installs a
provider. See docs/traces.md.
"""

import json
import os
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from contextvars import copy_context
from typing import Any, TypeVar
from urllib.parse import urlsplit

from raptor_core.errors import MissingExtraError

Result = TypeVar("Result")

SCOPE = "raptor_core"
TEXTS = "OTEL_INSTRUMENTATION_GENAI_CAPTURE_MESSAGE_CONTENT"
"""Environment variable that adds questions, prompts and answers to spans."""

_BUCKETS = [4**power for power in range(14)]  # boundaries that the conventions advise


def records_texts() -> bool:
    """Return whether spans contain texts; by default they do not."""
    return os.environ.get(TEXTS, "").lower() in {"true", "span_only", "span_and_event"}


def set_up_tracing() -> None:
    """Install the SDK in this process if ``OTEL_TRACES_EXPORTER`` is "otlp".

    The SDK reads the other standard variables, such as ``OTEL_EXPORTER_OTLP_ENDPOINT``.

    Raises:
        MissingExtraError: the extra ``otel`` is not installed.
    """
    if os.environ.get("OTEL_TRACES_EXPORTER") != "otlp":
        return
    try:
        from opentelemetry import metrics, trace
        from opentelemetry.exporter.otlp.proto.http.metric_exporter import OTLPMetricExporter
        from opentelemetry.exporter.otlp.proto.http.trace_exporter import OTLPSpanExporter
        from opentelemetry.sdk.metrics import MeterProvider
        from opentelemetry.sdk.metrics.export import PeriodicExportingMetricReader
        from opentelemetry.sdk.trace import TracerProvider
        from opentelemetry.sdk.trace.export import BatchSpanProcessor
    except ModuleNotFoundError as error:
        raise MissingExtraError("otel", "OTEL_TRACES_EXPORTER=otlp") from error
    os.environ.setdefault("OTEL_SERVICE_NAME", "raptor")
    provider = TracerProvider()
    provider.add_span_processor(BatchSpanProcessor(OTLPSpanExporter()))
    trace.set_tracer_provider(provider)
    if os.environ.get("OTEL_METRICS_EXPORTER", "otlp") == "otlp":
        reader = PeriodicExportingMetricReader(OTLPMetricExporter())
        metrics.set_meter_provider(MeterProvider([reader]))


@contextmanager
def span(
    name: str, values: Mapping[str, Any] | None = None, kind: str = "INTERNAL"
) -> Iterator[Any]:
    """Run a block in a span, and yield the span, or None if no provider records spans.

    Of a failure only the type is recorded, because its message may contain texts.
    """
    from opentelemetry import trace

    with trace.get_tracer(SCOPE).start_as_current_span(
        name,
        kind=trace.SpanKind[kind],
        attributes=values,
        record_exception=False,
        set_status_on_exception=False,
    ) as current:
        if not current.is_recording():
            yield None
            return
        try:
            yield current
        except BaseException as error:
            current.set_attribute("error.type", type(error).__name__)
            current.set_status(trace.StatusCode.ERROR)
            raise


def with_context(function: Callable[..., Result]) -> Callable[..., Result]:
    """Return a function whose spans are children of the current span, also in other threads."""
    context = copy_context()
    return lambda *values: context.copy().run(function, *values)


def model_call_attributes(
    operation: str, model: str, provider: str, address: str = ""
) -> dict[str, Any]:
    """Return the span attributes of a model call; ``address`` is the URL of its endpoint."""
    values: dict[str, Any] = {
        "gen_ai.operation.name": operation,
        "gen_ai.provider.name": provider,
        "gen_ai.request.model": model,
    }
    parts = urlsplit(address)
    if parts.hostname:
        port = parts.port or (443 if parts.scheme == "https" else 80)
        values |= {"server.address": parts.hostname, "server.port": port}
    return values


def record_response(response: object) -> None:
    """Record the model that an endpoint names in its answer in the current span."""
    from opentelemetry import trace

    model = response.get("model") if isinstance(response, Mapping) else None
    if isinstance(model, str):
        trace.get_current_span().set_attribute("gen_ai.response.model", model)


def record_usage(values: Mapping[str, Any], input_tokens: int, output_tokens: int = 0) -> None:
    """Record the tokens of a call in the current span and in ``gen_ai.client.token.usage``."""
    from opentelemetry import metrics, trace

    histogram = metrics.get_meter(SCOPE).create_histogram(
        "gen_ai.client.token.usage",
        "{token}",
        "Number of input and output tokens used.",
        explicit_bucket_boundaries_advisory=_BUCKETS,
    )
    for kind, tokens in (("input", input_tokens), ("output", output_tokens)):
        if tokens:
            trace.get_current_span().set_attribute(f"gen_ai.usage.{kind}_tokens", tokens)
            histogram.record(tokens, {**values, "gen_ai.token.type": kind})


def record_messages(current: Any, system: str, user: str, answer: str) -> None:
    """Record a prompt and its answer in a span, if spans contain texts."""
    if current is not None and records_texts():
        current.set_attribute(
            "gen_ai.system_instructions", json.dumps([{"type": "text", "content": system}])
        )
        for name, role, text in (("input", "user", user), ("output", "assistant", answer)):
            message: dict[str, Any] = {"role": role, "parts": [{"type": "text", "content": text}]}
            if name == "output":
                message["finish_reason"] = "stop"
            current.set_attribute(f"gen_ai.{name}.messages", json.dumps([message]))


def record_retrieved_nodes(
    current: Any, questions: Sequence[str], scores: Sequence[tuple[str, float]]
) -> None:
    """Record ids and scores of retrieved nodes in a span, and questions if spans contain texts."""
    if current is not None:
        documents = [{"id": node_id, "score": score} for node_id, score in scores]
        current.set_attribute("gen_ai.retrieval.documents", json.dumps(documents))
        if records_texts():
            current.set_attribute("gen_ai.retrieval.query.text", "\n".join(questions))
