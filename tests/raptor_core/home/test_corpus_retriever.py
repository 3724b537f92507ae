"""A home's retriever reads the corpus tree of a server through a retriever of its own."""

import pytest
from support.hashing import HashingEmbedder
from support.stand_ins import qdrant_stand_in
from support.workshop import prose

from raptor_core import Document, HomeRetriever, Query, Settings, build_trees, open_store
from raptor_core.errors import StoreError, UnknownTreeError
from raptor_core.home.published import corpus_tree_folder
from raptor_core.tree.components import Components
from raptor_core.tree.corpus_tree import CORPUS_TREE_NAME, build_corpus_tree
from raptor_core.tree.publish import make_manifest

pytestmark = pytest.mark.slow

N_DOCUMENTS = 6


def publish(store_settings, components, trees):
    with open_store(store_settings, None, components.store_identity) as store:
        for tree in trees:
            manifest = make_manifest(tree, (), components.settings_fingerprint)
            store.publish(manifest, tuple(tree.nodes()), tree.vectors())


@pytest.fixture
def retriever(tmp_path):
    """Over a home with published trees and a corpus tree."""
    with qdrant_stand_in() as server:
        (tmp_path / "raptor.toml").write_text(
            f'[store]\nkind = "server"\nurl = "{server.url}"\n[corpus_tree]\nenabled = true\n'
        )
        made = HomeRetriever(tmp_path, Components(Settings(), embedder=HashingEmbedder()))
        documents = [Document(f"{n}.md", prose(12, seed=n)) for n in range(N_DOCUMENTS)]
        trees = list(
            build_trees({d.id: [d] for d in documents}, components=made.components).values()
        )
        publish(made.settings.store, made.components, trees)
        _, above = corpus_tree_folder(made.home, made.settings)
        components = made.components.above(above)
        publish(above.store, components, [build_corpus_tree(trees, components=made.components)])
        yield made
        made.close()


def test_a_node_of_the_corpus_tree_is_traced_to_the_documents(retriever):
    top = retriever.nodes(CORPUS_TREE_NAME)[-1]
    spans = retriever.corpus_tree.trace(top.id).spans
    assert {span.document for span in spans} == {f"{n}.md" for n in range(N_DOCUMENTS)}
    assert spans == retriever.trace(top.id).spans


def test_a_search_by_the_corpus_tree_finds_chunks_of_the_trees(retriever):
    found = retriever.search("the harbour", Query("flat", scope="corpus"))
    assert found.hits
    assert {hit.node.tree for hit in found.hits} <= {f"{n}.md" for n in range(N_DOCUMENTS)}


def test_a_search_within_a_node_of_the_corpus_tree_goes_on_in_the_trees_under_it(retriever):
    leaf, *_ = retriever.nodes(CORPUS_TREE_NAME)
    top = retriever.nodes(CORPUS_TREE_NAME)[-1]
    for strategy in ("hybrid", "traversal"):
        hits = retriever.search_within("the harbour", leaf.id, Query(strategy)).hits
        assert {hit.node.tree for hit in hits} == set(leaf.documents)
    every = retriever.search_within("the harbour", top.id, Query("flat", budget_tokens=100_000))
    assert {hit.node.tree for hit in every.hits} == {f"{n}.md" for n in range(N_DOCUMENTS)}


def test_close_closes_the_stores_of_the_trees_and_of_the_corpus_tree(retriever):
    stores = [reader.read(lambda store: store) for reader in (retriever, retriever.corpus_tree)]
    retriever.close()
    for store in stores:
        with pytest.raises(StoreError):
            store.nodes()
    assert retriever.manifests()[-1].tree == CORPUS_TREE_NAME


def test_a_home_without_a_corpus_tree_says_how_to_build_one(tmp_path):
    (tmp_path / "raptor.toml").write_text("")
    with pytest.raises(UnknownTreeError, match=r"under \[corpus_tree\]"):
        HomeRetriever(tmp_path).search("the harbour", Query(scope="corpus"))
