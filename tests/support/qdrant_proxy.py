"""A real Qdrant server behind a wire that records what comes, and fails on demand.

Over HTTP (``Proxy``) and over gRPC (``GrpcProxy``), whose calls are passed on as bytes.
"""

from concurrent import futures
from http.client import HTTPConnection, HTTPException

import grpc as rpc
from support.qdrant_faults import GoneError
from support.qdrant_grpc_stand_in import Failing
from support.qdrant_server import KEY
from support.qdrant_wire import Wire

ANY_SIZE = [("grpc.max_receive_message_length", -1), ("grpc.max_send_message_length", -1)]
PASSED_ON = {"api-key", "content-type"}


class Proxy(Wire):
    """HTTP; ``kill`` and ``start`` are the server's own."""

    def __init__(self, server, context=None):
        self.server = server
        self.client = server.client()
        super().__init__(context)

    def kill(self):
        self.server.kill()

    def answer(self, method, path, headers, data):
        sent = {name: value for name, value in headers.items() if name.lower() in PASSED_ON}
        connection = HTTPConnection("127.0.0.1", self.server.port, timeout=60)
        try:
            connection.request(method, path, data, sent if self.keyed else {**sent, "api-key": KEY})
            answer = connection.getresponse()
            return answer.status, answer.read()
        except (OSError, HTTPException) as error:
            raise GoneError from error
        finally:
            connection.close()


class Passing(rpc.GenericRpcHandler):
    """Sends every call on, as it came."""

    def __init__(self, proxy):
        self.proxy = proxy

    def service(self, details):
        def answer(request, context):
            given = [(n, v) for n, v in context.invocation_metadata() if n == "api-key"]
            key = given if self.proxy.keyed else [("api-key", KEY)]
            try:
                call = self.proxy.channel.unary_unary(details.method)
                return call(request, metadata=key, timeout=context.time_remaining())
            except rpc.RpcError as error:
                context.abort(error.code(), error.details())

        return rpc.unary_unary_rpc_method_handler(answer)


class GrpcProxy:
    """gRPC; ``credentials`` make it one over TLS. ``calls`` are the names of what came.

    ``faults`` are the codes that the next calls end with, None lets one pass.
    """

    def __init__(self, server, credentials=None):
        self.calls = []
        self.faults = []
        self.keyed = False
        self.client = server.client()
        self.channel = rpc.insecure_channel(f"127.0.0.1:{server.grpc_port}", ANY_SIZE)
        self._server = rpc.server(
            futures.ThreadPoolExecutor(8),
            handlers=[Passing(self)],
            interceptors=[Failing(self)],
            options=ANY_SIZE,
        )
        if credentials is None:
            self.port = self._server.add_insecure_port("127.0.0.1:0")
        else:
            self.port = self._server.add_secure_port("127.0.0.1:0", credentials)
        self._server.start()

    def bars(self, _key):
        """The server itself judges."""
        return False

    def close(self):
        self._server.stop(0).wait()
        self.channel.close()
        self.client.close()
