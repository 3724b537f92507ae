"""A stand-in for a Qdrant server's gRPC service, answered by local mode.

It takes what the stand-in for HTTP holds, and shows that all that the store asks goes by gRPC, too.
"""

# ruff: noqa: N802  (the methods have the service's own names)

from concurrent import futures

import grpc as rpc
from qdrant_client import QdrantClient, grpc, models
from qdrant_client.conversions.conversion import GrpcToRest, RestToGrpc
from qdrant_client.grpc.collections_service_pb2_grpc import (
    CollectionsServicer,
    add_CollectionsServicer_to_server,
)
from qdrant_client.grpc.points_service_pb2_grpc import PointsServicer, add_PointsServicer_to_server
from support.qdrant_server import KEY


class Collections(CollectionsServicer):
    """Collections and aliases."""

    def __init__(self, client):
        self.client = client

    def List(self, request, context):
        found = [grpc.CollectionDescription(name=c.name) for c in self.named()]
        return grpc.ListCollectionsResponse(collections=found)

    def named(self):
        return self.client.get_collections().collections

    def ListAliases(self, request, context):
        found = [
            grpc.AliasDescription(alias_name=a.alias_name, collection_name=a.collection_name)
            for a in self.client.get_aliases().aliases
        ]
        return grpc.ListAliasesResponse(aliases=found)

    def UpdateAliases(self, request, context):
        actions = [GrpcToRest.convert_alias_operations(action) for action in request.actions]
        self.client.update_collection_aliases(actions)
        return grpc.CollectionOperationResponse(result=True)

    def Get(self, request, context):
        found = self.client.get_collection(request.collection_name)
        info = RestToGrpc.convert_collection_info(found)
        return grpc.GetCollectionInfoResponse(result=info)

    def CollectionExists(self, request, context):
        exists = self.client.collection_exists(request.collection_name)
        return grpc.CollectionExistsResponse(result=grpc.CollectionExists(exists=exists))

    def Create(self, request, context):
        name = request.collection_name
        if self.client.collection_exists(name):
            context.abort(rpc.StatusCode.ALREADY_EXISTS, f"Collection `{name}` already exists!")
        dense = request.vectors_config.params_map.map["dense"]
        vectors = {"dense": models.VectorParams(size=dense.size, distance=models.Distance.DOT)}
        words = {"lexical": models.SparseVectorParams()}
        self.client.create_collection(name, vectors_config=vectors, sparse_vectors_config=words)
        return grpc.CollectionOperationResponse(result=True)

    def Delete(self, request, context):
        self.client.delete_collection(request.collection_name)
        return grpc.CollectionOperationResponse(result=True)


class Points(PointsServicer):
    """Points of a collection."""

    def __init__(self, client):
        self.client = client

    def UpdateBatch(self, request, context):
        operations = [
            GrpcToRest.convert_points_update_operation(operation)
            for operation in request.operations
        ]
        self.client.batch_update_points(request.collection_name, operations)
        done = grpc.UpdateResult(operation_id=1, status=grpc.UpdateStatus.Completed)
        return grpc.UpdateBatchResponse(result=[done] * len(operations))

    def CreateFieldIndex(self, request, context):
        done = grpc.UpdateResult(operation_id=1, status=grpc.UpdateStatus.Completed)
        return grpc.PointsOperationResponse(result=done)

    def Get(self, request, context):
        found = self.client.retrieve(
            request.collection_name,
            [GrpcToRest.convert_point_id(point_id) for point_id in request.ids],
            with_payload=GrpcToRest.convert_with_payload_interface(request.with_payload),
            with_vectors=GrpcToRest.convert_with_vectors_selector(request.with_vectors),
        )
        return grpc.GetResponse(result=[_converted(point) for point in found])

    def Scroll(self, request, context):
        offset = None
        if request.HasField("offset"):
            offset = GrpcToRest.convert_point_id(request.offset)
        found, following = self.client.scroll(
            request.collection_name,
            scroll_filter=GrpcToRest.convert_filter(request.filter),
            limit=request.limit,
            offset=offset,
            with_payload=GrpcToRest.convert_with_payload_interface(request.with_payload),
            with_vectors=GrpcToRest.convert_with_vectors_selector(request.with_vectors),
        )
        points = [_converted(point) for point in found]
        if following is None:
            return grpc.ScrollResponse(result=points)
        left = RestToGrpc.convert_extended_point_id(following)
        return grpc.ScrollResponse(result=points, next_page_offset=left)

    def Count(self, request, context):
        condition = GrpcToRest.convert_filter(request.filter)
        found = self.client.count(request.collection_name, condition, exact=request.exact)
        return grpc.CountResponse(result=grpc.CountResult(count=found.count))

    def QueryBatch(self, request, context):
        asked = [GrpcToRest.convert_query_points(query) for query in request.query_points]
        for one in asked:
            one.params = None  # local mode searches exactly and warns of any
        found = self.client.query_batch_points(request.collection_name, asked)
        answers = [
            grpc.BatchResult(result=[RestToGrpc.convert_scored_point(p) for p in answer.points])
            for answer in found
        ]
        return grpc.QueryBatchResponse(result=answers)


def _converted(point):
    """A point; before 1.20 qdrant-client converts none without a payload."""
    payload = {} if point.payload is None else point.payload
    return RestToGrpc.convert_retrieved_point(point.model_copy(update={"payload": payload}))


class Failing(rpc.ServerInterceptor):
    """Records calls, and ends them with the codes that a server at the wire has in ``faults``."""

    def __init__(self, service):
        self.service = service

    def intercept_service(self, continuation, details):
        self.service.calls.append(details.method.rpartition("/")[2])
        code = self.service.faults.pop(0) if self.service.faults else None
        if self.service.bars(dict(details.invocation_metadata).get("api-key")):
            code = rpc.StatusCode.UNAUTHENTICATED
        if code is None:
            return continuation(details)

        def ended(request, context):
            context.abort(code, "the server was told to fail")

        handler = continuation(details)
        return rpc.unary_unary_rpc_method_handler(
            ended, handler.request_deserializer, handler.response_serializer
        )


class GrpcStandIn:
    """The service over local mode; ``credentials`` make it one over TLS."""

    def __init__(self, credentials=None):
        self.client = QdrantClient(":memory:")
        self.calls = []
        self.faults = []
        self.keyed = False
        self._server = rpc.server(futures.ThreadPoolExecutor(1), interceptors=[Failing(self)])
        add_CollectionsServicer_to_server(Collections(self.client), self._server)
        add_PointsServicer_to_server(Points(self.client), self._server)
        if credentials is None:
            self.port = self._server.add_insecure_port("127.0.0.1:0")
        else:
            self.port = self._server.add_secure_port("127.0.0.1:0", credentials)
        self._server.start()

    def bars(self, key):
        """Whether a key is not good enough."""
        return self.keyed and key != KEY

    def close(self):
        self._server.stop(0).wait()
        self.client.close()
