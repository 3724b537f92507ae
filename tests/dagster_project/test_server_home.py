"""A home whose vectors lie on a server: a stand-in at the wire, which checks every request."""

import pytest
from support.qdrant_faults import Fault
from support.stand_ins import qdrant_stand_in
from support.workshop import Workshop, prose

from dagster_project.transfer import export_home, import_home
from raptor_core.store import retries

pytestmark = pytest.mark.slow


@pytest.fixture
def served(tmp_path, monkeypatch):
    """A home with a document, and its server."""
    monkeypatch.setattr(retries, "BASE_SECONDS", 0.001)
    with qdrant_stand_in() as server:
        made = Workshop(tmp_path, store={"kind": "server", "url": server.url, "max_retries": 2})
        made.write("a.md", prose(24, seed=1))
        yield made, server


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
    import_home(other.home, other.settings, url, other.tools.store_identity)
    assert other.manifests() == workshop.manifests()
    assert other.texts("a.md") == workshop.texts("a.md")
    assert workshop.drop("a.md").dropped == ["a.md"]
    assert workshop.manifests() == {}


def test_a_server_that_goes_in_the_middle_leaves_the_published_tree_and_the_work(served):
    workshop, server = served
    workshop.build()
    before = workshop.manifests()["a.md"].build_id
    workshop.write("a.md", prose(30, seed=1))
    server.fail_after = 0
    report = workshop.build()
    assert report.failed.keys() == {"a.md"}
    assert server.url in report.failed["a.md"].reason
    server.fail_after = None
    assert workshop.manifests()["a.md"].build_id == before
    n_embedded = workshop.embedder.n_embedded
    assert workshop.build().built == ["a.md"]
    assert workshop.embedder.n_embedded == n_embedded
    assert workshop.manifests()["a.md"].build_id != before
