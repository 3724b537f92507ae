"""A look at an endpoint and its model, before anything is sent to it."""

import pytest
from support.endpoint_clients import QUICK, client_of, endpoint_of
from support.openai_server import FakeOpenAI, Fault
from support.raw_server import RawServer

from raptor_core.errors import EndpointError
from raptor_core.models.endpoints.client import EndpointClient


@pytest.mark.parametrize(
    "look",
    [
        Fault.error(404, "Not Found"),
        Fault.error(404, "Cannot GET /v1/models/small"),
        Fault.error(404, "Invalid URL (GET /v1/models/small)"),
        Fault.error(405, "Method Not Allowed"),
        Fault.error(501, "not implemented"),
        Fault.error(500, "Internal Server Error"),
        Fault.error(503, "Loading model"),
        Fault(status=403, raw=b"<html><title>Forbidden</title></html>"),
        Fault(raw=b"<html><title>Welcome</title></html>"),
        Fault(raw=b"{}"),
        Fault(raw=b"[]"),
        Fault(raw=b'{"error": "no such path"}'),
        Fault.cut_connection(),
    ],
)
def test_an_endpoint_with_another_answer_is_believed(look):
    with FakeOpenAI(look=look) as server:
        client_of(server).look_up()
        assert len(server.looks) == 1


def test_an_endpoint_that_is_late_is_believed():
    with RawServer(lambda connection, _request: connection.recv(1)) as server:
        endpoint = endpoint_of(f"{server.origin}/v1", timeout_seconds=0.3)
        EndpointClient(endpoint, QUICK).look_up()


@pytest.mark.parametrize(
    ("look", "words"),
    [
        (Fault.error(401, "Incorrect API key"), "Incorrect API key"),
        (Fault.error(403, "No access to this project"), "No access"),
        (Fault.error(404, "The model `small` does not exist"), "`small` does not exist"),
    ],
)
def test_a_wrong_key_or_model_is_an_error_in_the_words_of_the_endpoint(look, words):
    with FakeOpenAI(look=look) as server, pytest.raises(EndpointError, match=words):
        client_of(server).look_up()


def test_an_endpoint_that_is_not_there_is_an_error():
    with FakeOpenAI() as gone:
        client = client_of(gone)
    with pytest.raises(EndpointError, match="the connection failed"):
        client.look_up()
