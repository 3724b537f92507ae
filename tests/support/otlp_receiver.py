"""A real OTLP/HTTP receiver on the loopback that decodes protobuf and writes lines to a file."""

from __future__ import annotations

import json
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from gzip import decompress
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from typing import Any

from google.protobuf.json_format import MessageToDict
from opentelemetry.proto.collector.metrics.v1.metrics_service_pb2 import (
    ExportMetricsServiceRequest,
)
from opentelemetry.proto.collector.trace.v1.trace_service_pb2 import ExportTraceServiceRequest

REQUESTS = {"/v1/traces": ExportTraceServiceRequest, "/v1/metrics": ExportMetricsServiceRequest}


class Received:
    """Spans and metrics in the file of a receiver, and the environment that sends them there."""

    def __init__(self, path: Path, address: str) -> None:
        self.path = path
        self.environ = {
            "OTEL_TRACES_EXPORTER": "otlp",
            "OTEL_EXPORTER_OTLP_ENDPOINT": address,
            "OTEL_BSP_SCHEDULE_DELAY": "50",
        }

    def _items(self, *keys: str) -> Iterator[Any]:
        for line in self.path.read_text().splitlines():
            resources = json.loads(line).get(keys[0], [])
            scopes = [scope for resource in resources for scope in resource[keys[1]]]
            yield from (item for scope in scopes for item in scope.get(keys[2], []))

    @property
    def spans(self) -> list[dict[str, Any]]:
        found = list(self._items("resourceSpans", "scopeSpans", "spans"))
        return [{**span, "attributes": values(span)} for span in found]

    @property
    def token_points(self) -> list[dict[str, Any]]:
        metrics = self._items("resourceMetrics", "scopeMetrics", "metrics")
        usage = [m for m in metrics if m["name"] == "gen_ai.client.token.usage"]
        points = [point for metric in usage for point in metric["histogram"]["dataPoints"]]
        return [{**point, "attributes": values(point)} for point in points]

    def span(self, name: str) -> dict[str, Any]:
        return next(span for span in self.spans if span["name"] == name)


def values(item: dict[str, Any]) -> dict[str, Any]:
    """The attributes of a span as plain values."""
    return {a["key"]: next(iter(a["value"].values())) for a in item.get("attributes", ())}


@contextmanager
def receiving(folder: Path) -> Iterator[Received]:
    path, lock = folder / "otlp.jsonl", threading.Lock()
    path.touch()

    class Handler(BaseHTTPRequestHandler):
        def do_POST(self):
            body = self.rfile.read(int(self.headers["Content-Length"]))
            if self.headers.get("Content-Encoding") == "gzip":
                body = decompress(body)
            message = REQUESTS[self.path].FromString(body)
            with lock, path.open("a") as file:
                file.write(json.dumps(MessageToDict(message)) + "\n")
            self.send_response(200)
            self.send_header("Content-Type", "application/x-protobuf")
            self.send_header("Content-Length", "0")
            self.end_headers()

        def log_message(self, *_values):
            pass

    server = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
    thread = threading.Thread(target=server.serve_forever)
    thread.start()
    try:
        yield Received(path, f"http://127.0.0.1:{server.server_port}")
    finally:
        server.shutdown()
        thread.join()
        server.server_close()
