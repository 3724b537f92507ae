"""Any sequence of changes, builds, crashes, approvals and rollbacks shows what today allows.

A model says which marker words each caller may find; the system is asked over two interfaces.
"""

import json
import shutil
import tempfile
from contextlib import suppress
from dataclasses import dataclass, field, replace
from pathlib import Path

import pytest
from hypothesis import Phase
from hypothesis import strategies as st
from hypothesis.stateful import RuleBasedStateMachine, initialize, rule
from support.examples import examples
from support.workshop import Workshop

from raptor_assets.corpus.changes import PartitionChange, decide_run
from raptor_assets.home.access import corpus_tree_access
from raptor_assets.home.rollback import release_tree, roll_back
from raptor_assets.local.build import update_corpus_tree
from raptor_assets.local.curate import Author, Curator
from raptor_assets.local.transfer import export_home, import_home
from raptor_assets.local.versions import approve_builds
from raptor_core import HomeRetriever
from raptor_core.errors import (
    CurationError,
    EmptySourceError,
    RaptorError,
    StoreError,
    UnknownTreeError,
)
from raptor_core.store.base import Where
from raptor_core.store.engines.edge import EdgeEngine

pytestmark = pytest.mark.slow

MEMORY = Path("/dev/shm")
CALLERS = ("ana", "ben")
READERS = st.sampled_from([("ana",), ("ben",), ("ana", "ben"), ("*",), (), None])
NAMES = st.sampled_from(["north/a.md", "north/b.md", "south/c.md", "south/d.md"])
PICK = st.integers(0, 99)
THEMES = (
    "the gauge drifted while the sea rose over the wall",
    "seeds in the vault stayed cold after the relay closed",
    "the crew slept well and the vessel burned less fuel",
)


@dataclass(frozen=True)
class Note:
    """Document of the source: its marker words, one to a paragraph, and what it declares."""

    markers: tuple[str, ...]
    readers: tuple[str, ...] | None = None
    is_broken: bool = False

    def text(self):
        lines = [f"{m}. On that day {THEMES[len(m) % 3]}, as {m} says." for m in self.markers]
        body = "\n\n".join(lines)
        if self.is_broken:
            return f"---\nreaders: [{{{{ x\n---\n{body}"
        if self.readers is None:
            return body
        return f"---\nreaders: {json.dumps(list(self.readers))}\n---\n{body}"


@dataclass
class Model:
    """What today's source and people allow."""

    notes: dict[str, Note] = field(default_factory=dict)
    rule: tuple[str, ...] = ("*",)
    aside: set[str] = field(default_factory=set)  # documents
    aside_chunks: set[tuple[str, str]] = field(default_factory=set)  # document and marker
    markers_of: dict[str, set[str]] = field(default_factory=dict)  # ever, by document

    def readers(self, name):
        note = self.notes.get(name)
        if note is None or note.is_broken:
            return ()
        return self.rule if note.readers is None else note.readers

    def may_read(self, caller, name):
        return name not in self.aside and bool({caller, "*"} & {*self.readers(name)})

    def allows(self, caller, marker):
        """Whether a document that has, or had, a marker lets the caller read it there."""
        return any(
            marker in markers
            and self.may_read(caller, name)
            and (name, marker) not in self.aside_chunks
            for name, markers in self.markers_of.items()
        )


class Today(RuleBasedStateMachine):
    """One home whose source, rights, decisions and builds change in any order."""

    def __init__(self):
        super().__init__()
        self.root = Path(tempfile.mkdtemp(dir=MEMORY if MEMORY.is_dir() else None))
        self.model = Model()
        self.pins = set()
        self.n_markers = 0
        self.settings = {}

    def teardown(self):
        shutil.rmtree(self.root, ignore_errors=True)

    @initialize(
        by=st.sampled_from(["document", "folder"]), waits=st.booleans(), above=st.booleans()
    )
    def begin(self, by, waits, above):
        self.settings = {
            "grouping": {"by": by},
            "runs": {"publish": "when_approved" if waits else "at_once"},
            "corpus_tree": {"enabled": above, "min_trees": 2},
        }
        self.workshop = Workshop(self.root)
        self.workshop.home.create_folders_and_instance()
        self.configure()
        for name in ("north/a.md", "north/b.md", "south/c.md"):
            self.write(name, Note(tuple(self.marker() for _ in range(3))))
        self.build()

    def configure(self):
        rules = [{"paths": ["**"], "readers": list(self.model.rule)}]
        source = {"paths": [str(self.workshop.docs)], "max_removed": 1.0, "readers": rules}
        self.workshop.configure(source=source, tree={"max_layers": 2}, **self.settings)
        values = self.workshop.settings.model_dump(mode="json", exclude_defaults=True)
        lines = [
            f"[{part}]\n" + "".join(f"{k} = {json.dumps(v)}\n" for k, v in of.items() if v != rules)
            for part, of in values.items()
        ]
        rule_text = (
            f'[[source.readers]]\npaths = ["**"]\nreaders = {json.dumps(rules[0]["readers"])}\n'
        )
        self.workshop.home.settings_path.write_text("".join(lines) + rule_text, encoding="utf-8")

    def marker(self):
        self.n_markers += 1
        return f"Marker{self.n_markers}x"

    def write(self, name, note):
        self.model.notes[name] = note
        self.model.markers_of.setdefault(name, set()).update(note.markers)
        self.workshop.write(name, note.text())

    def some(self, pick, names):
        names = sorted(names)
        return names[pick % len(names)] if names else None

    # -- the source

    @rule(name=NAMES, readers=READERS)
    def add_or_edit(self, name, readers):
        note = self.model.notes.get(name, Note(()))
        kept = note.markers[1:] if note.markers else ()
        self.write(name, Note((*kept, self.marker()), readers))
        self.build()

    @rule(pick=PICK, readers=READERS)
    def change_readers(self, pick, readers):
        if name := self.some(pick, self.model.notes):
            self.write(name, replace(self.model.notes[name], readers=readers, is_broken=False))
            self.build()

    @rule(pick=PICK)
    def break_front_matter(self, pick):
        if name := self.some(pick, self.model.notes):
            self.write(name, replace(self.model.notes[name], is_broken=True))
            self.build()

    @rule(readers=st.sampled_from([("*",), ("ana",), ("ben",)]))
    def change_rule(self, readers):
        self.model.rule = readers
        self.configure()
        self.build()

    @rule(pick=PICK, name=NAMES, is_copy=st.booleans())
    def rename_or_copy(self, pick, name, is_copy):
        old = self.some(pick, self.model.notes.keys() - self.model.aside)
        if old and name not in self.model.notes:
            self.write(name, self.model.notes[old])
            if not is_copy:
                self.delete(old)
            self.build()

    @rule(pick=PICK)
    def remove(self, pick):
        if len(self.model.notes) > 1:
            self.delete(self.some(pick, self.model.notes))
            self.build()

    def delete(self, name):
        del self.model.notes[name]
        self.workshop.remove(name)

    # -- people

    @rule(pick=PICK)
    def set_aside(self, pick):
        with self.workshop.access().store.open() as store:
            leaves = list(store.nodes(Where(layers=(0,))))
        if not leaves:
            return
        leaf = leaves[pick % len(leaves)]
        curator = Curator(self.workshop.home.path)
        try:
            if pick % 3:
                curator.set_chunk_aside(leaf.id, Author("Ines"))
                self.model.aside_chunks |= {(leaf.documents[0], m) for m in words_of([leaf.text])}
            else:
                curator.set_document_aside(leaf.documents[0], Author("Ines"))
                self.model.aside.add(leaf.documents[0])
        except CurationError:
            return
        self.build()

    @rule(pick=PICK)
    def go_back(self, pick):
        with self.workshop.access().store.open() as store:
            tree = self.some(pick, [m.tree for m in store.short_manifests()])
        if tree:
            self.publish(lambda access: roll_back(access, tree, "", "worse"), tree)

    @rule(pick=PICK)
    def let_go(self, pick):
        if tree := self.some(pick, self.pins):
            self.publish(lambda access: release_tree(access, tree), tree)
            self.build()

    def publish(self, call, tree):
        try:
            done = call(self.workshop.access())
        except (UnknownTreeError, EmptySourceError):  # no text of the source can be read today
            return
        self.pins ^= {tree} if bool(done.manifest.pin) is not (tree in self.pins) else set()
        self.compare([tree])

    @rule(pick=PICK)
    def approve_one(self, pick):
        waiting = decide_run(self.workshop.access()).changes.partitions_in(PartitionChange.WAITING)
        if tree := self.some(pick, waiting):
            try:
                approve_builds(
                    self.workshop.home, self.workshop.settings, [tree], self.workshop.components
                )
            except UnknownTreeError as error:
                refused(error, "pinned", "gone")
                return
            self.compare([tree])
            self.build()

    @rule()
    def export_and_import(self):
        with self.workshop.access().store.open() as store:
            if not store.manifests():
                return
        # An export of before brings back what was deleted since, as a backup does.
        names = "+".join(sorted(self.model.notes)).replace("/", "-")
        folder = self.root / f"export-{self.n_markers}-{len(self.model.aside)}-{names}"
        workshop = self.workshop
        if not folder.exists():
            export_home(workshop.home, workshop.settings, str(folder))
        identity = workshop.components.store_identity
        try:
            import_home(workshop.home, workshop.settings, str(folder), identity, replace=True)
        except RaptorError as error:
            refused(error, "pinned", "aside")
        self.compare()
        self.build()

    # -- builds

    @rule(n_operations=st.integers(0, 4))
    def build_that_dies(self, n_operations):
        """Write some operations of the first commit only; the next build completes it."""
        name = self.some(n_operations, self.model.notes)
        note = self.model.notes[name]
        self.write(name, replace(note, markers=(*note.markers, self.marker())))
        apply = EdgeEngine.apply

        def die(engine, operations):
            apply(engine, operations[:n_operations])
            raise StoreError("died")

        with pytest.MonkeyPatch.context() as dying:
            dying.setattr(EdgeEngine, "apply", die)
            with suppress(RaptorError):
                self.workshop.build()
        self.build()

    def build(self):
        workshop = self.workshop
        try:
            report = workshop.build()
        except EmptySourceError:
            # Nothing is known of the source, so documents that it may have lost stay as they are.
            assert all(note.is_broken for note in self.model.notes.values())
            return
        assert not report.failed, report.failed
        for tree in report.changes.ended_pin_notes:
            self.pins.discard(tree)
        if workshop.settings.corpus_tree.enabled:
            update_corpus_tree(workshop.home, workshop.settings, components=workshop.components)
        decision = decide_run(workshop.access())
        assert decision.actions == (), decision.actions
        self.compare()

    # -- the comparison

    def compare(self, trees=None):
        """Hold what callers find in these trees, or in all, against the model."""
        retriever = HomeRetriever(self.workshop.home.path, self.workshop.components)
        with self.workshop.access().store.open() as store:
            manifests = {m.tree: m for m in store.manifests()}
        assert {name for name, m in manifests.items() if m.pin} == self.pins
        for caller in CALLERS if manifests else ():
            found = self.found_by(caller, trees)
            bound = retriever.for_readers([caller])
            asked = " ".join(sorted(found)) or "Marker1x"
            hits = bound.search(asked).hits
            where = {h.node.tree for h in hits}
            texts = [h.node.text for h in hits if trees is None or h.node.tree in trees]
            for marker in {*found, *words_of(texts)}:
                assert self.model.allows(caller, marker), (caller, marker, where)
            if trees is None:
                self.miss_nothing(caller, found, manifests)

    def miss_nothing(self, caller, found, manifests):
        changes = decide_run(self.workshop.access()).changes
        # A partition with a broken document stays as published; plan and build say so. An import
        # may publish an older text, whose new readers wait for the build of the new text.
        waiting = changes.partitions_in(
            PartitionChange.WAITING, PartitionChange.UNKNOWN, PartitionChange.CHANGED
        )
        published = {name for m in manifests.values() for name in m.documents}
        for name in self.model.notes:
            is_cut = any(name == document for document, _ in self.model.aside_chunks)
            is_late = any(self.may_hold(part, name) for part in waiting) or (
                bool(waiting) and name not in published
            )
            if self.model.may_read(caller, name) and not (is_cut or is_late):
                assert found & self.model.markers_of[name], (caller, name, sorted(found))

    def may_hold(self, partition, name):
        """Whether a document may be in a partition, where its new text and readers may wait."""
        is_folder = self.settings["grouping"]["by"] == "folder"
        return partition.startswith(name.partition("/")[0]) if is_folder else partition == name

    def found_by(self, caller, trees):
        """Markers in all nodes that a caller may list, also in those of corpus trees."""
        access, texts = self.workshop.access(), []
        places = [access]
        if trees is None and self.workshop.settings.corpus_tree.enabled:
            places.append(corpus_tree_access(access))
        for place in places:
            if place.store.exists():
                with place.store.open_existing() as store:
                    where = Where(readers=(caller,), trees=None if trees is None else tuple(trees))
                    texts += [node.text for node in store.nodes(where)]
        return words_of(texts)


def refused(error, *reasons):
    """Hold that an error gives one of the reasons for which a publication may be refused."""
    assert any(reason in str(error) for reason in reasons), error


def words_of(texts):
    words = (word.strip(".,…:;") for text in texts for word in text.split())
    return {word for word in words if word.startswith("Marker") and word.endswith("x")}


TestToday = Today.TestCase
TestToday.settings = examples(
    2, stateful_step_count=6, phases=(Phase.explicit, Phase.reuse, Phase.generate)
)


@pytest.mark.rare
@pytest.mark.timeout(1200)
class TestTodayAtLength(Today.TestCase):
    """The same with many and long sequences."""

    settings = examples(
        20, stateful_step_count=15, phases=(Phase.explicit, Phase.reuse, Phase.generate)
    )
