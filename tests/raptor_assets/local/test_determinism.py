"""Law 10 through Dagster: a home holds the trees that ``build_tree`` gives, however it is built.

That a real model gives a text the same vector in any company is tested with the embedders.
"""

import shutil

import pytest
from support.determinism import FOLDER, SMALL
from support.workshop import Workshop

from raptor_core.documents import load_documents
from raptor_core.tree.build import build_tree


def workshop(root, **settings):
    """A home over a folder of the handbook, with clusters as by default."""
    found = Workshop(root)
    leave_out = shutil.ignore_patterns("*.html")
    shutil.copytree(FOLDER, found.docs, dirs_exist_ok=True, ignore=leave_out)
    tree = {"max_layers": 5, **SMALL["tree"]}
    found.configure(clustering={"method": "raptor"}, **{**SMALL, "tree": tree}, **settings)
    return found


def nodes(made):
    """Every live node by tree."""
    with made.access().store.open() as store:
        found = {manifest.tree: [] for manifest in store.manifests()}
        for node in sorted(store.nodes(), key=lambda node: (node.layer, *node.order)):
            found[node.tree].append(node)
    return found


@pytest.mark.slow
def test_a_home_holds_the_trees_of_build_tree_in_whatever_order_it_was_built(tmp_path):
    together = workshop(tmp_path / "together")
    together.build()
    found = nodes(together)
    documents = load_documents(together.docs).documents
    for document in documents:
        alone = build_tree([document], name=document.id, components=together.components)
        assert found[document.id] == list(alone.nodes())
    assert len(found) == len(documents) == 3
    for name in ("shard-0002", "shard-0000"):  # one by one, by parts that know of no other run
        shards = workshop(tmp_path / "shards", grouping={"shards": 4})
        shards.build(name)
    assert nodes(shards) == found
