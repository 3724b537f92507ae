"""The descent spends its tokens where the passages of a question are."""

from raptor_core.home.descent import choose
from raptor_core.nodes import Node
from raptor_core.tree.corpus_tree import CORPUS_TREE_NAME, TREE

DOCUMENTS = [f"{number}.md" for number in range(8)]


def node(name, layer=0, tree=CORPUS_TREE_NAME, children=(), **metadata):
    return Node(
        id=name, tree=tree, layer=layer, content_key="", text=name, n_tokens=10, position=0,
        documents=tuple(DOCUMENTS), children=tuple(children), fingerprint="", embedding_key="",
        metadata=metadata,
    )  # fmt: skip


def corpus_tree():
    leaves = [node(f"top of {name}", **{TREE: name}) for name in DOCUMENTS]
    ids = [leaf.id for leaf in leaves]
    middle = [node("first half", 1, children=ids[:4]), node("second half", 1, children=ids[4:])]
    return [*leaves, *middle, node("root", 2, children=["first half", "second half"])]


def passages(*trees):
    return [node(f"{tree} {number}", 0, tree) for number, tree in enumerate(trees)]


def ids(chosen):
    return {one.id for one in chosen}


def test_it_goes_down_to_the_passages_of_one_document_and_keeps_the_root():
    chosen = choose(corpus_tree(), passages("6.md", "6.md", "6.md"), 40)
    assert ids(chosen) == {"root", "6.md 0", "6.md 1", "6.md 2"}


def test_a_branch_without_its_share_of_the_passages_is_not_entered():
    chosen = choose(corpus_tree(), passages("1.md", "2.md", "1.md"), 1000)
    assert {one.tree for one in chosen} == {CORPUS_TREE_NAME, "1.md", "2.md"}
    assert not ids(chosen) & {"second half", *(f"top of {n}.md" for n in (0, 3, 4, 5, 6, 7))}


def test_passages_of_every_document_give_each_a_place():
    chosen = choose(corpus_tree(), passages(*DOCUMENTS), 1000)
    assert {one.tree for one in chosen} >= set(DOCUMENTS)


def test_the_budget_is_kept_and_a_small_one_shows_the_top():
    for budget in (0, 10, 20, 30, 50):
        chosen = choose(corpus_tree(), passages("6.md", "1.md", "6.md"), budget)
        assert sum(one.n_tokens for one in chosen) <= budget
    assert ids(choose(corpus_tree(), passages("6.md"), 10)) == {"root"}
    assert ids(choose(corpus_tree(), [], 1000)) == {"root"}
