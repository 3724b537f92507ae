"""Another model behind the name of the store's embedder is refused, and the remedies work."""

import pytest

from raptor_core import Document, HomeRetriever, build_trees, open_store
from raptor_core.errors import StoreMismatchError
from raptor_core.settings import load_settings
from raptor_core.tree.components import Components
from raptor_core.tree.publish import make_manifest

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
