"""A Qdrant server of the tests at the wire: all that comes is recorded, and fails on demand.

Every request is checked against Qdrant's published OpenAPI description (``qdrant_checks.py``), and
every answer. Who answers is another's matter: local mode (``qdrant_stand_in.py``), or a real
server (``qdrant_proxy.py``).
"""

import json
import re
import time
from http.server import ThreadingHTTPServer
from threading import Lock, Thread

from support.clients import remember_schemas
from support.qdrant_checks import wrong_answer, wrong_request
from support.qdrant_faults import handler

_READS = re.compile("points$|scroll$|count$|query/batch$")
_CREATE = re.compile(r"/collections/([^/]+)")
_INDEX = re.compile(r"/collections/[^/]+/index")


def told(error):
    return json.dumps({"status": {"error": str(error)}, "time": 0.0}).encode()


def _singles(operations):
    """The operations of a batch, each of one point."""
    for operation in operations:
        ((kind, body),) = operation.items()
        if "points" not in body:
            yield operation
        for point in body.get("points", ()):
            yield {kind: {**body, "points": [point]}}


class Wire:
    """HTTP before a server; ``requests`` is what came, ``fail_with`` a status and body to answer.

    ``faults`` happen to the next requests, one each; None lets one pass. ``fail_after`` is a
    number of requests that change something, after which they fail, too. ``point_by_point``
    applies batches so slowly that others see every state in between. With ``keyed`` the keys of
    ``qdrant_server.py`` are asked for. ``wrong`` is what differs from the description; ``created``
    and ``indexes`` are what was asked for of collections, and of indexes by field.
    """

    def __init__(self, context=None):
        remember_schemas()
        self.requests = []
        self.wrong = []
        self.indexes = {}
        self.created = {}
        self.fail_with = None
        self.fail_after = None
        self.faults = []
        self.point_by_point = False
        self.max_bytes = 32 * 2**20
        self.keyed = False
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
        """Status, body and headers of the answer to a request."""
        bare, _, _ = path.partition("?")
        body = json.loads(data) if data else {}
        with self._lock:
            self.requests.append((method, path, body, dict(headers)))
            refused = self._refused(method, bare, path, headers, data, body)
            if refused is not None:
                return refused
            self._record(method, bare, body)
        if self.point_by_point and bare.endswith("/points/batch"):
            return self._slowly(method, path, headers, body)
        answer = self.answer(method, path, headers, data)
        wrong = answer[0] == 200 and wrong_answer(method, path, json.loads(answer[1]))
        if wrong:
            self.wrong.append(wrong)
        return answer

    def answer(self, method, path, headers, data):
        """Status, body and maybe headers of the answer to a request that is as it should be."""
        raise NotImplementedError

    def _slowly(self, method, path, headers, body):
        for single in _singles(body["operations"]):
            sent = json.dumps({"operations": [single]}).encode()
            answer = self.answer(method, path, headers, sent)
            time.sleep(0.002)
        return answer

    def _record(self, method, bare, body):
        found = _CREATE.fullmatch(bare)
        if method == "PUT" and found:
            self.created[found[1]] = body
        if method == "PUT" and _INDEX.fullmatch(bare):
            self.indexes[body["field_name"]] = body["field_schema"]

    def _refused(self, method, bare, path, headers, data, body):
        """The answer of one that fails, or to a request that nobody takes; else None."""
        writes = method != "GET" and not _READS.search(bare)
        if self.fail_with is not None:
            return self.fail_with
        barred = self.barred(headers.get("api-key"), writes)
        if barred is not None:
            return barred
        if self.fail_after is not None and writes:
            self.fail_after -= 1
            if self.fail_after < 0:
                return 503, b"gone"
        return self._malformed(method, path, data, body)

    def barred(self, _key, _writes):
        """The answer to a key that is not good enough; None where the server itself judges."""
        return

    def _malformed(self, method, path, data, body):
        if len(data) > self.max_bytes:
            return 413, told(f"Payload error: JSON payload ({len(data)} bytes) is larger")
        wrong = wrong_request(method, path, body)
        if wrong:
            self.wrong.append(wrong)
            return 400, told(f"Format error in JSON body: {wrong}")
        return None
