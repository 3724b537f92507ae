"""Rights in trees that builds make, after edits, moves and changes of rights, in any grouping."""

from dataclasses import replace

import pytest
from hypothesis import given
from hypothesis import strategies as st
from support.examples import examples
from support.hashing import HashingEmbedder
from support.summarizers import ScriptedSummarizer
from support.workshop import SMALL, prose

from raptor_core import Query, Retriever, build_tree, build_trees, open_store
from raptor_core.documents import Document, Partitions
from raptor_core.settings import Settings, StoreSettings
from raptor_core.store import StoreIdentity
from raptor_core.store.base import TreeEdition, Where
from raptor_core.tree.components import Components
from raptor_core.tree.corpus_tree import build_corpus_tree
from raptor_core.tree.publish import make_manifest
from raptor_core.tree.published import rename_tree

EMBEDDER = HashingEmbedder()
IDENTITY = StoreIdentity("corpus", EMBEDDER.model, EMBEDDER.fingerprint, EMBEDDER.n_dims)
NAMES = ("ana", "ben", "*")

STATES = st.lists(
    st.tuples(
        st.sampled_from(["", "hr/", "hr/pay/"]),
        st.sets(st.sampled_from(NAMES)),
        st.integers(0, 1),
    ),
    min_size=2,
    max_size=5,
)
"""Folder, readers and edition of each document."""


def documents_of(state):
    return [
        Document(f"{folder}{n}.md", prose(8, seed=10 * n + edition), readers=tuple(readers))
        for n, (folder, readers, edition) in enumerate(state)
    ]


def publish(store, components, documents):
    """Publish the trees of these documents, and drop all others."""
    partitions = Partitions(documents, components.settings.grouping)
    trees = {tree: members for of in partitions.values() for tree, members in of.items()}
    built = build_trees(trees, components=components, known=store)
    with store.publish_together() as publishing:
        publishing.publish(
            [
                TreeEdition(make_manifest(t, trees[t.name], "f"), list(t.nodes()), t.vectors())
                for t in built.values()
            ]
        )
        publishing.drop({short.tree for short in store.short_manifests()} - trees.keys())


@examples(10)
@given(
    states=st.lists(STATES, min_size=2, max_size=2),
    by=st.sampled_from(["document", "folder", "corpus"]),
    separate=st.booleans(),
)
def test_nobody_reads_a_node_over_a_hidden_document_and_separate_trees_hide_no_node(
    states, by, separate
):
    grouping = {"by": by, "separate_readers": separate}
    settings = Settings.model_validate({**SMALL, "grouping": grouping})
    components = Components(settings, embedder=EMBEDDER, summarizer=ScriptedSummarizer())
    with open_store(StoreSettings(), None, IDENTITY) as store:
        for state in states:
            for changed in (state, [(f, r | {"ben"}, e) for f, r, e in state]):
                documents = documents_of(changed)
                publish(store, components, documents)
                rights = {document.id: {*document.readers} for document in documents}
                nodes = {node.id: node for node in store.nodes()}
                assert {d for node in nodes.values() for d in node.documents} == rights.keys()
                readable = set()
                for caller in ("ana", "ben", "eva"):
                    for node in store.nodes(Where(readers=(caller,))):
                        assert all({caller, "*"} & rights[d] for d in node.documents)
                        readable.add(node.id)
                if separate or by == "document":
                    declared = {i for i, n in nodes.items() if rights[n.documents[0]]}
                    assert readable == declared


@pytest.mark.slow
def test_trees_in_memory_keep_the_readers_of_their_documents():
    rights = {"a.md": ("ana",), "b.md": ("ana", "ben"), "c.md": ("*",), "d.md": (), "e.md": None}
    documents = [
        Document(name, prose(8, seed=seed), readers=names)
        for seed, (name, names) in enumerate(rights.items())
    ]
    components = Components(
        Settings.model_validate(SMALL), embedder=EMBEDDER, summarizer=ScriptedSummarizer()
    )
    mixed = build_tree(documents, name="mixed", components=components)
    apart = build_trees({d.id: [d] for d in documents}, components=components)
    leaves = {node.id: node for node in mixed.layers[0].nodes}
    renamed = rename_tree(
        mixed, [replace(n, tree="new") for n in leaves.values()], {"a.md": "x.md"}
    )
    assert renamed.readers == {"x.md": ("ana",), "b.md": ("ana", "ben"), "c.md": ("*",)}

    def seen(trees, caller):
        retriever = Retriever.from_trees(trees, components).for_readers([caller])
        query = Query("collapsed", budget_tokens=10_000)
        return {
            d for hit in retriever.search(documents[0].text, query).hits for d in hit.node.documents
        }

    for caller, names in {"ana": "abc", "ben": "bc", "eva": "c"}.items():
        expected = {f"{name}.md" for name in names}
        assert seen([mixed], caller) == seen(list(apart.values()), caller) == expected
    above = build_corpus_tree(list(apart.values()), components=components)
    assert above.readers == {"a.md": ("ana",), "b.md": ("ana", "ben"), "c.md": ("*",)}
