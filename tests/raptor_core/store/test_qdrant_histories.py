"""Any history of builds, deaths, kills of a real server and readers ends as if nothing had died.

Builders of three trees share one cache of unfinished work and one server. What was paid for is not
asked for again, readers see whole trees of one build, and nothing is left over in the end.
"""

import sqlite3
import tempfile
from collections import Counter
from contextlib import closing, nullcontext, suppress
from itertools import count
from pathlib import Path
from threading import Lock, Thread
from typing import ClassVar

import pytest
from hypothesis import Phase
from hypothesis import strategies as st
from hypothesis.stateful import RuleBasedStateMachine, initialize, rule
from support.examples import examples
from support.hashing import HashingEmbedder
from support.library import CrashError
from support.qdrant_faults import Fault
from support.qdrant_proxy import Proxy
from support.qdrant_server import KEY, QdrantServer
from support.summarizers import ScriptedSummarizer
from support.word_counter import WordCounter

from raptor_core.documents.base import Document
from raptor_core.errors import StoreError
from raptor_core.identity import embedding_key
from raptor_core.retrying import RetryPolicy
from raptor_core.settings import Settings
from raptor_core.store import Edition, Where, open_store
from raptor_core.store.engines import retries
from raptor_core.store.engines.versions import KnownVersions, ServerPublisher
from raptor_core.tree import summarize
from raptor_core.tree.build import build_trees
from raptor_core.tree.cache import MemoryCache
from raptor_core.tree.components import Components
from raptor_core.tree.publish import build_id, make_manifest
from raptor_core.tree.published import published_tree
from raptor_core.tree.sqlite_cache import FILE, SqliteCache

pytestmark = pytest.mark.slow

PHASES = (Phase.explicit, Phase.reuse, Phase.generate)
NUMBERS = count()
NAMES = ("north", "south", "east")
ABSENT = build_id([])
EVER = 1 << 30
ENTRY = HashingEmbedder().embed_queries(["Entry"])

TREES = st.lists(st.sampled_from(NAMES), min_size=1, max_size=2, unique=True)
CUT, LOST, KILLED = Fault(cut=True), Fault(cut=True, applied=True), Fault(killed=0.002)
DEATHS = st.one_of(
    st.none(),
    st.tuples(st.just("cache"), st.integers(0, 25)),
    st.tuples(st.just("writes"), st.integers(0, 9)),
    st.tuples(st.sampled_from([CUT, LOST, LOST, KILLED]), st.integers(0, 30)),
)
"""How a builder ends: dead before or after a write to the cache, or to the store; or at a request
that never came, whose answer was lost, or that killed the server."""


class MortalCache(SqliteCache):
    """The cache of one process, which dies at the ``ticks``-th moment before or after a write.

    ``model`` is told of every write that was carried out.
    """

    def __init__(self, folder, model, ticks):
        super().__init__(folder)
        self.model = model
        self.ticks = ticks

    def _tick(self):
        self.ticks -= 1
        if self.ticks < 0:
            raise CrashError

    def _mirrored(self, name, given):
        self._tick()
        getattr(super(), name)(given)
        getattr(self.model, name)(given)
        self._tick()

    def want(self, wanted):
        self._mirrored("want", list(wanted))

    def keep_texts(self, texts):
        self._mirrored("keep_texts", dict(texts))

    def keep_vectors(self, vectors):
        self._mirrored("keep_vectors", dict(vectors))

    def forget(self, trees):
        self._mirrored("forget", list(trees))


class PaidSummarizer(ScriptedSummarizer):
    """Must not be asked for what ``known`` tells."""

    def __init__(self, known):
        super().__init__()
        self.known = known

    def summarize(self, requests):
        assert not {request.key for request in requests} & self.known()
        return super().summarize(requests)


class PaidEmbedder(HashingEmbedder):
    """Must not be asked for what ``known`` tells."""

    def __init__(self, known):
        super().__init__()
        self.known = known

    def embed(self, texts):
        assert not {embedding_key(text, self.fingerprint) for text in texts} & self.known()
        return super().embed(texts)


class Passing(Proxy):
    """Passes requests on unrecorded and unchecked, which takes longer than to answer them.

    ``look`` is called before each ``every``-th; 0 for none.
    """

    every, n_seen, look = 0, 0, None

    def __init__(self, server):
        super().__init__(server)
        handler = self._server.RequestHandlerClass
        handler.protocol_version, handler.wbufsize = "HTTP/1.1", 1 << 16  # connections are kept

    def respond(self, method, path, headers, data):
        self.n_seen += 1
        if self.every and self.n_seen % self.every == 0:
            self.look()
        refused = self._refused(method, path.partition("?")[0], path, headers, data, None)
        return refused or self.answer(method, path, headers, data)

    def _malformed(self, *_):
        return None


class Histories(RuleBasedStateMachine):
    """``may_be`` holds the builds that a reader may see of each tree; after a pause it is one."""

    wire: ClassVar
    folder: ClassVar

    def __init__(self):
        super().__init__()
        self.corpus = f"h{next(NUMBERS)}"
        self.root = Path(tempfile.mkdtemp(dir=self.folder))
        self.model = MemoryCache()
        self.documents = {}
        self.made = {}
        self.n_markers = 0
        self.may_be = {name: {ABSENT} for name in NAMES}
        self.live = []
        self.reader = None
        self.turn = Lock()
        self.wrong = []
        self.builders = self.settings(self.wire.url, max_retries=0)
        self.readers = self.settings(self.wire.server.url)

    # -- what a builder is made of

    def settings(self, url, **store):
        return Settings.model_validate(
            {
                "chunking": {"max_tokens": 24, "context": False},
                "clustering": {"method": "contiguous", "window": 3, "max_tokens": 400},
                "store": {"kind": "server", "url": url, "corpus": self.corpus, **store},
            }
        )

    def components(self, ticks=EVER):
        made = Components(
            self.builders,
            embedder=PaidEmbedder(lambda: self.paid("vectors", "embedding_key")),
            summarizer=PaidSummarizer(lambda: self.paid("texts", "content_key")),
            cache=MortalCache(self.root, self.model, ticks),
        )
        made.counter = WordCounter()
        return made

    def paid(self, kind, field):
        """Keys of what is live, and of what an unfinished tree has in the cache."""
        kept = vars(self.model)[f"_{kind}"].keys()
        return kept | {getattr(node, field) for node in self.live}

    def from_scratch(self, tree):
        """The tree that a build of these documents gives which knows nothing."""
        (document,) = self.documents[tree]
        if (tree, document.text) not in self.made:
            parts = {"embedder": HashingEmbedder(), "summarizer": ScriptedSummarizer()}
            components = Components(self.builders, **parts)
            components.counter = WordCounter()
            made = build_trees({tree: [document]}, components=components)[tree]
            self.made[tree, document.text] = made
        return self.made[tree, document.text]

    # -- what a builder does

    def build(self, trees, components):
        """Editions of these trees, as a step before their publication leaves them."""
        given = {name: self.documents[name] for name in trees}
        with open_store(self.builders.store, None, components.store_identity) as store:
            earlier = {name: published_tree(store, name) for name in trees}
            made = build_trees(given, components=components, known=store, previous=earlier)
        for name, tree in made.items():
            assert build_id(list(tree.nodes())) == build_id(list(self.from_scratch(name).nodes()))
        return [
            Edition(
                make_manifest(tree, given[name], components.settings_fingerprint),
                [*tree.nodes()],
                tree.vectors(),
            )
            for name, tree in made.items()
        ]

    def publish(self, editions, dropped, components):
        """Make them what readers see, who may see both until it is done."""
        after = dict.fromkeys(dropped, ABSENT)
        after |= {edition.manifest.tree: edition.manifest.build_id for edition in editions}
        for name, build in after.items():
            self.may_be[name].add(build)
        self.commit(editions, dropped, components)
        for name, build in after.items():
            self.may_be[name] = {build}
        components.cache.forget(after)
        assert not set(after) & set(components.cache.unfinished())

    def commit(self, editions, dropped, components):
        identity = components.store_identity
        with (
            open_store(self.builders.store, None, identity) as store,
            store.publishing() as publishing,
        ):
            publishing.publish(editions)
            publishing.drop(dropped)

    def bring_in_step(self, trees, dropped=(), death=None, every=0):
        """A builder's whole work, which may end anywhere; ``every`` n-th request has a reader."""
        kind, at = death or (None, 0)
        components = self.components(at if kind == "cache" else EVER)
        self.wire.fail_after = at if kind == "writes" else None
        self.wire.faults = [None] * at + [kind] if isinstance(kind, Fault) else []
        self.wire.look, self.wire.every = self.look, 0 if kind is KILLED else every
        try:
            self.publish(self.build(trees, components), dropped, components)
        except (CrashError, StoreError):
            assert death
        self.wire.fail_after, self.wire.faults, self.wire.every = None, [], 0
        if not self.wire.server.ready():
            self.wire.server.kill()
            self.wire.server.start()
        self.pause()

    # -- readers

    def look(self):
        """What the reader that stays open sees: of each tree one build, whole."""
        try:
            with self.turn:  # requests of two builders come at once
                if self.reader is None:
                    with suppress(StoreError):
                        self.reader = open_store(self.readers.store, None)
                return [] if self.reader is None else self.see(self.reader)
        except Exception as error:  # in a thread of the wire
            self.wrong.append(error)
            raise

    def see(self, store):
        for tree, allowed in self.may_be.items():
            if allowed != {ABSENT}:
                self.see_named(store, tree, allowed)
        nodes = store.nodes()
        for tree, allowed in self.may_be.items():
            assert build_id([node for node in nodes if node.tree == tree]) in allowed, tree
        (hits,) = store.search(ENTRY, 999)
        for tree, allowed in self.may_be.items():
            assert build_id([hit.node for hit in hits if hit.node.tree == tree]) in allowed, tree
        return nodes

    def see_named(self, store, tree, allowed):
        """What a tree that is named shows, whose manifest is looked at afterwards."""
        where = Where(trees=(tree,))

        def whole(store):
            ((found, _),) = store.candidates(ENTRY, ["Entry"], 999, where)
            return store.nodes(Where(ids=tuple(found.outlines.ids())))

        assert build_id(store.read_consistently(whole)) in allowed, tree
        (hits,) = store.search(ENTRY, 1, where)
        scores = [hit.score for hit in hits]
        assert any(scores == pytest.approx(self.best(tree, build), abs=1e-5) for build in allowed)

    def best(self, tree, build):
        """The score of the best node of a build, which a search for one gives."""
        for (name, _), made in self.made.items():
            if name == tree and build_id(nodes := list(made.nodes())) == build:
                vectors = made.vectors()
                return [max(float(vectors[node.embedding_key] @ ENTRY[0]) for node in nodes)]
        return []

    def pause(self):
        """Nobody writes: the reader that stays open sees what a new one does, and nothing else."""
        with suppress(StoreError), open_store(self.readers.store, None) as store:
            self.live = store.nodes()
        for tree in NAMES:
            self.may_be[tree] &= {build_id([node for node in self.live if node.tree == tree])}
        assert build_id(self.look()) == build_id(self.live)
        assert self.wrong == []

    # -- histories

    def edit(self, tree, size, place):
        """New paragraphs: a marker of its own in each, so that no content ever comes back."""
        old = [d.text for d in self.documents.get(tree, ())]
        kept = old[0].split("\n\n") if old else []
        fresh = []
        for _ in range(size):
            self.n_markers += 1
            fresh.append(f"Marker{self.n_markers}x was seen at noon. Entry {self.n_markers} of it.")
        place %= len(kept) + 1
        text = "\n\n".join([*kept[:place], *fresh, *kept[place + 2 :]])
        self.documents[tree] = [Document(f"{tree}.md", text)]

    @initialize(sizes=st.lists(st.integers(1, 12), min_size=1, max_size=3))
    def begin(self, sizes):
        for tree, size in zip(NAMES, sizes, strict=False):
            self.edit(tree, size, 0)

    @rule(
        trees=TREES,
        size=st.integers(1, 7),
        place=st.integers(0, 20),
        death=DEATHS,
        every=st.integers(0, 9),
    )
    def change(self, trees, size, place, death, every):
        for tree in trees:
            self.edit(tree, size, place)
        self.bring_in_step(trees, (), death, every)

    @rule(death=DEATHS, every=st.integers(0, 9))
    def build_what_is_there(self, death, every):
        self.bring_in_step(list(self.documents), (), death, every)

    @rule(source=st.sampled_from(NAMES), tree=st.sampled_from(NAMES), death=DEATHS)
    def copy(self, source, tree, death):
        """Two trees of one text, one of which may want what the other forgets."""
        if source in self.documents:
            text = self.documents[source][0].text
            self.documents[tree] = [Document(f"{tree}.md", text)]
            self.bring_in_step([source, tree], (), death)

    @rule(tree=st.sampled_from(NAMES), death=DEATHS, every=st.integers(0, 4))
    def drop(self, tree, death, every):
        self.documents.pop(tree, None)
        self.bring_in_step([], [tree], death, every)

    @rule(tree=st.sampled_from(NAMES), size=st.integers(1, 4), every=st.integers(0, 4))
    def two_builders_of_one_tree(self, tree, size, every):
        both = []
        for _ in range(2):
            self.edit(tree, size, 0)
            components = self.components()
            both.append((self.build([tree], components), components))
        refused = []

        def publish(editions, components):
            try:
                self.commit(editions, (), components)
                components.cache.forget([tree])
            except StoreError as error:
                refused.append(error)

        self.wire.look, self.wire.every = self.look, every
        builds = {edition.manifest.build_id for editions, _ in both for edition in editions}
        self.may_be[tree] |= builds
        threads = [Thread(target=publish, args=one) for one in both]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()
        self.wire.every = 0
        assert len(refused) < 2, refused
        self.may_be[tree] = builds
        self.pause()

    def teardown(self):
        try:
            self.end()
        finally:
            if self.reader:
                self.reader.close()
            self.wire.server.clear()

    def end(self):
        """What is missing is built, what is no longer there dropped: then all is as it should."""
        gone = [name for name in NAMES if name not in self.documents]
        self.bring_in_step(list(self.documents), gone)
        trees = [self.from_scratch(name) for name in self.documents]
        assert build_id(self.live) == build_id([node for tree in trees for node in tree.nodes()])
        self.check_points({node.id for node in self.live})
        assert self.kept() == []
        assert vars(self.model) == vars(MemoryCache())

    def kept(self):
        """All rows of the cache."""
        path = self.root / FILE
        with closing(sqlite3.connect(path if path.exists() else ":memory:")) as database:
            names = database.execute("select name from sqlite_master where type = 'table'")
            return [row for (name,) in names for row in database.execute(f"select * from {name}")]

    def check_points(self, ids):
        """Nothing but the nodes, and for each tree its manifest."""
        (collection,) = self.wire.client.get_collections().collections
        points = [point.payload for point in self.wire.points(collection.name)]
        assert sorted(p["node_id"] for p in points if p["state"] == "live") == sorted(ids)
        others = Counter(p["state"] for p in points if p["state"] != "live")
        n_trees = len(self.documents)
        assert others == Counter(identity=1) + Counter(manifest=n_trees)


@pytest.fixture
def histories(tmp_path_factory, monkeypatch):
    """The machine, with a server of its own."""
    monkeypatch.setattr(retries, "POLICY", RetryPolicy(base_seconds=0.001))
    monkeypatch.setenv("QDRANT_API_KEY", KEY)
    monkeypatch.setattr(summarize, "FLUSH_SECONDS", -1.0)  # each answer is kept at once
    Histories.folder = tmp_path_factory.mktemp("histories")
    server = QdrantServer(Histories.folder / "server")
    server.start()
    Histories.wire = Passing(server)
    try:
        yield Histories
    finally:
        Histories.wire.close()
        server.kill()


@pytest.mark.timeout(900)
def test_a_hundred_histories(histories):
    machine = histories.TestCase
    machine.settings = examples(100, stateful_step_count=5, phases=PHASES)
    machine().runTest()


def tell_first(publisher, changes, publication, switch=ServerPublisher._switch):
    ours = switch(publisher, changes, publication)
    WRITE(publisher, changes)
    return ours


WRITE = ServerPublisher._write
FAULTS = {
    "none": [],
    "a reader that does not look again": [(KnownVersions, "check", lambda *_: [])],
    "a publisher that leaves what it replaced": [(ServerPublisher, "finish", lambda *_: None)],
    "a manifest before its nodes": [
        (ServerPublisher, "_write", lambda *_: None),
        (ServerPublisher, "_switch", tell_first),
    ],
    "a cache that loses answers": [(SqliteCache, "keep_texts", lambda *_: None)],
}


@pytest.mark.parametrize("fault", FAULTS)
def test_a_history_tells_of_a_fault(histories, monkeypatch, fault):
    for planted in FAULTS[fault]:
        monkeypatch.setattr(*planted)
    history = histories()
    with nullcontext() if fault == "none" else pytest.raises(AssertionError):
        try:
            history.begin([6])
            history.build_what_is_there(None, 0)
            history.change(["north"], 3, 1, ("writes", 0), 0)
            history.change(["north", "south"], 3, 1, None, 1)
            history.change(["north"], 2, 1, None, 0)
        finally:
            history.teardown()
