"""Embedders that run locally: the bundled and a tiny model."""

import numpy as np
import pytest
from support.tiny_models import build_tiny_model

from raptor_core import Components, Document, Query, Retriever, Settings, build_trees
from raptor_core.errors import ModelError
from raptor_core.models.embedding import make_embedder
from raptor_core.models.embedding.base import embed_distinct
from raptor_core.models.embedding.bundled import BundledEmbedder
from raptor_core.settings import EmbedderSettings


@pytest.fixture(scope="session")
def tiny_model(tmp_path_factory):
    return str(build_tiny_model(tmp_path_factory.mktemp("tiny")))


@pytest.fixture(scope="session", params=["bundled", "sentence-transformers"])
def embedder(request, tiny_model):
    return make_embedder(EmbedderSettings(kind=request.param, model=tiny_model))


@pytest.mark.slow
def test_vectors_are_float32_of_norm_one_in_the_order_asked(embedder):
    texts = ["a tide gauge in a harbour", "short", "a tide gauge in a harbour", "z" * 400]
    vectors = embedder.embed(texts)
    assert vectors.shape == (4, embedder.n_dims)
    assert vectors.dtype == np.float32
    np.testing.assert_allclose(np.linalg.norm(vectors, axis=1), 1, atol=1e-5)
    np.testing.assert_array_equal(vectors[0], vectors[2])
    for text, vector in zip(texts[1:], vectors[1:], strict=True):  # the same bits alone
        np.testing.assert_array_equal(embedder.embed([text])[0], vector)


@pytest.mark.slow
def test_the_bundled_model_finds_what_belongs_together():
    embedder = BundledEmbedder(EmbedderSettings())
    vectors = embedder.embed(
        ["The ferry was late.", "The boat was delayed.", "Bake at 200 degrees."]
    )
    assert vectors[0] @ vectors[1] > vectors[0] @ vectors[2] + 0.3
    assert embedder.n_dims == 384


def test_damaged_weights_are_refused_by_their_hash(tmp_path, monkeypatch):
    (tmp_path / "model.safetensors").write_bytes(b"not the weights")
    monkeypatch.setattr(
        "raptor_core.models.embedding.bundled.bundled_model_folder", lambda: tmp_path
    )
    with pytest.raises(ModelError, match="SHA-256"):
        BundledEmbedder(EmbedderSettings()).embed(["a"])


def test_settings_that_do_not_change_vectors_do_not_change_the_fingerprint():
    base = make_embedder(EmbedderSettings()).fingerprint
    assert make_embedder(EmbedderSettings(batch_size=1)).fingerprint == base
    assert make_embedder(EmbedderSettings(query_prefix="q: ")).fingerprint != base


def test_distinct_texts_are_encoded_once_longest_first():
    asked = []

    def encode(texts):
        asked.extend(texts)
        return np.array([[len(text), 1.0] for text in texts], dtype=np.float32)

    vectors = embed_distinct(["bb", "a", "bb", "cccc"], encode, 2, "lengths")
    assert asked == ["cccc", "bb", "a"]
    np.testing.assert_allclose(vectors[0], np.array([2, 1]) / np.sqrt(5), rtol=1e-6)


@pytest.mark.parametrize("bad", [np.nan, 0.0, np.inf])
def test_vectors_that_mean_nothing_are_an_error_that_shows_the_text(bad):
    with pytest.raises(ModelError, match="of the text 'x'"):
        embed_distinct(["x"], lambda texts: np.full((1, 2), bad, dtype=np.float32), 2, "broken")


def test_float32_is_what_was_built_before_there_was_a_choice():
    assert make_embedder(EmbedderSettings()).fingerprint == "6b09ef5d72e1217417b682acc10b1312"
    before = EmbedderSettings(kind="sentence-transformers")
    assert make_embedder(before).fingerprint == "f3cda2d849ad8361e8f6358e32a51bce"


FILLER = "The crane on pier {} was greased and tested before the morning tide came in. "
LONG = "".join(map(FILLER.format, range(60)))
END = "A green whistle calls the pilot."


@pytest.fixture(scope="module")
def retriever():
    components = Components(Settings(chunking={"max_tokens": 1000}))
    texts = {"a.md": f"{LONG[:3500]} {END}", "b.md": LONG[:3500], "c.md": "Bake the bread."}
    trees = build_trees(
        {n: [Document(n, text)] for n, text in texts.items()}, components=components
    )
    return Retriever.from_trees(list(trees.values()), components)


@pytest.mark.parametrize("strategy", ["hybrid", "flat", "collapsed"])
@pytest.mark.slow
def test_the_end_of_a_long_chunk_is_found_in_its_document(retriever, strategy):
    found = retriever.search("Which whistle calls the pilot?", Query(strategy))
    assert found.hits_by_score[0].node.documents == ("a.md",)
    assert found.note == ""


@pytest.mark.parametrize("question", ["{chatter}{question}", "{question}{chatter}"])
@pytest.mark.slow
def test_a_question_in_long_chatter_is_answered_with_a_note(retriever, question):
    chatter = "My aunt sends her love and hopes that your garden does well this year. " * 45
    text = question.format(chatter=chatter, question="How is the bread baked? ")
    found = retriever.search(text, Query("flat"))
    assert found.question == text
    assert found.hits_by_score[0].node.documents == ("c.md",)
    assert "parts, only the one that matches best" in found.note
