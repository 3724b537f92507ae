"""Renames of documents and trees cost nothing, also after edits."""

import pytest
from support.invariants import violations
from support.library import Library

from raptor_core.tree.published import published_tree

pytestmark = pytest.mark.slow

WORDS = ("harbour", "gauge", "vault", "relay", "seed", "crew", "engine", "tide", "lantern")


def paragraphs(n, seed=0):
    days = range(seed, n + seed)
    return [f"The {WORDS[d % 9]} of the {WORDS[d * d % 9]} was seen on day {d}." for d in days]


def edited_library(root):
    """Two documents of one tree, edited one by one until a fit would arrange them otherwise."""
    library = Library(root)
    library.documents = {"north/a": paragraphs(60), "north/b": paragraphs(40, seed=7)}
    library.rebuild()
    for at in range(4, 40, 6):
        library.documents["north/a"][at] = f"Nobody expected entry {at} of the {WORDS[at % 9]}."
        library.rebuild()
    return library


def test_a_renamed_document_of_a_larger_tree_costs_nothing(tmp_path):
    library = edited_library(tmp_path)
    n_embedded = library.embedder.n_embedded
    library.documents["north/renamed"] = library.documents.pop("north/a")
    plan = library.plan()
    trees, n_made = library.rebuild()
    assert (n_made, plan.summaries.calls) == (0, 0)
    assert library.embedder.n_embedded == n_embedded
    assert violations(trees["north"]) == []
    assert {d for n in library.store.nodes() for d in n.documents} == {"north/renamed", "north/b"}


def test_a_renamed_tree_costs_nothing_and_keeps_its_clusters(tmp_path):
    library = edited_library(tmp_path)
    before = [len(layer.nodes) for layer in published_tree(library.store, "north").layers]
    library.documents = {
        name.replace("north", "south"): found for name, found in library.documents.items()
    }
    plan = library.plan()
    trees, n_made = library.rebuild()
    assert (n_made, plan.summaries.calls) == (0, 0)
    assert [len(layer.nodes) for layer in trees["south"].layers] == before
    assert violations(trees["south"]) == []
    assert [manifest.tree for manifest in library.store.manifests()] == ["south"]
