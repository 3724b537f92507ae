"""Rights in a home: a change of them costs no call, and one that was taken away stays away."""

import pytest
from support.homes import built_once, copy_home
from support.workshop import Workshop, prose, settings_text

from raptor_assets.home.versions import release, roll_back
from raptor_assets.local.transfer import export_home, import_home
from raptor_core import HomeRetriever, Query
from raptor_core.store.base import Where
from raptor_core.store.engines.base import Condition

pytestmark = pytest.mark.slow

TREE = "guide"
QUESTION = "the northern gate"


def rules(**readers):
    """Settings in which each document of a folder has its readers."""
    paths = {name: names.split() for name, names in readers.items()}
    rows = [{"paths": [f"{TREE}/{name}.md"], "readers": names} for name, names in paths.items()]
    return {"source": {"readers": rows}, "grouping": {"by": "folder"}}


def configure(workshop, **readers):
    settings = rules(**readers)
    settings["source"]["paths"] = [str(workshop.docs)]
    workshop.configure(**settings)


def opened(root):
    made = Workshop(root)
    configure(made, a="ana ben", b="ana")
    return made


def build_guide(root):
    made = opened(root)
    made.write("guide/a.md", prose(12, seed=1))
    made.write("guide/b.md", prose(12, seed=2))
    made.build()


@pytest.fixture
def workshop(tmp_path_factory, tmp_path):
    copy_home(built_once(tmp_path_factory, "readers", build_guide), tmp_path / "copy")
    return opened(tmp_path / "copy")


def readable(workshop, *readers):
    """Documents of the nodes that these may read, one tuple for each node."""
    with workshop.access().store.open() as store:
        return {node.documents for node in store.nodes(Where(readers=readers))}


A, B, BOTH = ("guide/a.md",), ("guide/b.md",), ("guide/a.md", "guide/b.md")


def test_a_change_of_rights_alone_sets_a_field_of_the_points(workshop):
    assert (readable(workshop, "ana"), readable(workshop, "ben")) == ({A, B, BOTH}, {A})
    with workshop.access().store.open() as store:
        points = {p.id for p in store._points(Condition(()), ())}
    n_embedded = workshop.embedder.n_embedded
    configure(workshop, a="ana", b="ana *")
    assert workshop.build().built == [TREE]
    assert (readable(workshop, "ana"), readable(workshop, "ben")) == ({A, B, BOTH}, {B})
    metadata = workshop.metadata("tree", TREE)
    assert metadata["n_nodes_added"] == metadata["n_nodes_updated"] == 0
    assert metadata["n_nodes_readers_changed"] > 0
    assert workshop.embedder.n_embedded == n_embedded
    with workshop.access().store.open() as store:
        assert {p.id for p in store._points(Condition(()), ())} == points
    assert workshop.build().built == []


def test_a_search_of_the_home_keeps_to_the_readers(workshop):
    workshop.home.settings.write_text(settings_text(workshop.docs))
    retriever = HomeRetriever(workshop.home.path, workshop.components)
    for readers, documents in {("ben",): {A}, ("eva",): set(), (): set()}.items():
        hits = retriever.search(QUESTION, Query(where=Where(readers=readers))).hits
        assert {hit.node.documents for hit in hits} == documents


def test_an_earlier_build_has_the_readers_of_today_and_loses_those_of_tomorrow(workshop):
    workshop.write("guide/b.md", prose(12, seed=3))
    configure(workshop, a="ana ben", b="ana ben")
    workshop.build()
    configure(workshop, a="ana", b="ben")
    roll_back(workshop.access(), TREE, to="", note="it answered worse")
    assert (readable(workshop, "ana"), readable(workshop, "ben")) == ({A}, {B})
    configure(workshop, a="eva", b="ben eva")
    workshop.build()  # which leaves the held tree, but for rights that are taken away
    assert workshop.manifests()[TREE].hold
    assert (readable(workshop, "ana", "eva"), readable(workshop, "ben")) == (set(), {B})
    release(workshop.access(), TREE)
    workshop.build()
    assert (readable(workshop, "eva"), readable(workshop, "ben")) == ({A, B, BOTH}, {B})


def test_an_import_keeps_readers_and_the_next_build_has_those_of_the_source(workshop, tmp_path):
    export_home(workshop.home, workshop.settings, str(tmp_path / "export"))
    here = Workshop(tmp_path / "here")
    here.docs = workshop.docs
    configure(here, a="ana ben", b="ana")
    identity = here.components.store_identity

    def bring():
        import_home(here.home, here.settings, str(tmp_path / "export"), identity, replace=True)

    bring()
    assert (readable(here, "ana"), readable(here, "ben")) == ({A, B, BOTH}, {A})
    configure(here, a="ana", b="ana")
    here.build()
    assert readable(here, "ben") == set()
    bring()  # an older export of the same nodes
    here.build()
    assert (readable(here, "ana"), readable(here, "ben")) == ({A, B, BOTH}, set())
