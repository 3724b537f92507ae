"""Stand-in for a Qdrant server over HTTP: it answers from local mode, and fails on demand.

Like a collection in strict mode it refuses a filter by a field without an index. It proves what
the client sends and reads, not how a server behaves.
"""

import json
import re
import socket
import struct
import time
from dataclasses import dataclass, field
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from threading import Lock, Thread
from typing import ClassVar

from pydantic import BaseModel, TypeAdapter
from qdrant_client import QdrantClient, models
from support.clients import remember_schemas
from support.qdrant_server import KEY, READING_KEY

ROUTES = [
    ("POST", r"/collections/aliases", "change_aliases"),
    ("GET", r"/collections", "collections"),
    ("GET", r"/collections/([^/]+)", "collection"),
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


@dataclass(frozen=True)
class Fault:
    """Fault of one request: after ``delay`` seconds a cut, a status, or the true answer for 0.

    ``applied`` carries the request out first. The fault waits for a path that holds ``only``.
    """

    status: int = 0
    body: bytes = b""
    headers: dict = field(default_factory=dict)
    delay: float = 0.0
    cut: bool = False
    applied: bool = False
    only: str = ""


def problem(error):
    return json.dumps({"status": {"error": str(error)}, "time": 0.0}).encode()


def plain(value):
    if isinstance(value, BaseModel):
        return value.model_dump(mode="json", exclude_none=True)
    if isinstance(value, list | tuple):
        return [plain(item) for item in value]
    return value


def filtered_fields(part):
    """Yield each field that a request filters by, and whether by a range."""
    if isinstance(part, dict):
        if "key" in part and {"match", "range"} & part.keys():
            yield part["key"], "range" in part
        part = list(part.values())
    if isinstance(part, list):
        for each in part:
            yield from filtered_fields(each)


class StandIn:
    """The server; ``requests`` is what came, ``fail_with`` a status and body to answer.

    ``faults`` happen to the next requests, one each; None lets one pass. ``fail_after`` is a
    number of requests that change something, after which they fail, too. With ``keyed`` the keys
    of ``qdrant_server.py`` are needed. ``created`` and ``indexed`` are the options of collections,
    and of their indexes by field.
    """

    def __init__(self, context=None):
        remember_schemas()
        self.client = QdrantClient(":memory:")
        self.requests, self.faults = [], []
        self.indexed, self.created = {}, {}
        self.fail_with = self.fail_after = None
        self.max_bytes = 32 * 2**20
        self.keyed = False
        self._lock = Lock()
        answering = type("Answering", (Handler,), {"server_of_tests": self})
        self._server = ThreadingHTTPServer(("127.0.0.1", 0), answering)
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
        """Return the fault of the next request, if any."""
        with self._lock:
            due = self.faults and (self.faults[0] is None or self.faults[0].only in path)
            return (self.faults.pop(0) if due else None) or Fault()

    def respond(self, method, path, headers, data):
        """Return status and body of the answer to a request."""
        bare, body = path.partition("?")[0], json.loads(data) if data else {}
        with self._lock:
            self.requests.append((method, path, body, dict(headers)))
            writes = method != "GET" and not _READS.search(bare)
            refused = self._refused(headers.get("api-key"), data, writes=writes)
            return refused or self._answer(method, bare, body)

    def _refused(self, key, data, *, writes):
        if self.fail_with is not None:
            return self.fail_with
        if self.keyed and writes and key == READING_KEY:
            return 403, problem("Forbidden: Global write access is required")
        if self.keyed and key not in (KEY, READING_KEY):
            return 401, b"Must provide an API key or an Authorization bearer token"
        if self.fail_after is not None and writes:
            self.fail_after -= 1
            if self.fail_after < 0:
                return 503, b"gone"
        if len(data) > self.max_bytes:
            return 413, problem(f"Payload error: JSON payload ({len(data)} bytes) is larger")
        return None

    def _answer(self, method, bare, body):
        matches = (
            (name, re.fullmatch(route, bare)) for verb, route, name in ROUTES if verb == method
        )
        name, match = next((pair for pair in matches if pair[1]), ("", None))
        if match is None:
            return 404, problem("no such route")
        try:
            if _READS.search(bare):
                self._require_indexes(*match.groups(), body)
            result = getattr(self, f"on_{name}")(*match.groups(), body)
        except FileExistsError as error:
            return 409, problem(f"Wrong input: Collection `{error}` already exists!")
        except ValueError as error:  # of local mode, and of pydantic
            return 404 if "not found" in str(error) else 400, problem(error)
        return 200, json.dumps({"result": plain(result), "status": "ok", "time": 0.0}).encode()

    def _require_indexes(self, collection, body):
        """Refuse what strict mode refuses of a collection that is there."""
        indexed = self.indexed.get(self.named(collection), {})
        for name, is_range in filtered_fields(body):
            kinds = {"float", "integer"} if is_range else {"keyword", "integer"}
            kind = indexed.get(name, {}).get("type")
            if kind not in kinds and self.client.collection_exists(collection):
                raise ValueError(f"Bad request: Index required for {name!r}, one of {kinds}")

    def named(self, name):
        """The collection of an alias; any other name as it is."""
        aliases = {a.alias_name: a.collection_name for a in self.client.get_aliases().aliases}
        return aliases.get(name, name)

    def on_change_aliases(self, body):
        request = models.ChangeAliasesOperation(**body)
        return self.client.update_collection_aliases(request.actions)

    def on_collections(self, body):
        return self.client.get_collections()

    def on_collection(self, name, body):
        info = plain(self.client.get_collection(name))
        kinds = {
            field: schema["type"]
            for field, schema in self.indexed.get(self.named(name), {}).items()
        }
        schema = {field: {"data_type": kind, "points": 0} for field, kind in kinds.items()}
        return info | {"payload_schema": schema}

    def on_delete(self, name, body):
        return self.client.delete_collection(name)

    def on_create(self, name, body):
        self.created[name] = body
        if self.client.collection_exists(name):
            raise FileExistsError(name)
        request = models.CreateCollection(**body)
        for params in request.vectors.values():
            # a server leaves unit vectors alone under Cosine; local mode does so under Dot only
            assert params.distance is models.Distance.COSINE
            params.distance = models.Distance.DOT
        return self.client.create_collection(
            name,
            vectors_config=request.vectors,
            sparse_vectors_config=request.sparse_vectors,
            metadata=request.metadata,
        )

    def on_index(self, name, body):
        self.indexed.setdefault(name, {})[body["field_name"]] = body["field_schema"]
        return {"operation_id": 0, "status": "completed"}

    def on_batch(self, name, body):
        return self.client.batch_update_points(name, models.UpdateOperations(**body).operations)

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
            idf = request.params and request.params.idf
            # local mode searches exactly and warns of other parameters
            request.params = models.SearchParams(idf=idf) if idf else None
        return self.client.query_batch_points(name, requests)


class Handler(BaseHTTPRequestHandler):
    """Answers the requests to a stand-in."""

    server_of_tests: ClassVar[StandIn]

    def answer(self):
        data = self.rfile.read(int(self.headers.get("content-length") or 0))
        server = self.server_of_tests
        fault = server.fault(self.path)
        true = None
        if fault.applied or not (fault.status or fault.cut):
            true = server.respond(self.command, self.path, self.headers, data)
        time.sleep(fault.delay)
        if fault.cut:  # as a machine that died or a firewall does it
            linger = struct.pack("ii", 1, 0)
            self.connection.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, linger)
            self.close_connection = True
        elif fault.status:
            self.send(fault.status, fault.body, fault.headers)
        else:
            self.send(*true)

    def send(self, status, body, headers=()):
        self.send_response(status)
        self.send_header("content-type", "application/json")
        self.send_header("content-length", str(len(body)))
        for name, value in dict(headers).items():
            self.send_header(name, value)
        self.end_headers()
        self.wfile.write(body)

    do_GET = do_POST = do_PUT = do_DELETE = answer  # noqa: N815

    def log_message(self, *_):
        """Keep the tests' output clean."""
