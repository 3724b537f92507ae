"""Embeddings by an OpenAI-compatible endpoint: batches, checks, and failures."""

import numpy as np
import pytest
from support.openai_server import hash_vector

from raptor_core.errors import AnswerError, ModelError
from raptor_core.models.embedding.openai import OpenAIEmbedder
from raptor_core.retrying import RetryPolicy
from raptor_core.settings.models import EmbedderSettings

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
