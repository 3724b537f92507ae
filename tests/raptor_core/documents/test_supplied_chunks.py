"""Chunks that a source supplies: leaves are exactly these, and a search finds their ids."""

import json
import random

import pytest
from hypothesis import given
from hypothesis import strategies as st
from support.clusterers import FOURS
from support.examples import examples
from support.hashing import HashingEmbedder

from raptor_core import Components, Query, Retriever, build_tree, load_documents
from raptor_core.documents.base import Document
from raptor_core.documents.parsing.names import TableOrigin
from raptor_core.documents.parsing.records import row_document
from raptor_core.errors import EmptySourceError, SourceError
from raptor_core.settings import Settings, SourceSettings
from raptor_core.store.base import Where
from raptor_core.tree.leaves import make_leaves

TABLE = TableOrigin("chunks.jsonl", "chunks.jsonl", {})
SETTINGS = Settings.model_validate(
    {
        "chunking": {"max_tokens": 64},
        "tokens": {"counter": "words"},
        "components": FOURS,
    }
)


class Refusing:
    """Chunker that is never asked."""

    fingerprint = "refusing"

    def chunk(self, document: Document):
        raise AssertionError(document)


COMPONENTS = Components(SETTINGS, embedder=HashingEmbedder(), chunker=Refusing())


def chunk(position, text="A text.", **fields):
    return {"id": f"c{position}", "position": position, "text": text} | fields


def row(chunks, **fields):
    return {"id": "a", "chunks": list(chunks), **fields}


def read(*chunks, **fields):
    return row_document(row(chunks, **fields), TABLE, SourceSettings())


def leaves(document):
    return make_leaves("t", [document], COMPONENTS)


def written(tmp_path, *rows):
    path = tmp_path / "chunks.jsonl"
    path.write_text("".join(json.dumps(row) + "\n" for row in rows))
    return path


TEXTS = st.lists(
    st.one_of(
        st.sampled_from(
            ["# Heading", "Rules:", "----", "  code()\n\n  more", "- item", "One. Two."]
        ),
        st.text("ab:\n \u3002#|", min_size=1).filter(lambda text: text.strip()),
    ),
    min_size=1,
    max_size=12,
)


@examples(60)
@given(TEXTS, st.randoms(use_true_random=False))
def test_the_leaves_are_exactly_the_chunks_in_the_order_of_their_positions(texts, shuffle):
    chunks = [chunk(position, text) for position, text in enumerate(texts)]
    shuffled = random.Random(shuffle.random()).sample(chunks, len(chunks))
    document = read(*shuffled)
    nodes = leaves(document)
    assert [node.text for node in nodes] == texts
    assert [document.text[node.start : node.end] for node in nodes] == texts
    assert [node.metadata["chunk_id"] for node in nodes] == [item["id"] for item in chunks]
    assert [len(node.paragraphs) for node in nodes] == [1] * len(texts)
    assert len({node.paragraphs[0][0] for node in nodes}) == len(texts)
    assert document == read(*chunks)


def test_a_field_with_one_value_describes_the_document_and_any_other_one_its_chunk():
    document = read(
        chunk(0, title="Tides", page=1, readers=["group:sea"], metadata={"year": 1999}),
        chunk(1, title="Tides", page=2, readers=["group:sea"], year=1999, note="x" * 300),
        language="en",
    )
    assert document.title == "Tides"
    assert document.metadata == {"year": 1999, "language": "en"}
    assert document.readers == ("group:sea",)
    first, second = leaves(document)
    assert (first.metadata["page"], second.metadata["page"]) == (1, 2)
    assert second.pages == (2, 2)
    assert first.context == "Tides"
    assert "note" not in second.metadata


@pytest.mark.parametrize(
    ("chunks", "reason"),
    [
        ([chunk(0), chunk(1, id="c0")], "chunks 'c0', 'c0' of document 'a' have the same id 'c0'"),
        ([chunk(0), chunk(0, id="b")], "chunks 'c0', 'b' of document 'a' have the same position 0"),
        ([chunk(0), chunk(1, " \n")], "chunk 'c1' of document 'a' has no text in 'text'"),
        ([chunk(0, text=7)], "chunk 'c0' of document 'a' has no text in 'text'"),
        ([chunk(0, id=None)], "chunk 1 of document 'a' has the id None"),
        ([chunk(0, id="x" * 257)], "expected 1 to 256 characters"),
        (
            [chunk("one", id="b")],
            "chunk 'b' of document 'a' has the position 'one', expected a num",
        ),
        ([chunk(float("nan"), id="b")], "has the position nan, expected a number"),
        ([chunk(True, id="b")], "has the position True, expected a number"),
        ([chunk(0), "text"], "chunk 2 of document 'a' is a JSON text, not an object"),
        ([chunk(0, readers=["a"]), chunk(1)], "its chunks differ in their readers"),
        ([chunk(0, readers="a"), chunk(1, readers="b")], "differ in their readers"),
        ([], "contains no chunks"),
    ],
)
def test_a_document_with_a_malformed_chunk_is_named_and_left_out(tmp_path, chunks, reason):
    path = written(tmp_path, {"id": "b", "text": "Sound."}, row(chunks))
    corpus = load_documents(path)
    assert [document.id for document in corpus.documents] == ["b"]
    (skipped,) = corpus.skipped
    assert reason in skipped.reason
    with pytest.raises(EmptySourceError, match="1 skipped"):
        load_documents(written(tmp_path, row(chunks)))


def test_readers_of_chunks_do_not_replace_those_of_their_document(tmp_path):
    rows = row([chunk(0, readers=["*"])], readers=["group:hr"])
    with pytest.raises(EmptySourceError, match="declares different readers in several places"):
        load_documents(written(tmp_path, rows))


def test_a_chunk_over_the_limit_is_named():
    document = read(chunk(0), chunk(1, "word " * 65))
    with pytest.raises(SourceError, match=r"chunk 'c1' of document 'a' has 65 tokens.* is 64"):
        leaves(document)


def test_positions_are_numbers_in_any_form_of_json(tmp_path):
    positions = ["2.10", "1e0", "-0.5", "3", '"4.0"', "100000000000000000000"]
    chunks = ", ".join(
        f'{{"id": "c{n}", "position": {position}, "text": "At {n}."}}'
        for n, position in enumerate(positions)
    )
    path = tmp_path / "chunks.jsonl"
    path.write_text(f'{{"id": "a", "chunks": [{chunks}]}}')
    (document,) = load_documents(path).documents
    assert document.text.split() == [
        "At",
        "2.",
        "At",
        "1.",
        "At",
        "0.",
        "At",
        "3.",
        "At",
        "4.",
        "At",
        "5.",
    ]


@pytest.mark.slow
def test_a_search_and_a_trace_find_the_ids_of_chunks(tmp_path):
    texts = ["The lamp was lit.", "The mill burnt down.", "The harbour froze in winter."]
    path = written(tmp_path, row((chunk(n, text, page=n + 1) for n, text in enumerate(texts))))
    tree = build_tree(load_documents(path).documents, components=COMPONENTS)
    retriever = Retriever.from_trees([tree], COMPONENTS)
    (hit,) = retriever.search(
        "what burnt down?", Query(where=Where(metadata={"chunk_id": "c1"}))
    ).hits
    assert hit.node.text == texts[1]
    spans = retriever.trace(tree.layers[-1].nodes[0].id).spans
    assert [(span.chunk_id, span.text) for span in spans] == [
        (f"c{n}", text) for n, text in enumerate(texts)
    ]
