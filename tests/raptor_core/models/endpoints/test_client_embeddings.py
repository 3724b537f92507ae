"""Embeddings as they come from an endpoint."""

import numpy as np
import pytest
from support.endpoint_clients import QUICK, client_of
from support.openai_server import FakeOpenAI, Fault, hash_vector

from raptor_core.errors import AnswerError, EndpointError
from raptor_core.models.endpoints.answers import read_embeddings
from raptor_core.models.endpoints.client import EndpointClient
from raptor_core.settings import EmbedderSettings


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
        b'{"data": [{"index": 0, "embedding": [1.0]}, {"index": 0, "embedding": [1.0]}]}',
    ],
)
def test_embeddings_that_are_no_vectors_are_faults(server, raw):
    server.fail(Fault.malformed(raw), times=None)
    with pytest.raises(EndpointError, match="after 3 attempts"):
        client_of(server).embed(["one"])


TEXTS = [f"text {n}" for n in range(20)]


@pytest.mark.parametrize(
    "message",
    [
        "Invalid 'input': array too long. Expected an array with maximum length 6.",
        "Too many inputs in request. Split into more batches.",
        "batch size is invalid, it should not be larger than 6.",
        "List should have at most 6 items after validation, not 20",
        "at most 6 requests can be in one batch",
    ],
)
def test_a_batch_above_the_limit_of_an_endpoint_names_the_setting(server, message):
    server.refuse = lambda _seen: Fault.error(413, message)
    client = EndpointClient(EmbedderSettings(kind="openai", base_url=server.base_url), QUICK)
    with pytest.raises(EndpointError, match=r"after 1 attempt.*lower embedder\.batch_size"):
        client.embed(TEXTS)


def test_a_text_beyond_the_length_of_the_model_is_found_and_handed_back(server):
    def refuse(seen):
        is_long = any(len(text) > 100 for text in seen.body["input"])
        return Fault.error(500, "input (600 tokens) is too large to process") if is_long else None

    server.refuse = refuse
    client = EndpointClient(EmbedderSettings(kind="openai", base_url=server.base_url), QUICK)
    long = "long " * 50
    with pytest.raises(AnswerError, match=r"lower chunking\.max_tokens") as caught:
        client.embed([*TEXTS, long])
    assert caught.value.text == long


@pytest.mark.parametrize(
    "answer",
    [
        {"data": [{"embedding": [1.0, 2.0]}, {"embedding": [3.0, 4.0]}]},
        {"data": [{"index": 1, "embedding": [3, 4]}, {"index": 0, "embedding": [1, 2]}]},
        {"data": [[1.0, 2.0], [3.0, 4.0]]},
        {"embeddings": [[1.0, 2.0], [3.0, 4.0]]},
        [{"index": 0, "embedding": [[1.0, 2.0]]}, {"index": 1, "embedding": [[3.0, 4.0]]}],
    ],
)
def test_vectors_of_another_form_are_in_order(answer):
    np.testing.assert_array_equal(read_embeddings(answer, 2, ""), [[1.0, 2.0], [3.0, 4.0]])
