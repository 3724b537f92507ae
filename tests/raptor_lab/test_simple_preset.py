"""The preset "simple" builds and searches a tree: windows of words, one mixture, chunks."""

import pytest
from support.hashing import HashingEmbedder

from raptor_core.documents.base import Document
from raptor_core.retrieval import Query, Retriever
from raptor_core.settings import preset
from raptor_core.tree.build import build_tree
from raptor_core.tree.components import Components

pytestmark = pytest.mark.slow

TOPICS = ("tide gauges", "seed vaults", "research vessels", "night watches")


def prose(n_paragraphs):
    return "\n\n".join(
        " ".join(
            f"Entry {n}.{s} is about {TOPICS[n % 4]}, their keepers and the weather of that week."
            for s in range(9)
        )
        for n in range(n_paragraphs)
    )


@pytest.fixture(scope="module")
def components():
    return Components(preset("simple"), embedder=HashingEmbedder())


@pytest.fixture(scope="module")
def tree(components):
    return build_tree([Document("log.md", prose(60))], components=components)


def test_leaves_are_the_recipes_windows_of_two_hundred_words(tree):
    words = prose(60).split()
    windows = [words[at : at + 200] for at in range(0, len(words), 200)]
    assert [leaf.text.split() for leaf in tree.layers[0].nodes] == windows


def test_the_search_finds_five_chunks_about_the_question(tree, components):
    query = Query.from_settings(preset("simple"))
    found = Retriever.from_trees([tree], components).search(
        "What happened on research vessels?", query
    )
    assert len(found.hits) == 5
    assert all(hit.node.is_leaf for hit in found.hits)
    assert any("research vessels" in hit.node.text for hit in found.hits)
