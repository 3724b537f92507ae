"""Embeddings by an OpenAI-compatible endpoint: batches, checks, and failures."""

import numpy as np
import pytest
from support.endpoint_clients import QUICK as SOON
from support.endpoint_clients import client_of
from support.openai_server import FakeOpenAI, Fault, hash_vector

from raptor_core.errors import AnswerError, EndpointError, ModelError
from raptor_core.models.embedding.openai import OpenAIEmbedder
from raptor_core.models.endpoints.answers import read_embeddings
from raptor_core.models.endpoints.client import EndpointClient
from raptor_core.retrying import RetryPolicy
from raptor_core.settings import EmbedderSettings

QUICK = RetryPolicy(max_retries=2, base_seconds=0.001)


def embedder(server, **values):
    values = {"model": "tiny", "batch_size": 4, "api_key_env": "PLANTED_KEY", **values}
    return OpenAIEmbedder(
        EmbedderSettings(kind="openai", base_url=server.base_url, **values), QUICK
    )


def sent_texts(server):
    return [text for body in server.bodies for text in body["input"]]


def unit(text):
    vector = hash_vector(text, 8)
    return vector / np.linalg.norm(vector)


def test_vectors_are_units_in_the_order_of_the_texts(server):
    texts = [f"text {n % 7}" for n in range(20)]
    vectors = embedder(server).embed(texts)
    assert vectors.dtype == np.float32
    np.testing.assert_allclose(vectors, [unit(text) for text in texts], atol=1e-6)


def test_every_distinct_text_is_sent_once_in_batches(server):
    made = embedder(server)
    assert made.n_dims == 8
    n_before = server.n_requests
    made.embed(["a", "b"] * 10 + ["c", "d", "e"])
    assert sorted(sent_texts(server)[n_before:]) == ["a", "b", "c", "d", "e"]
    assert [len(body["input"]) for body in server.bodies[n_before:]] in ([4, 1], [1, 4])


def test_the_dimension_is_asked_for_once_or_known(server):
    made = embedder(server)
    assert (made.n_dims, made.n_dims) == (8, 8)
    assert server.n_requests == 1
    assert embedder(server, model="text-embedding-3-large").n_dims == 3072
    assert server.n_requests == 1


def test_a_text_without_a_finite_vector_is_named_and_the_others_are_kept(server):
    server.no_vector = "7"
    texts = [f"text {n}" for n in range(12)]
    kept = {}

    def keep():
        for start, vectors in embedder(server).embed_batches(texts):
            kept.update(zip(texts[start:], vectors, strict=False))

    with pytest.raises(AnswerError, match=r"'text 7'.*The others are kept") as caught:
        keep()
    assert caught.value.text == "text 7"
    assert sorted(kept) == sorted(set(texts) - {"text 7"})
    np.testing.assert_allclose(kept["text 6"], unit("text 6"), atol=1e-6)
    with pytest.raises(ModelError, match="'text 7'"):
        embedder(server).embed(texts)


def test_a_change_of_dimension_is_an_error_with_the_remedy(server):
    made = embedder(server)
    assert made.n_dims == 8
    server.n_dims = 5
    with pytest.raises(ModelError, match=r"5 dimensions, expected 8.*embedder\.base_url"):
        made.embed(["a"])


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
    client = EndpointClient(EmbedderSettings(kind="openai", base_url=server.base_url), SOON)
    with pytest.raises(EndpointError, match=r"after 1 attempt.*lower embedder\.batch_size"):
        client.embed(TEXTS)


def test_a_text_beyond_the_length_of_the_model_is_found_and_handed_back(server):
    def refuse(seen):
        is_long = any(len(text) > 100 for text in seen.body["input"])
        return Fault.error(500, "input (600 tokens) is too large to process") if is_long else None

    server.refuse = refuse
    client = EndpointClient(EmbedderSettings(kind="openai", base_url=server.base_url), SOON)
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
