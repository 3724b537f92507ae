"""A stand-in for a Qdrant server: its REST routes over HTTP, answered by local mode.

It proves what the client sends and reads at the wire, not how a server behaves under load. Every
request is checked against Qdrant's published OpenAPI description (``qdrant_checks.py``), and every
answer of the stand-in itself; it fails on demand.
"""

import json
import re
import time
from http.server import ThreadingHTTPServer
from threading import Lock, Thread

from pydantic import BaseModel, TypeAdapter
from qdrant_client import QdrantClient, models
from support.qdrant_checks import wrong_answer, wrong_request
from support.qdrant_faults import handler

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


def told(error):
    return json.dumps({"status": {"error": str(error)}, "time": 0.0}).encode()


def _singles(operation):
    if isinstance(operation, models.UpsertOperation):
        only = operation.upsert.update_filter
        for point in operation.upsert.points:
            single = models.PointsList(points=[point], update_filter=only)
            yield models.UpsertOperation(upsert=single)
    elif isinstance(operation.delete, models.FilterSelector):
        yield operation
    else:
        for point_id in operation.delete.points:
            yield models.DeleteOperation(delete=models.PointIdsList(points=[point_id]))


class StandIn:
    """The server; ``requests`` is what came, ``fail_with`` a status and body to answer instead.

    ``faults`` happen to the next requests, one each; None lets one pass. ``fail_after`` is a
    number of requests that change something, after which they fail, too. ``point_by_point``
    applies batches so slowly that others see every state in between. ``key`` is asked of each
    request, ``reading_key`` may only read. ``wrong`` is what differs from the description.
    """

    def __init__(self, context=None):
        self.client = QdrantClient(":memory:")
        self.requests = []
        self.wrong = []
        self.indexes = {}
        self.created = {}
        self.fail_with = None
        self.fail_after = None
        self.faults = []
        self.point_by_point = False
        self.max_bytes = 32 * 2**20
        self.key = None
        self.reading_key = None
        self._lock = Lock()
        self._server = ThreadingHTTPServer(("127.0.0.1", 0), handler(self))
        self._server.daemon_threads = True
        if context is not None:
            self._server.socket = context.wrap_socket(self._server.socket, server_side=True)
        self._thread = Thread(target=self._server.serve_forever, args=(0.02,), daemon=True)
        self._thread.start()
        scheme = "http" if context is None else "https"
        self.url = f"{scheme}://127.0.0.1:{self._server.server_port}"

    def close(self):
        self._server.shutdown()
        self._server.server_close()
        self._thread.join()
        self.client.close()

    def points(self, collection):
        """All points of a collection, for tests to look at."""
        return self.client.scroll(collection, limit=10_000)[0]

    def fault(self, path):
        """What happens to the next request."""
        with self._lock:
            due = self.faults and (self.faults[0] is None or self.faults[0].only in path)
            return self.faults.pop(0) if due else None

    def respond(self, method, path, headers, data):
        bare, _, _ = path.partition("?")
        body = json.loads(data) if data else {}
        with self._lock:
            self.requests.append((method, path, body, dict(headers)))
            refused = self._refused(method, bare, path, headers, data, body)
            if refused is not None:
                return refused
            for verb, pattern, name in ROUTES:
                found = re.fullmatch(pattern, bare)
                if verb == method and found:
                    return self._answer(name, found.groups(), method, path, body)
        return 404, told("no such route")

    def _refused(self, method, bare, path, headers, data, body):
        writes = method != "GET" and not _READS.search(bare)
        if self.fail_with is not None:
            return self.fail_with
        if self.key is not None and headers.get("api-key") != self.key:
            if writes and headers.get("api-key") == self.reading_key:
                return 403, told("Forbidden: Global write access is required")
            if headers.get("api-key") != self.reading_key:
                return 401, b"Must provide an API key or an Authorization bearer token"
        if self.fail_after is not None and writes:
            self.fail_after -= 1
            if self.fail_after < 0:
                return 503, b"gone"
        return self._malformed(method, path, data, body)

    def _malformed(self, method, path, data, body):
        if len(data) > self.max_bytes:
            return 413, told(f"Payload error: JSON payload ({len(data)} bytes) is larger")
        wrong = wrong_request(method, path, body)
        if wrong:
            self.wrong.append(wrong)
            return 400, told(f"Format error in JSON body: {wrong}")
        return None

    def _answer(self, name, groups, method, path, body):
        try:
            result = getattr(self, f"on_{name}")(*groups, body)
        except FileExistsError as error:
            return 409, told(f"Wrong input: Collection `{error}` already exists!")
        except ValueError as error:  # local mode's way to say no
            return 404 if "not found" in str(error) else 400, told(error)
        answer = {"result": plain(result), "status": "ok", "time": 0.0}
        wrong = wrong_answer(method, path, answer)
        if wrong:
            self.wrong.append(wrong)
        return 200, json.dumps(answer).encode()

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
        if self.client.collection_exists(name):
            raise FileExistsError(name)
        self.created[name] = body
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
        for request in requests:
            request.params = None  # local mode searches exactly and warns of any
        return self.client.query_batch_points(name, requests)
