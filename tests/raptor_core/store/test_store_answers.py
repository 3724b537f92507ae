"""Engines give the same hits with the same scores for the same trees, whatever came before."""

from dataclasses import replace
from itertools import count

import pytest
from hypothesis import HealthCheck, given
from hypothesis import strategies as st
from support.examples import examples
from support.stores import IDENTITY, make_tree, open_at, publish_together, vectors_of

NUMBERS = count()
NAMES = ("one", "two", "three")
WORDS = ("river", "stone", "river stone", "light")

STEPS = st.lists(
    st.tuples(
        st.dictionaries(st.sampled_from(NAMES), st.sampled_from(WORDS), min_size=1),
        st.lists(st.sampled_from(NAMES), max_size=2, unique=True),
    ),
    min_size=1,
    max_size=6,
)
"""Publications: the word of each tree that comes or changes, and trees that go."""


def answers(store):
    """Ids and scores of searches, by vector and by words."""
    vectors = vectors_of(make_tree("one", 4, "river"))
    found = store.search(vectors, 7) + store.search_text(["river leaf 3", "stone of two"], 99)
    return [{hit.node.id: hit.score for hit in hits} for hits in found]


@pytest.mark.slow
@examples(16, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(steps=STEPS)
def test_answers_are_those_of_a_new_store_on_every_engine(stand_in, tmp_path_factory, steps):
    corpus = f"c{next(NUMBERS)}"
    identity = replace(IDENTITY, corpus=corpus)
    at_server = {"identity": identity, "corpus": corpus, "url": stand_in.url}
    wanted: dict[str, str] = {}
    with (
        open_at(None, "server", **at_server) as server,
        open_at(tmp_path_factory.mktemp("edge"), "edge") as edge,
        open_at(None) as memory,
    ):
        for words, gone in steps:
            dropped = [name for name in gone if name not in words]
            trees = {name: make_tree(name, 9, word) for name, word in words.items()}
            publish_together(server, trees, dropped)
            publish_together(edge, trees, dropped)
            wanted = {n: w for n, w in (wanted | words).items() if n not in dropped}
        publish_together(memory, {name: make_tree(name, 9, word) for name, word in wanted.items()})
        expected = [pytest.approx(found, rel=1e-4) for found in answers(memory)]
        assert answers(server) == expected
        assert answers(edge) == expected
    with open_at(None, "server", **at_server | {"identity": None}) as reader:
        assert answers(reader) == expected


@pytest.mark.slow
def test_exact_searches_find_the_same_on_every_engine(stand_in, tmp_path):
    trees = {name: make_tree(name, 12) for name in ("one", "two")}
    vectors = vectors_of(trees["one"][:4])
    with (
        open_at(tmp_path, "edge") as edge,
        open_at(None) as memory,
        open_at(None, "server", url=stand_in.url) as server,
    ):
        found = []
        for store in (edge, memory, server):
            publish_together(store, trees)
            found += [ids(store.search(vectors, 5, exact=exact)) for exact in (True, False)]
    assert found == [found[0]] * 6


def ids(searches):
    return [[hit.node.id for hit in hits] for hits in searches]
