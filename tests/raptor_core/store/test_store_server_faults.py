"""A server that fails, at the wire: what is asked again, and what is said."""

import pytest
from support.ports import free_port
from support.qdrant_server import KEY, READING_KEY
from support.qdrant_stand_in import Fault
from support.stores import make_tree, open_at, publish

from raptor_core.errors import StoreError
from raptor_core.store.engines import retries

pytestmark = pytest.mark.slow

NAME = "corpus"
BUSY = b'{"status": {"error": "Rate limiting exceeded"}}'
PASSING = {
    "502 of a proxy": Fault(502, b"<html>Bad Gateway</html>"),
    "429 with a date": Fault(429, BUSY, {"retry-after": "Fri, 31 Dec 1999 23:59:59 GMT"}),
    "429 without a word": Fault(429, BUSY),
    "cut after it was applied": Fault(cut=True, applied=True),
    "503 after it was applied": Fault(503, b"busy", applied=True),
}


def opened(stand_in, **settings):
    return open_at(None, "server", url=stand_in.url, **settings)


@pytest.fixture(params=PASSING)
def passing(request):
    return PASSING[request.param]


def test_a_fault_that_passes_is_noticed_by_nobody(stand_in, passing):
    # Opening anew, publishing and reading: each request fails once, then succeeds.
    stand_in.faults = [passing, None] * 60
    with opened(stand_in) as store:
        done = publish(store, make_tree())
        assert (done.added, done.removed) == (15, 0)
        assert store.count() == len(store.nodes()) == 15
        assert store.search_text(["leaf 3"], 1)[0][0].node.text == "words leaf 3 of t"
        assert publish(store, make_tree(word="new")).added == 15
        assert store.count() == 15
    assert len(stand_in.faults) < 100
    stand_in.faults = [passing]
    with opened(stand_in) as store:
        assert store.drop("t") == 15
    assert stand_in.points(NAME) == []


def test_what_a_request_before_made_is_taken_over(stand_in):
    stand_in.faults = [None, Fault(cut=True, applied=True)]
    opened(stand_in).close()
    made = [path for method, path, *_ in stand_in.requests if method == "PUT"]
    assert made[:2] == [f"/collections/{NAME}.ab12cd34"] * 2
    with opened(stand_in) as store:
        publish(store, make_tree())


def test_a_lasting_fault_is_reported_after_the_last_attempt(stand_in):
    with opened(stand_in, max_retries=2) as store:
        stand_in.requests.clear()
        stand_in.fail_with = (503, b"busy")
        with pytest.raises(StoreError, match=rf"{stand_in.url}.*503"):
            store.drop("t")
        assert len(stand_in.requests) == 3


@pytest.mark.parametrize("status", [400, 413])
def test_a_fault_of_ours_is_asked_once(stand_in, status):
    with opened(stand_in) as store:
        stand_in.requests.clear()
        stand_in.faults = [Fault(status, b'{"status": {"error": "no"}}')]
        with pytest.raises(StoreError, match=str(status)):
            store.drop("t")
        assert len(stand_in.requests) == 0
    assert stand_in.faults == []


def test_a_key_is_asked_for_and_one_that_may_only_read_reads(stand_in, monkeypatch):
    stand_in.keyed = True
    with pytest.raises(StoreError, match=r"401.*QDRANT_API_KEY \(not set\)"):
        opened(stand_in)
    monkeypatch.setenv("QDRANT_API_KEY", KEY)
    with opened(stand_in) as store:
        publish(store, make_tree())
    monkeypatch.setenv("QDRANT_API_KEY", READING_KEY)
    with opened(stand_in, identity=None) as store:
        assert store.count() == 15
        with pytest.raises(StoreError, match=r"403.*QDRANT_API_KEY \(set\)") as caught:
            publish(store, make_tree(word="new"))
    assert READING_KEY not in str(caught.value)
    with opened(stand_in, identity=None) as store:
        assert {node.text[:5] for node in store.nodes()} == {"words"}


def test_of_several_nodes_one_that_answers_is_asked(stand_in, monkeypatch):
    waits = []
    monkeypatch.setattr(retries.RetryingClient.__init__, "__defaults__", (waits.append,))
    dead = f"http://127.0.0.1:{free_port()}"
    with open_at(None, "server", url=f"{dead}, {stand_in.url}", max_retries=0) as store:
        publish(store, make_tree())
        stand_in.faults = [Fault(503, b"busy")]
        with pytest.raises(StoreError, match=rf"{dead}, {stand_in.url}.*503.*store\.url"):
            store.count()
        assert store.count() == 15
    assert waits == []
    with open_at(None, "server", url=f"{stand_in.url},{stand_in.url}", max_retries=1) as store:
        stand_in.faults = [Fault(503, b"busy")] * 3
        assert store.count() == 15
    assert len(waits) == 1
