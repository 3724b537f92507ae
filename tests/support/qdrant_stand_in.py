"""A stand-in for a Qdrant server: its REST routes over HTTP, answered by local mode.

It proves what the client sends and reads at the wire, not how a server behaves under load.
"""

import json
import re
import time
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from threading import Lock, Thread

from pydantic import BaseModel, TypeAdapter
from qdrant_client import QdrantClient, models

ROUTES = [
    ("GET", r"/aliases", "aliases"),
    ("POST", r"/collections/aliases", "change_aliases"),
    ("GET", r"/collections", "collections"),
    ("GET", r"/collections/([^/]+)/exists", "exists"),
    ("DELETE", r"/collections/([^/]+)", "delete"),
    ("PUT", r"/collections/([^/]+)", "create"),
    ("PUT", r"/collections/([^/]+)/index", "index"),
    ("POST", r"/collections/([^/]+)/points/batch", "batch"),
    ("POST", r"/collections/([^/]+)/points", "retrieve"),
    ("POST", r"/collections/([^/]+)/points/scroll", "scroll"),
    ("POST", r"/collections/([^/]+)/points/count", "count"),
    ("POST", r"/collections/([^/]+)/points/query/batch", "query"),
]


_READS = re.compile("points$|scroll$|count$|query/batch$")


def plain(value):
    if isinstance(value, BaseModel):
        return value.model_dump(mode="json", exclude_none=True)
    if isinstance(value, list | tuple):
        return [plain(item) for item in value]
    return value


def _singles(operation):
    if isinstance(operation, models.UpsertOperation):
        for point in operation.upsert.points:
            yield models.UpsertOperation(upsert=models.PointsList(points=[point]))
    else:
        for point_id in operation.delete.points:
            yield models.DeleteOperation(delete=models.PointIdsList(points=[point_id]))


class StandIn:
    """The server; ``requests`` is what came, ``fail_with`` a status and body to answer instead.

    ``fail_after`` is a number of requests that change something, after which they fail, too.
    ``point_by_point`` applies batches so slowly that others see every state in between.
    """

    def __init__(self):
        self.client = QdrantClient(":memory:")
        self.requests = []
        self.indexes = {}
        self.fail_with = None
        self.fail_after = None
        self.point_by_point = False
        self._lock = Lock()
        stand_in = self

        class Handler(BaseHTTPRequestHandler):
            def answer(self):
                data = self.rfile.read(int(self.headers.get("content-length") or 0))
                status, body = stand_in.respond(self.command, self.path, self.headers, data)
                self.send_response(status)
                self.send_header("content-type", "application/json")
                self.send_header("content-length", str(len(body)))
                self.end_headers()
                self.wfile.write(body)

            do_GET = do_POST = do_PUT = do_DELETE = answer  # noqa: N815

            def log_message(self, *_):
                """Keep the tests' output clean."""

        self._server = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
        self._server.daemon_threads = True
        self._thread = Thread(target=self._server.serve_forever, args=(0.02,), daemon=True)
        self._thread.start()
        self.url = f"http://127.0.0.1:{self._server.server_port}"

    def close(self):
        self._server.shutdown()
        self._server.server_close()
        self._thread.join()
        self.client.close()

    def points(self, collection):
        """All points of a collection, for tests to look at."""
        return self.client.scroll(collection, limit=10_000)[0]

    def respond(self, method, path, headers, data):
        bare, _, _ = path.partition("?")
        body = json.loads(data) if data else {}
        with self._lock:
            self.requests.append((method, path, body, dict(headers)))
            if self.fail_with is not None:
                return self.fail_with
            if self.fail_after is not None and (method != "GET" and not _READS.search(bare)):
                self.fail_after -= 1
                if self.fail_after < 0:
                    return 503, b"gone"
            for verb, pattern, name in ROUTES:
                found = re.fullmatch(pattern, bare)
                if verb == method and found:
                    try:
                        result = getattr(self, f"on_{name}")(*found.groups(), body)
                    except ValueError as error:  # local mode's way to say that it is not there
                        return 404, json.dumps({"status": {"error": str(error)}}).encode()
                    return 200, json.dumps(
                        {"result": plain(result), "status": "ok", "time": 0.0}
                    ).encode()
        return 404, b'{"status": {"error": "no such route"}}'

    def on_aliases(self, body):
        return self.client.get_aliases()

    def on_change_aliases(self, body):
        request = models.ChangeAliasesOperation(**body)
        return self.client.update_collection_aliases(request.actions)

    def on_collections(self, body):
        return self.client.get_collections()

    def on_delete(self, name, body):
        return self.client.delete_collection(name)

    def on_exists(self, name, body):
        return {"exists": self.client.collection_exists(name)}

    def on_create(self, name, body):
        request = models.CreateCollection(**body)
        for params in request.vectors.values():
            # a server leaves unit vectors alone under Cosine; local mode does so under Dot only
            assert params.distance is models.Distance.COSINE
            params.distance = models.Distance.DOT
        return self.client.create_collection(
            name,
            vectors_config=request.vectors,
            sparse_vectors_config=request.sparse_vectors,
        )

    def on_index(self, name, body):
        self.indexes[body["field_name"]] = body["field_schema"]
        return {"operation_id": 0, "status": "completed"}

    def on_batch(self, name, body):
        operations = models.UpdateOperations(**body).operations
        if not self.point_by_point:
            return self.client.batch_update_points(name, operations)
        for operation in operations:
            for single in _singles(operation):
                self.client.batch_update_points(name, [single])
                self._lock.release()
                time.sleep(0.002)
                self._lock.acquire()
        return []

    def on_retrieve(self, name, body):
        request = models.PointRequest(**body)
        return self.client.retrieve(
            name, request.ids, with_payload=request.with_payload, with_vectors=request.with_vector
        )

    def on_scroll(self, name, body):
        request = models.ScrollRequest(**body)
        points, offset = self.client.scroll(
            name,
            scroll_filter=request.filter,
            limit=request.limit,
            offset=request.offset,
            with_payload=request.with_payload,
            with_vectors=request.with_vector,
        )
        return {"points": plain(points), "next_page_offset": offset}

    def on_count(self, name, body):
        request = models.CountRequest(**body)
        return self.client.count(name, count_filter=request.filter, exact=request.exact)

    def on_query(self, name, body):
        requests = TypeAdapter(list[models.QueryRequest]).validate_python(body["searches"])
        return self.client.query_batch_points(name, requests)
