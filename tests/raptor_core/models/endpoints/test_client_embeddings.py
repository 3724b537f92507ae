"""Embeddings as they come from an endpoint."""

import numpy as np
import pytest
from support.endpoint_clients import client_of
from support.openai_server import FakeOpenAI, Fault, hash_vector

from raptor_core.errors import EndpointError


@pytest.mark.parametrize("knows_base64", [True, False])
def test_embeddings_come_in_the_order_of_the_texts(knows_base64):
    with FakeOpenAI(knows_base64=knows_base64) as server:
        vectors = client_of(server).embed(["b", "a", "c"])
    assert vectors.dtype == np.float32
    np.testing.assert_array_equal(vectors, [hash_vector(text, 8) for text in "bac"])


@pytest.mark.parametrize(
    "raw",
    [
        b"{}",
        b'{"data": []}',
        b'{"data": [{"index": 1, "embedding": [1.0]}]}',
        b'{"data": [{"index": 0, "embedding": []}]}',
        b'{"data": [{"index": 0, "embedding": "?"}]}',
        b'{"data": [{"index": 0, "embedding": [NaN]}]}',
        b'{"data": [{"index": 0, "embedding": [1.0]}, {"index": 0, "embedding": [1.0]}]}',
    ],
)
def test_embeddings_that_are_no_vectors_are_faults(server, raw):
    server.fail(Fault.malformed(raw), times=None)
    with pytest.raises(EndpointError, match="after 3 attempts"):
        client_of(server).embed(["one"])
