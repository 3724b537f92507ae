"""A stand-in for a Qdrant server: its REST routes over HTTP, answered by local mode.

It serves where no binary of a server is found. It proves what the client sends and reads at the
wire, not how a server behaves.
"""

import json
import re

from pydantic import BaseModel, TypeAdapter
from qdrant_client import QdrantClient, models
from support.qdrant_server import KEY, READING_KEY
from support.qdrant_wire import Wire, told

ROUTES = [
    ("GET", r"/aliases", "aliases"),
    ("POST", r"/collections/aliases", "change_aliases"),
    ("GET", r"/collections", "collections"),
    ("GET", r"/collections/([^/]+)/exists", "exists"),
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


def plain(value):
    if isinstance(value, BaseModel):
        return value.model_dump(mode="json", exclude_none=True)
    if isinstance(value, list | tuple):
        return [plain(item) for item in value]
    return value


class StandIn(Wire):
    """The server at the wire, over local mode."""

    def __init__(self, context=None):
        self.client = QdrantClient(":memory:")
        self._shards = {}
        super().__init__(context)

    def barred(self, key, writes):
        if not self.keyed or key == KEY or (key == READING_KEY and not writes):
            return None
        if key == READING_KEY:
            return 403, told("Forbidden: Global write access is required")
        return 401, b"Must provide an API key or an Authorization bearer token"

    def answer(self, method, path, headers, data):
        bare, body = path.partition("?")[0], json.loads(data) if data else {}
        with self._lock:
            for verb, pattern, name in ROUTES:
                found = re.fullmatch(pattern, bare)
                if verb == method and found:
                    return self._answer(name, found.groups(), body)
        return 404, told("no such route")

    def _answer(self, name, groups, body):
        try:
            result = getattr(self, f"on_{name}")(*groups, body)
        except FileExistsError as error:
            return 409, told(f"Wrong input: Collection `{error}` already exists!")
        except ValueError as error:  # local mode's way to say no
            return 404 if "not found" in str(error) else 400, told(error)
        return 200, json.dumps({"result": plain(result), "status": "ok", "time": 0.0}).encode()

    def on_aliases(self, body):
        return self.client.get_aliases()

    def on_change_aliases(self, body):
        request = models.ChangeAliasesOperation(**body)
        return self.client.update_collection_aliases(request.actions)

    def on_collections(self, body):
        return self.client.get_collections()

    def on_collection(self, name, body):
        described = self.client.get_collection(name)
        described.config.params.shard_number = self._shards.get(name, 1)
        return described

    def on_delete(self, name, body):
        return self.client.delete_collection(name)

    def on_exists(self, name, body):
        return {"exists": self.client.collection_exists(name)}

    def on_create(self, name, body):
        if self.client.collection_exists(name):
            raise FileExistsError(name)
        request = models.CreateCollection(**body)
        for params in request.vectors.values():
            # a server leaves unit vectors alone under Cosine; local mode does so under Dot only
            assert params.distance is models.Distance.COSINE
            params.distance = models.Distance.DOT
        self._shards[name] = request.shard_number or 1  # local mode has no shards
        return self.client.create_collection(
            name,
            vectors_config=request.vectors,
            sparse_vectors_config=request.sparse_vectors,
        )

    def on_index(self, name, body):
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
            request.params = None  # local mode searches exactly and warns of any
        return self.client.query_batch_points(name, requests)
