"""Texts over an embedder's limit are read whole, in segments."""

import numpy as np
import pytest
from support.tiny_models import build_tiny_model

from raptor_core import Components, Document, Query, Retriever, Settings, build_trees
from raptor_core.models.embedding import make_embedder
from raptor_core.settings import EmbedderSettings

FILLER = "The crane on pier {} was greased and tested before the morning tide came in. "
LONG = "".join(map(FILLER.format, range(60)))
END = "A green whistle calls the pilot."


@pytest.fixture(scope="module", params=["bundled", "sentence-transformers"])
def embedder(request, tmp_path_factory):
    model = str(build_tiny_model(tmp_path_factory.mktemp("tiny")))
    return make_embedder(
        EmbedderSettings(kind=request.param, model=model, passage_prefix="passage: ")
    )


@pytest.mark.rare
@pytest.mark.slow
@pytest.mark.parametrize(
    "text", [LONG + END, "码头上的起重机已经检修完毕" * 60 + END, "x" * 6000 + END]
)
def test_no_part_of_a_long_text_is_unseen(embedder, text):
    segments = embedder.segments(text)
    assert "".join(segments) == text
    assert len(segments) > 1
    whole, cut = embedder.embed([text, text.removesuffix(END)])
    assert abs(whole - cut).max() > 1e-4
    np.testing.assert_allclose(np.linalg.norm(whole), 1, atol=1e-5)


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
    assert found.ranked[0].node.documents == ("a.md",)
    assert found.note == ""


@pytest.mark.parametrize("question", ["{chatter}{question}", "{question}{chatter}"])
@pytest.mark.slow
def test_a_question_in_long_chatter_is_answered_with_a_note(retriever, question):
    chatter = "My aunt sends her love and hopes that your garden does well this year. " * 45
    text = question.format(chatter=chatter, question="How is the bread baked? ")
    found = retriever.search(text, Query("flat"))
    assert found.question == text
    assert found.ranked[0].node.documents == ("c.md",)
    assert "parts, only the one that matches best" in found.note
