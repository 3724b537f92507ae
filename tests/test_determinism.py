"""Law 10: the same documents and settings give the same trees, in any order and batch."""

import json
import os
import shutil
import subprocess
import sys
from dataclasses import replace
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st
from support.determinism import FOLDER, HANDBOOK, SMALL, contents, make_components
from support.examples import examples
from support.workshop import Workshop

from raptor_core.documents import load_documents
from raptor_core.documents.base import Document
from raptor_core.nodes import Layer
from raptor_core.tree.build import build_tree
from raptor_core.tree.cache import NodeCache

PARAGRAPHS = (HANDBOOK / "vault" / "operating-the-cold-store.md").read_text().split("\n\n")
TESTS = Path(__file__).parents[2]


def a_text(paragraphs, gap, line_break):
    return gap.join(paragraphs).replace(". ", f".{line_break}")


TEXTS = st.builds(
    a_text,
    st.permutations(PARAGRAPHS[1:4]) | st.permutations(PARAGRAPHS),
    st.sampled_from(["\n\n", "\n\n\n"]),
    st.sampled_from([" ", "\n"]),
)
"""Documents that hold the same paragraphs, in other orders and with other line breaks."""


@pytest.mark.slow
@examples(12)
@given(st.lists(TEXTS, min_size=2, max_size=4))
def test_a_tree_is_the_same_beside_others_of_the_same_paragraphs(texts):
    documents = {f"{n}.md": [Document(f"{n}.md", text)] for n, text in enumerate(texts)}
    components = make_components("hashing")
    alone = contents(documents, "alone", components)
    assert contents(documents, "together", components) == alone
    assert contents(documents, "backwards", components) == alone


def test_a_tree_is_the_same_where_another_has_left_its_summaries():
    parts, components, cache = PARAGRAPHS[1:4], make_components("hashing"), NodeCache()
    documents = [Document("a.md", a_text(parts, "\n\n", " "))]
    alone = build_tree(documents, components=components)
    other = Document("b.md", a_text(parts[::-1], "\n\n", " "))
    components = components.with_cache(cache)
    before = build_tree([other], components=components, name="other")
    (one,), (same,) = before.layers[1].nodes, alone.layers[1].nodes
    assert one.content_key == same.content_key
    assert one.text != same.text
    assert list(build_tree(documents, components=components).nodes()) == list(alone.nodes())


def test_a_published_summary_stays_while_its_children_have_the_same_texts():
    parts, components = PARAGRAPHS[1:4], make_components("hashing")
    documents = [Document("a.md", a_text(parts, "\n\n", " "))]
    tree = build_tree(documents, components=components)
    (summary,) = tree.layers[1].nodes
    above = Layer((replace(summary, text="As published."),), tree.layers[1].vectors)
    published = replace(tree, layers=(tree.layers[0], above))

    def rebuilt(line_break):
        documents = [Document("a.md", a_text(parts, "\n\n", line_break))]
        again = build_tree(documents, components=components, previous=published)
        return again.layers[1].nodes[0]

    assert (rebuilt(" ").id, rebuilt(" ").text) == (summary.id, "As published.")
    assert (rebuilt("\n").id, rebuilt("\n").text) == (summary.id, summary.text)


@pytest.mark.rare
@pytest.mark.slow
def test_neither_threads_nor_hash_seeds_change_a_tree():
    one = in_a_process("together", n_threads=1, hash_seed=1)
    assert in_a_process("backwards", n_threads=8, hash_seed=2) == one


def in_a_process(way, n_threads, hash_seed):
    """Contents from a process with so many threads, by every library's own count."""
    names = ("OMP_NUM_THREADS", "OPENBLAS_NUM_THREADS", "MKL_NUM_THREADS", "NUMBA_NUM_THREADS")
    environment = {
        **os.environ,
        **dict.fromkeys((*names, "RAYON_NUM_THREADS"), str(n_threads)),
        "PYTHONHASHSEED": str(hash_seed),
        "PYTHONPATH": str(TESTS),
    }
    command = [sys.executable, "-m", "support.determinism", "default", way]
    run = subprocess.run(
        command, cwd=TESTS.parent, env=environment, check=True, stdout=subprocess.PIPE, timeout=300
    )
    return json.loads(run.stdout)


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
        for node in sorted(store.nodes(), key=lambda node: (node.layer, *node.document_order_key)):
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
