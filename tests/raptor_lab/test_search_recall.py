import pytest
from support.stores import make_tree, open_at, publish_together

from raptor_core.store.store import VectorStore
from raptor_lab.search_recall import search_recall


@pytest.mark.slow
def test_an_exact_engine_finds_all_that_is_near():
    with open_at(None) as store:
        publish_together(store, {name: make_tree(name, 24) for name in ("one", "two")})
        found = search_recall(store, 20, 5)
    assert 10 < found.n_samples <= 20
    assert found.all_trees.recall == found.one_tree.recall == 1.0
    assert found.all_trees.milliseconds > 0


@pytest.mark.slow
def test_what_a_search_misses_is_told(monkeypatch):
    """A search that leaves the best hit out has a recall of four in five."""
    search = VectorStore.search

    def worse(self, vectors, limit, *where, exact=False):
        if exact:
            return search(self, vectors, limit, *where, exact=True)
        return [hits[1:] for hits in search(self, vectors, limit, *where)]

    monkeypatch.setattr(VectorStore, "search", worse)
    with open_at(None) as store:
        publish_together(store, {name: make_tree(name, 24) for name in ("one", "two")})
        found = search_recall(store, 20, 5)
    assert abs(found.all_trees.recall - 0.8) < 1e-9
    assert abs(found.one_tree.recall - 0.8) < 1e-9
