"""A home's retriever searches the trees, the corpus tree, or both, and traces through both."""

import pytest
from support.hashing import HashingEmbedder
from support.stand_ins import qdrant_stand_in
from support.workshop import prose

from raptor_core import Document, HomeRetriever, Query, Settings, Where, build_trees, open_store
from raptor_core.errors import StoreMismatchError, UnknownTreeError
from raptor_core.home.published import corpus_tree_folder
from raptor_core.settings import load_settings
from raptor_core.tree.components import Components
from raptor_core.tree.corpus_tree import CORPUS_TREE_NAME, build_corpus_tree
from raptor_core.tree.publish import make_manifest

TEXTS = {f"{n}.md": prose(12, seed=n) for n in range(6)}
STRATEGIES = ("hybrid", "collapsed", "flat", "traversal", "lexical")


def publish(store_settings, components, trees):
    with open_store(store_settings, None, components.store_identity) as store:
        for tree in trees:
            manifest = make_manifest(tree, (), components.settings_fingerprint)
            store.publish(manifest, tuple(tree.nodes()), tree.vectors())


@pytest.fixture(scope="module")
def retriever(tmp_path_factory):
    """Over a home with published trees and a corpus tree."""
    folder = tmp_path_factory.mktemp("home")
    with qdrant_stand_in() as server:
        (folder / "raptor.toml").write_text(
            f'[store]\nkind = "server"\nurl = "{server.url}"\n[corpus_tree]\nenabled = true\n'
        )
        made = HomeRetriever(folder, Components(Settings(), embedder=HashingEmbedder()))
        documents = [Document(name, text) for name, text in TEXTS.items()]
        built = build_trees({d.id: [d] for d in documents}, components=made.components)
        trees = list(built.values())
        publish(made.settings.store, made.components, trees)
        _, settings = corpus_tree_folder(made.corpus_of(None).home, made.settings)
        corpus_tree = build_corpus_tree(trees, components=made.components)
        publish(settings.store, made.components.for_corpus_tree(settings), [corpus_tree])
        yield made
        made.close()


def trees_of(retrieval):
    return {hit.node.tree for hit in retrieval.hits}


@pytest.mark.slow
@pytest.mark.parametrize("strategy", STRATEGIES)
def test_a_search_names_the_trees_the_corpus_tree_or_both(retriever, strategy):
    question = next(node.text for node in retriever.nodes("3.md") if node.is_leaf)
    below = retriever.search(question, Query(strategy, 400))
    above = retriever.search(question, Query(strategy, 400, scope="corpus"))
    both = retriever.search(question, Query(strategy, 400, scope="both"))
    assert trees_of(below) <= TEXTS.keys()
    assert trees_of(above) == {CORPUS_TREE_NAME}
    assert CORPUS_TREE_NAME in trees_of(both)
    assert "3.md" in trees_of(both)
    assert sum(hit.node.n_tokens for hit in both.hits) == both.n_tokens <= 400
    scores = {hit.node.id: hit.score for hit in both.hits}
    assert len(scores) == len(both.hits)
    for part in (below, above):
        ranked = [scores[hit.node.id] for hit in part.hits_by_score if hit.node.id in scores]
        assert ranked == sorted(ranked, reverse=True)


@pytest.mark.parametrize("strategy", STRATEGIES)
def test_a_filter_holds_in_both_corpora(retriever, strategy):
    where = Where(documents=("2.md", "4.md"))
    hits = retriever.search("the harbour", Query(strategy, 400, where=where, scope="both")).hits
    assert hits
    assert {name for hit in hits for name in hit.node.documents} <= {"2.md", "4.md"}
    hidden = Where(exclude=Where(documents=("2.md",)))
    hits = retriever.search("the harbour", Query(strategy, 2000, where=hidden, scope="both")).hits
    assert "2.md" not in {name for hit in hits for name in hit.node.documents}
    unknown = Where(trees=("nowhere.md",))
    with pytest.raises(UnknownTreeError, match=r"nowhere\.md"):
        retriever.search("the harbour", Query(strategy, where=unknown, scope="both"))


def test_a_note_is_given_if_it_holds_in_both_corpora(retriever):
    query = Query("flat", where=Where(metadata={"colour": "red"}), scope="both")
    assert "colour" in retriever.search("the harbour", query).note


def test_a_node_of_the_corpus_tree_is_traced_to_the_documents(retriever):
    nodes = retriever.nodes(CORPUS_TREE_NAME)
    leaf, top = nodes[0], nodes[-1]
    for node, documents in ((top, set(TEXTS)), (leaf, set(leaf.documents))):
        trace = retriever.trace(node.id)
        assert trace.node == node
        assert {span.document for span in trace.spans} == documents
        for span in trace.spans:
            assert TEXTS[span.document][span.start : span.end] == span.text
    (child,) = retriever.family(leaf.id).children
    assert (child.id, child.text) == (leaf.copied_node_id, leaf.text)
    assert retriever.trace(child.id).spans == retriever.trace(leaf.id).spans


@pytest.mark.parametrize("scope", ["corpus", "both"])
def test_a_home_without_a_corpus_tree_says_how_to_build_one(tmp_path, scope):
    (tmp_path / "raptor.toml").write_text("")
    with pytest.raises(UnknownTreeError, match=r"under \[corpus_tree\]"):
        HomeRetriever(tmp_path).search("the harbour", Query(scope=scope))


SETTINGS = """[tokens]
counter = "words"
[embedder]
kind = "openai"
model = "tiny"
base_url = "{url}"
revision = "{revision}"
api_key_env = "PLANTED_KEY"
[store]
corpus = "{corpus}"
"""


def build(home, url, revision="", corpus="corpus"):
    """Build and publish as a build does."""
    path = home / "raptor.toml"
    path.write_text(SETTINGS.format(url=url, revision=revision, corpus=corpus))
    components = Components(load_settings(path))
    store_settings, identity = components.settings.store, components.probed_identity
    with open_store(store_settings, home / "qdrant", identity) as store:
        trees = build_trees(
            {n: [Document(n, f"Line {n} on lamps.")] for n in ("a", "b")},
            components=components,
            known=store,
        )
        for tree in trees.values():
            manifest = make_manifest(tree, (), components.settings_fingerprint)
            store.publish(manifest, tuple(tree.nodes()), tree.vectors())


@pytest.mark.slow
def test_another_model_under_the_name_is_refused_and_the_remedies_work(tmp_path, server):
    change = {"model": "other"}
    build(tmp_path, server.base_url)
    before = HomeRetriever(tmp_path).search("Line a").hits
    build(tmp_path, server.base_url)
    was = {name: getattr(server, name) for name in change}
    vars(server).update(change)
    remedy = r'Restore the model, or set embedder\.revision to another word, such as "2"'
    with pytest.raises(StoreMismatchError, match=remedy):
        HomeRetriever(tmp_path).search("Line a")
    with pytest.raises(StoreMismatchError, match=remedy):
        build(tmp_path, server.base_url)
    vars(server).update(was)
    assert HomeRetriever(tmp_path).search("Line a").hits == before
    vars(server).update(change)
    with pytest.raises(StoreMismatchError, match=r'store\.corpus = "corpus_2"'):
        build(tmp_path, server.base_url, revision="2")
    build(tmp_path, server.base_url, revision="2", corpus="corpus_2")
    after = HomeRetriever(tmp_path).search("Line a").hits
    assert {hit.node.text for hit in after} == {hit.node.text for hit in before}


def test_the_model_is_asked_once_a_process_for_its_probe(tmp_path, server):
    build(tmp_path, server.base_url)
    retriever = HomeRetriever(tmp_path)
    n_before = server.n_requests
    for _ in range(3):
        retriever.search("Line a")
    assert server.n_requests == n_before + 4
