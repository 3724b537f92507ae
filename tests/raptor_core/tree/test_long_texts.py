"""Texts that are too long for an embedding endpoint."""

import pytest
from support.openai_server import FakeOpenAI, Fault
from support.paid_build import DOCUMENTS, make_components, paid_settings

from raptor_core.documents.base import Document
from raptor_core.errors import AnswerError
from raptor_core.tree.build import build_trees

LONG = "The xylophone is a word that this endpoint finds too long."


def refuse(seen):
    is_long = any("xylophone" in text for text in seen.body.get("input", []))
    return Fault.error(400, "maximum context length is 8 tokens") if is_long else None


def test_the_error_names_the_document_and_the_span_of_the_text():
    odd = Document("odd.md", f"A first sentence of some words stands here alone.\n\n{LONG}")
    with FakeOpenAI(refuse=refuse) as server:
        part = {"kind": "openai", "model": "vectors", "base_url": server.base_url}
        settings = paid_settings(
            server.base_url, embedder=part, tokens={"counter": "words"}, chunking={"max_tokens": 12}
        )
        with pytest.raises(AnswerError, match="too long for the model's context") as caught:
            build_trees({"a": [*DOCUMENTS, odd]}, components=make_components(settings))
    start = odd.text.index(LONG)
    assert f"the text is characters {start} to {start + len(LONG)} of 'odd.md'" in str(caught.value)
