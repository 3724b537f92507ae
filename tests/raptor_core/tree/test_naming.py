"""Names and key terms of summaries."""

from dataclasses import replace

import pytest

from raptor_core import Document, Settings, build_tree
from raptor_core.nodes import Node
from raptor_core.store.payload import node_to_payload, payload_to_node, to_storable_text
from raptor_core.tables.values import nodes_to_table, table_to_nodes
from raptor_core.tree.components import Components
from raptor_core.tree.naming import add_names_and_key_terms
from raptor_core.tree.publish import build_id


def node(name, text, layer=0, children=(), position=0):
    return Node(
        id=name, tree="t", layer=layer, content_key=name, text=text, n_tokens=5,
        position=position, documents=("d",), children=tuple(children), fingerprint="f",
        embedding_key=name, slot=name if layer else "",
    )  # fmt: skip


LEAVES = (
    node("a", "The cold store keeps apples. Every cold store hums."),
    node("b", "A cold store needs a compressor, and apples like a cold store."),
    node("c", "Die Lampe brennt mit Petroleum, und die Lampe ist alt."),
    node("d", "Petroleum für die Lampe kommt mit dem Schiff."),
)
SUMMARIES = (
    node("ab", "On cooling\n\nApples are kept cold.", 1, "ab"),
    node("cd", "Die Lampe.", 1, "cd", 1),
)
PLAIN = Components(Settings())


def test_names_are_what_tells_a_summary_from_its_neighbours():
    cold, lamp = add_names_and_key_terms(SUMMARIES, [LEAVES], None, PLAIN)
    assert cold.key_terms[0] == "cold store"
    assert cold.name.startswith("cold store, apples")
    assert lamp.key_terms[:2] == ("Lampe", "Petroleum")
    assert not {"die", "und", "the"} & {term.lower() for term in (*cold.key_terms, *lamp.key_terms)}


def test_a_node_alone_in_its_layer_is_named_by_headings_too():
    headed = [replace(one, metadata={"title": "The cellar"}) for one in LEAVES]
    (alone,) = add_names_and_key_terms((node("top", "x", 1, "abcd"),), [headed], None, PLAIN)
    assert "cellar" in alone.key_terms
    assert all(
        "cellar" not in one.key_terms
        for one in add_names_and_key_terms(SUMMARIES, [headed], None, PLAIN)
    )


def test_a_title_of_a_chat_model_is_the_name():
    chat = Components(Settings(summarizer={"kind": "openai", "titles": True}))
    cooling, lamp = add_names_and_key_terms(SUMMARIES, [LEAVES], None, chat)
    assert cooling.name == "On cooling"
    assert cooling.key_terms[0] == "cold store"
    assert lamp.name.startswith("Lampe, Petroleum")  # it has one line, and so no title


@pytest.fixture(scope="module")
def document():
    topics = ("pump seals leak oil", "lamp wicks burn petroleum", "rope splices hold anchors")
    text = "\n\n".join(
        f"{topic} when winter number {n} begins. The {topic} again and again, as keepers say."
        for topic in topics
        for n in range(20)
    )
    return Document("d", text)


@pytest.mark.slow
def test_a_node_that_stays_keeps_its_name_and_an_edit_writes_no_other(document):
    tree = build_tree([document])
    assert all(bool(one.name) != one.is_leaf for one in tree.nodes())
    edited = replace(document, text=f"{document.text}\n\nA brass bell rings at the brass pier.")
    after = build_tree([edited], previous=tree)
    before = {one.id: one for one in tree.nodes() if not one.is_leaf}
    kept = [one for one in after.nodes() if one.id in before]
    assert kept
    assert [one.name for one in kept] == [before[one.id].name for one in kept]


def test_names_are_kept_and_are_part_of_no_identity():
    plain = SUMMARIES[0]
    called = replace(plain, name="On cooling", key_terms=("cold store",))
    assert build_id([called]) == build_id([plain])
    for one in (plain, called):
        assert payload_to_node(node_to_payload(one)) == one
        assert table_to_nodes(nodes_to_table([one])) == (one,)
    assert to_storable_text(called) != to_storable_text(plain)
