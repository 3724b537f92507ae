"""A home whose vectors lie on a server: at the wire every request is checked."""

import pytest
from support.qdrant_server import KEY, READING_KEY
from support.qdrant_stand_in import Fault
from support.stand_ins import qdrant_stand_in
from support.workshop import Workshop, prose, settings_text

from raptor_assets.local.transfer import export_home, import_home
from raptor_core import HomeRetriever
from raptor_core.errors import StoreError
from raptor_core.retrying import RetryPolicy
from raptor_core.store.engines import retries

pytestmark = pytest.mark.slow


@pytest.fixture
def served(tmp_path, monkeypatch):
    """A home with a document, and its server."""
    monkeypatch.setattr(retries, "POLICY", RetryPolicy(base_seconds=0.001))
    with qdrant_stand_in() as server:
        made = Workshop(tmp_path, store={"kind": "server", "url": server.url, "max_retries": 2})
        made.write("a.md", prose(24, seed=1))
        yield made, server


def builds(workshop):
    return {name: manifest.build_id for name, manifest in workshop.manifests().items()}


def test_a_home_is_built_edited_moved_and_dropped_through_a_server_that_stumbles(served, tmp_path):
    workshop, server = served
    server.faults = [Fault(503, b"busy"), Fault(cut=True, applied=True), None, None] * 200
    assert workshop.build().built == ["a.md"]
    before = workshop.texts("a.md")
    workshop.write("a.md", prose(24, seed=1) + "\n\nA new paragraph ends it.")
    report = workshop.build()
    assert report.built == ["a.md"]
    assert len(workshop.texts("a.md") & before) > len(before) / 2
    assert len(server.faults) < 800
    server.faults = []
    url = str(tmp_path / "export")
    export_home(workshop.home, workshop.settings, url)
    other = Workshop(tmp_path / "embedded")
    import_home(other.home, other.settings, url, other.components.store_identity)
    assert builds(other) == builds(workshop)
    assert other.texts("a.md") == workshop.texts("a.md")
    assert workshop.drop("a.md").dropped == ["a.md"]
    assert workshop.manifests() == {}


def test_a_key_that_may_only_read_is_named_and_what_was_embedded_is_kept(served, monkeypatch):
    workshop, server = served
    server.keyed = True
    monkeypatch.setenv("QDRANT_API_KEY", READING_KEY)
    reason = workshop.build().failed["a.md"].reason
    assert "403" in reason
    assert "QDRANT_API_KEY (set)" in reason
    n_leaves = workshop.embedder.n_embedded
    monkeypatch.setenv("QDRANT_API_KEY", KEY)
    assert workshop.build().failed == {}
    n_texts = len(workshop.texts("a.md"))
    assert workshop.embedder.n_embedded == max(n_leaves, n_texts)


def test_a_server_that_goes_in_the_middle_leaves_the_published_tree_and_the_work(served):
    workshop, server = served
    workshop.build()
    before = workshop.manifests()["a.md"].build_id
    workshop.write("a.md", prose(30, seed=1))
    server.fail_after = 2
    report = workshop.build()
    assert report.failed.keys() == {"a.md"}
    assert server.url in report.failed["a.md"].reason
    server.fail_after = None
    assert workshop.manifests()["a.md"].build_id == before
    n_embedded = workshop.embedder.n_embedded
    assert workshop.build().built == ["a.md"]
    assert workshop.embedder.n_embedded == n_embedded
    assert workshop.manifests()["a.md"].build_id != before


@pytest.fixture
def application(served):
    """What an application holds, for as long as it runs."""
    workshop, server = served
    workshop.build()
    given = {"store": {"kind": "server", "url": server.url, "max_retries": 0}}
    workshop.home.settings.write_text(settings_text(workshop.docs, **given))
    retriever = HomeRetriever(workshop.home.path, workshop.components)
    yield retriever
    retriever.close()


def test_an_application_goes_on_after_the_server_was_away(served, application):
    _, server = served
    before = application.search("the first question")
    server.fail_with = (503, b"away")
    with pytest.raises(StoreError, match="503"):
        application.search("the first question")
    server.fail_with = None
    assert application.search("the first question") == before
