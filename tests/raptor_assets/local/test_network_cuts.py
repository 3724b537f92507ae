"""Builds whose network is cut in the middle: packets vanish, and nobody says so.

The vectors lie on a Qdrant server, the summaries come from the endpoint of the
tests, each behind a link of its own.
"""

import json
import threading
from contextlib import contextmanager

import pytest
from support.command import Place, embedder_made_by
from support.hashing import HashingEmbedder
from support.links import Link
from support.openai_server import FakeOpenAI
from support.stand_ins import qdrant_stand_in
from support.workshop import prose, settings_text

from raptor_assets.home.folder import Home
from raptor_core.models.endpoints import client, dialects
from raptor_core.retrying import RetryPolicy
from raptor_core.store import Where, open_store
from raptor_core.store.engines import retries

pytestmark = pytest.mark.slow

NAMES = ["a.md", "b.md"]
CONCURRENCY = 3
POINTS = {
    "a look-up": '"key":"embedding_key"',
    "publication": '"state":"manifest"',
    "a call": '"messages"',
}
"""When the link goes: as a request is served that holds this."""

CALLS_BEFORE = 2
"""Calls that are answered before one is cut."""


class Network:
    """A home, its servers, and a link to each."""

    def __init__(self, root, store, endpoint, to_store, to_endpoint):
        self.place = Place(root)
        self.store, self.endpoint = store, endpoint
        self.to_store, self.to_endpoint = to_store, to_endpoint
        self.place.home.mkdir()
        settings = settings_text(
            self.place.docs,
            tree={"max_layers": 2},
            store={
                "kind": "server",
                "url": f"http://127.0.0.1:{to_store.port}",
                "timeout_seconds": 1,
                "max_retries": 2,
            },
            summarizer={
                "kind": "openai",
                "model": "small",
                "base_url": f"http://127.0.0.1:{to_endpoint.port}/v1",
                "concurrency": CONCURRENCY,
                "timeout_seconds": 0.5,
                "max_retries": 3,
            },
        )
        self.place.settings.write_text(settings)

    def write(self, seed):
        for number, name in enumerate(NAMES):
            self.place.write(name, prose(16, seed=seed + number))

    def prompts(self):
        """What the endpoint was asked so far."""
        return [json.dumps(body["messages"]) for body in self.endpoint.bodies]

    @contextmanager
    def cut(self, *points, seconds=None):
        """Take a link down as a request is served, for good or for a while; up again afterwards.

        The request is carried out, and its answer is lost.
        """
        left, n_before = list(points), self.endpoint.n_requests
        respond = self.store.respond

        def watch(link, text):
            for point in left:
                if POINTS[point] in text:
                    left.remove(point)
                    link.down()
                    if seconds is not None:
                        threading.Timer(seconds, link.up).start()

        def watched(method, path, headers, data):
            watch(self.to_store, data.decode())
            return respond(method, path, headers, data)

        def held(body):
            if self.endpoint.n_requests > n_before + CALLS_BEFORE:
                watch(self.to_endpoint, json.dumps(body))

        self.store.respond, self.endpoint.hold = watched, held
        try:
            yield
        finally:
            self.store.respond, self.endpoint.hold = respond, None
            self.to_store.up()
            self.to_endpoint.up()
            dialects.SHARED.clear()  # the next build is another process, which knows of no cut
        assert left == []

    def seen(self):
        """What readers see: the build of each tree, every one whole."""
        with open_store(Home(self.place.home).load_settings().store, None) as store:
            manifests = store.manifests()
            for found in manifests:
                assert store.count(Where(trees=(found.tree,))) == sum(found.layer_sizes)
        return {found.tree: found.build_id for found in manifests}


@pytest.fixture(scope="module")
def network(tmp_path_factory):
    """A network in which everything has been published once."""
    with pytest.MonkeyPatch.context() as patch, qdrant_stand_in() as store:
        patch.setattr(retries, "POLICY", RetryPolicy(base_seconds=0.001))
        patch.setattr(client, "BASE_SECONDS", 0.2)
        with (
            FakeOpenAI() as endpoint,
            Link(int(store.url.rpartition(":")[2])) as to_store,
            Link(endpoint.port) as to_endpoint,
            embedder_made_by(lambda *_: HashingEmbedder()),
        ):
            root = tmp_path_factory.mktemp("network")
            made = Network(root, store, endpoint, to_store, to_endpoint)
            made.write(seed=1)
            assert made.place.call("build", "--json").json["built"] == NAMES
            yield made


@pytest.mark.parametrize("point", POINTS)
def test_a_cut_that_stays_is_told_and_made_good_without_paying_again(network, point):
    before = network.seen()
    network.write(seed=10 * (2 + list(POINTS).index(point)))
    n_before = len(network.prompts())
    with network.cut(point):
        failed = network.place.call("build", "--json")
    assert failed.code != 0, failed
    link = network.to_endpoint if point == "a call" else network.to_store
    reasons = [failure["reason"] for failure in failed.json["failed"].values()]
    assert len(reasons) == len(NAMES)
    assert all(f"127.0.0.1:{link.port}" in reason for reason in reasons), reasons
    paid = network.prompts()[n_before:]
    between = network.seen()
    assert point == "publication" or between == before
    assert network.place.call("build", "--json").json["failed"] == {}
    after = network.seen()
    for name in NAMES:
        assert after[name] != before[name]
        assert between[name] in (before[name], after[name])
    again = set(network.prompts()[n_before + len(paid) :]) & set(paid)
    assert len(again) <= (CONCURRENCY if point == "a call" else 0)


def test_short_cuts_cost_nothing_but_time(network):
    before = network.seen()
    network.write(seed=91)
    with network.cut(*POINTS, seconds=0.7):
        built = network.place.call("build", "--json")
    assert (built.code, built.json["built"]) == (0, NAMES)
    assert all(build != before[name] for name, build in network.seen().items())
