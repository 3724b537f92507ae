"""Exact vectors: a text has the same bits alone, in any batch and order, with any threads."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from support.examples import examples
from support.tiny_models import build_tiny_model

from raptor_core.models.embedding import make_embedder
from raptor_core.settings import EmbedderSettings

pytestmark = [pytest.mark.slow, pytest.mark.rare]

WORDS = ["tide", "gauge", "harbour", "öre", "中文", "3.14", "the", "of", "unbelievably", "?"]
REPEATS = [*(1 + n * 7 % 20 for n in range(11)), 60]  # the last exceeds what the model reads
SENTENCES = [" ".join(WORDS[n % 7 : n % 7 + 1 + n % 4] * times) for n, times in enumerate(REPEATS)]
TEXTS = ["", "x", "a line\nand another", "\ud800 alone", *SENTENCES]

KINDS = ["bundled", "bundled in bfloat16", "tiny", "tiny in bfloat16", "one text at a time"]


@pytest.fixture(scope="module")
def tiny_model(tmp_path_factory):
    return build_tiny_model(tmp_path_factory.mktemp("tiny"))


@pytest.fixture(scope="module", params=KINDS)
def making(request, tiny_model, tmp_path_factory):
    """Makes an embedder with some number of threads."""
    values = {"precision": "bfloat16" if "bfloat16" in request.param else "float32"}
    if "bundled" not in request.param:
        values |= {"kind": "sentence-transformers", "model": str(tiny_model)}
    if request.param == "one text at a time":
        values["model"] = str(with_prompt(tiny_model, tmp_path_factory.mktemp("prompt")))
    return lambda threads: Threaded(threads, make_embedder(EmbedderSettings(**values)))


class Threaded:
    """An embedder that is called while torch has some number of threads."""

    def __init__(self, threads, embedder):
        self.threads, self.embedder = threads, embedder

    def embed(self, texts):
        import torch

        before = torch.get_num_threads()
        torch.set_num_threads(self.threads)
        try:
            vectors = self.embedder.embed(texts)
            assert torch.get_num_threads() == self.threads
        finally:
            torch.set_num_threads(before)
        return vectors


@pytest.fixture(scope="module")
def known(making):
    """Embedders of one and of several threads, and the vectors of all texts."""
    embedders = {threads: making(threads) for threads in (1, 3)}
    texts = [text.replace("\ud800", "?") for text in TEXTS]
    return embedders, dict(zip(texts, embedders[3].embed(texts), strict=True))


def with_prompt(model, folder):
    from sentence_transformers import SentenceTransformer

    transformer = SentenceTransformer(str(model), prompts={"a": "about: "}, device="cpu")
    transformer.default_prompt_name = "a"
    transformer.save(str(folder / "model"))
    return folder / "model"


@examples(12)
@given(data=st.data())
def test_a_vector_depends_on_its_text_alone(known, data):
    embedders, vectors = known
    texts = data.draw(st.lists(st.sampled_from(list(vectors)), min_size=1, max_size=8))
    embedder = embedders[data.draw(st.sampled_from(list(embedders)))]
    for text, vector in zip(texts, embedder.embed(texts), strict=True):
        assert vector.tobytes() == vectors[text].tobytes()


def test_the_bundled_vectors_are_those_of_sentence_transformers():
    from raptor_core.models.embedding.bundled import bundled_model_folder

    embedder = make_embedder(EmbedderSettings(precision="float32"))
    texts = [text for text in SENTENCES if embedder.segments(text) == [text]]  # not divided
    assert len(texts) > 8
    model = str(bundled_model_folder())
    settings = EmbedderSettings(kind="sentence-transformers", model=model, precision="float32")
    theirs = make_embedder(settings)._transformer.encode(texts)
    assert np.abs(embedder.embed(texts) - theirs).max() < 1e-6
