"""Any sequence of edits, crashes and settings leaves trees that keep the laws, and no old node."""

import shutil
import tempfile
from pathlib import Path

import pytest
from hypothesis import Phase
from hypothesis import strategies as st
from hypothesis.stateful import RuleBasedStateMachine, initialize, invariant, rule
from support.examples import examples
from support.invariants import violations
from support.library import CrashError, Library
from support.stores import live_ids

from raptor_core.tree.build import build_trees
from raptor_core.tree.leaves import make_leaves

PHASES = (Phase.explicit, Phase.reuse, Phase.generate)
"""Without shrinking, which would rebuild for many minutes: the history is printed as it is."""

MEMORY = Path("/dev/shm")
"""A file system in memory, where there is one: thousands of publications wait for the disk else."""

FOLDERS = st.sampled_from(["north", "south"])
NAMES = st.sampled_from(["a", "b", "c"])
THEMES = (
    "The gauge drifted by three millimetres and the sea rose over the harbour wall",
    "Seeds in the vault stayed cold while the relay closed late in the evening",
    "The vessel burned less fuel when the wind turned and the crew slept well",
    "Nobody answered the call from the station at the mouth of the river",
)


class Rebuilds(RuleBasedStateMachine):
    """Documents of two trees change; after each change the store is brought in step.

    Every paragraph holds a marker of its own, so that what derives from it can be found.
    """

    def __init__(self):
        super().__init__()
        self.root = Path(tempfile.mkdtemp(dir=MEMORY if MEMORY.is_dir() else None))
        self.library = Library(self.root)
        self.n_markers = 0
        self.gone = set()

    def teardown(self):
        self.library.store.close()
        shutil.rmtree(self.root)

    def paragraph(self, theme):
        self.n_markers += 1
        return f"Marker{self.n_markers}x. {THEMES[theme % len(THEMES)]}, entry {self.n_markers}."

    def remove(self, paragraphs):
        self.gone.update(text.split(".")[0] for text in paragraphs)

    def add_document(self, name, n_paragraphs, theme):
        self.remove(self.library.documents.get(name, ()))
        self.library.documents[name] = [self.paragraph(theme + k % 2) for k in range(n_paragraphs)]

    @initialize(sizes=st.lists(st.integers(1, 30), min_size=1, max_size=3))
    def begin(self, sizes):
        for number, size in enumerate(sizes):
            self.add_document(f"{['north', 'south'][number % 2]}/{number}", size, number)
        self.bring_in_step()

    @rule(folder=FOLDERS, name=NAMES, size=st.integers(1, 16), theme=st.integers(0, 3))
    def add(self, folder, name, size, theme):
        self.add_document(f"{folder}/{name}", size, theme)
        self.bring_in_step()

    @rule(pick=st.integers(0, 99), place=st.integers(0, 99), theme=st.integers(0, 3))
    def edit(self, pick, place, theme):
        paragraphs = self.some_document(pick)
        if paragraphs:
            place %= len(paragraphs)
            self.remove(paragraphs[place : place + 1])
            paragraphs[place] = self.paragraph(theme)
            self.bring_in_step()

    @rule(pick=st.integers(0, 99), place=st.integers(0, 99))
    def cut(self, pick, place):
        paragraphs = self.some_document(pick)
        if len(paragraphs) > 1:
            self.remove([paragraphs.pop(place % len(paragraphs))])
            self.bring_in_step()

    @rule(pick=st.integers(0, 99), folder=FOLDERS, name=NAMES)
    def rename_or_move(self, pick, folder, name):
        documents = self.library.documents
        if documents and f"{folder}/{name}" not in documents:
            old = sorted(documents)[pick % len(documents)]
            documents[f"{folder}/{name}"] = documents.pop(old)
            self.bring_in_step()

    @rule(pick=st.integers(0, 99))
    def delete(self, pick):
        documents = self.library.documents
        if documents:
            self.remove(documents.pop(sorted(documents)[pick % len(documents)]))
            self.bring_in_step()

    @rule(part=st.sampled_from(["chunking", "clustering", "summarizer", "rebuild"]))
    def change_settings(self, part):
        values = {
            "chunking": {"max_tokens": 44 - self.value("chunking", "max_tokens", 24)},
            "clustering": {"seed": 1 - self.value("clustering", "seed", 1)},
            "summarizer": {"ratio": 0.7 - self.value("summarizer", "ratio", 0.3)},
            "rebuild": {"max_members": 44 - self.value("rebuild", "max_members", 24)},
        }
        self.library.configure(**{part: values[part]})
        self.bring_in_step()

    @rule(pick=st.integers(0, 99), theme=st.integers(0, 3), after=st.integers(0, 3))
    def crash_in_the_middle(self, pick, theme, after):
        paragraphs = self.some_document(pick)
        if not paragraphs:
            return
        paragraphs += [self.paragraph(theme) for _ in range(4)]
        before = self.library.store.nodes()
        summarizer = self.library.summarizer
        summarizer.crash_at = summarizer.n_made + after
        asked = summarizer.asked.copy()
        try:
            self.library.rebuild()
        except CrashError:
            assert self.library.store.nodes() == before
        summarizer.crash_at = None
        self.bring_in_step()
        assert max((summarizer.asked - asked).values(), default=0) <= 1

    def some_document(self, pick):
        documents = self.library.documents
        return documents[sorted(documents)[pick % len(documents)]] if documents else []

    def value(self, part, name, default):
        return self.library.settings.get(part, {}).get(name, default)

    def bring_in_step(self):
        plan = self.library.plan()
        trees, n_made = self.library.rebuild()
        if plan.exact:
            assert plan.summary_usage.calls == n_made
        for tree in plan.trees:
            if tree.action == "keep" and tree.tree in trees:
                assert tree.summary_usage.calls == 0
        for tree in trees.values():
            assert violations(tree) == []
        again = self.library.plan()
        assert (again.summary_usage.calls, again.exact or not trees) == (0, True)

    @invariant()
    def what_is_live_is_what_a_fresh_build_would_cut(self):
        documents = self.library.grouped()
        nodes = self.library.store.nodes()
        for tree, found in documents.items():
            live = [n for n in nodes if n.tree == tree and n.is_leaf]
            leaves = make_leaves(tree, found, self.library.components)
            assert [(n.id, n.text, n.start, n.end) for n in live] == [
                (n.id, n.text, n.start, n.end) for n in leaves
            ]
        assert {node.tree for node in nodes} == documents.keys()

    @invariant()
    def nothing_live_derives_from_what_is_gone(self):
        live = {node.id for node in self.library.store.nodes()}
        for node in self.library.store.nodes():
            words = set(node.text.replace(".", " ").split())
            assert not words & self.gone, node
            assert set(node.children) <= live
            assert node.text.strip()
        for tree in self.library.grouped():
            assert set(live_ids(self.library.store, tree)) <= live


@pytest.mark.slow
@pytest.mark.timeout(900)
def test_any_history_of_changes_keeps_the_laws():
    machine = Rebuilds.TestCase
    machine.settings = examples(20, stateful_step_count=6, phases=PHASES)
    machine().runTest()


@pytest.mark.slow
def test_a_plan_knows_how_long_the_summaries_of_a_crashed_run_are():
    """Where a cluster is cut in two depends on the lengths of its nodes."""
    state = Rebuilds()
    state.begin(sizes=[20, 22, 5])
    for after, pick in ((1, 75), (3, 74), (1, 52), (3, 43)):
        state.crash_in_the_middle(pick=pick, theme=3, after=after)
    state.teardown()


@pytest.mark.slow
def test_most_of_a_tree_that_is_new_is_built_as_from_scratch(tmp_path):
    library = Library(tmp_path)
    library.documents["north/a"] = [f"{THEMES[k % 4]}, entry {k}." for k in range(40)]
    library.rebuild()
    library.documents["north/a"] = [f"{THEMES[k % 3]}, page {k}." for k in range(50)]
    plan = library.plan()
    trees, _ = library.rebuild()
    fresh = build_trees(library.grouped(), components=library.components)
    assert "leaves are new" in plan.trees[0].reason
    assert not plan.exact
    assert [layer.nodes for layer in trees["north"].layers] == [
        layer.nodes for layer in fresh["north"].layers
    ]
