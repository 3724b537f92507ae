"""Homes that move: exported and imported, and kept at a server that stumbles."""

import shutil
from dataclasses import replace

import pytest
from support.stand_ins import qdrant_stand_in
from support.workshop import Workshop, prose

from raptor_assets.local.transfer import export_home, import_home
from raptor_core.curation import subject_of_summary
from raptor_core.retrying import RetryPolicy
from raptor_core.store.engines import retries
from raptor_core.tables.curation import read_decisions, record_decision, undo_decision

pytestmark = pytest.mark.slow


@pytest.fixture(scope="module")
def origin(tmp_path_factory):
    """A built home with two trees, and its export."""
    root = tmp_path_factory.mktemp("origin")
    workshop = Workshop(root)
    workshop.write("a.md", prose(24, seed=1))
    workshop.write("b.md", prose(30, seed=2))
    workshop.build()
    export = export_home(workshop.home, workshop.settings, str(root / "export"))
    return workshop, export, root / "export"


def another(root, origin, **settings):
    """A new home of the same source."""
    made = Workshop(root)
    made.docs = origin[0].docs
    made.configure(**settings)
    return made


def imported(workshop, origin, *trees, **options):
    identity = workshop.components.store_identity
    url = str(origin[2])
    return import_home(workshop.home, workshop.settings, url, identity, trees, **options)


def as_imported(workshop):
    return {name: replace(made, inputs="") for name, made in workshop.manifests().items()}


def test_the_next_build_of_an_imported_home_embeds_and_writes_nothing(origin, tmp_path):
    there, export, _ = origin
    assert [file.tree for file in export.trees] == ["a.md", "b.md"]
    here = another(tmp_path, origin)
    imported(here, origin)
    assert as_imported(here) == as_imported(there)
    n_embedded = here.embedder.n_embedded
    built = here.build()
    assert built.built == ["a.md", "b.md"]
    assert sum(built.n_produced_by_asset.values()) == 0
    assert here.embedder.n_embedded == n_embedded
    ids = {name: made.build_id for name, made in there.manifests().items()}
    assert {name: made.build_id for name, made in here.manifests().items()} == ids
    assert here.build().built == []
    shutil.rmtree(here.home.tables)
    assert (
        sum(here.build(force=True).n_produced_by_asset.values()) == 0
    )  # the store alone spares every call
    assert here.embedder.n_embedded == n_embedded
    assert here.texts("a.md") == there.texts("a.md")


def test_what_people_decided_goes_along(tmp_path):
    there, part = (Workshop(tmp_path / name) for name in ("there", "part"))
    there.write("a.md", prose(24, seed=1))
    there.write("b.md", prose(24, seed=2))
    there.build()
    tables = there.home.table_store(there.settings)
    with there.access().store.open() as store:
        nodes = store.nodes()
    for tree in ("a.md", "b.md"):
        one = next(node for node in nodes if node.tree == tree and node.layer == 1)
        below = [node.content_key for node in nodes if node.id in one.children]
        subject = subject_of_summary([tree], below)
        text = f"By hand: {tree}."
        record_decision(tables, "summary", tree, subject, value=text, who="Ines", documents=(tree,))
    undone = record_decision(tables, "document", "b.md", "b.md", who="Ines", documents=("b.md",))
    undo_decision(tables, undone.id, who="Ines")
    there.build()
    export_home(there.home, there.settings, str(tmp_path / "all"))
    identity = there.components.store_identity

    here = another(tmp_path / "here", (there,))
    own = record_decision(
        here.home.table_store(here.settings),
        "chunk",
        "a.md",
        "none",
        who="Tom",
        documents=("a.md",),
    )
    for _ in range(2):  # again changes nothing
        report = import_home(here.home, here.settings, str(tmp_path / "all"), identity)
        assert report.n_decisions == 4
        found = read_decisions(here.home.table_store(here.settings))
        assert sorted(found, key=str) == sorted([own, *read_decisions(tables)], key=str)
    here.build()
    assert "By hand: a.md." in here.texts("a.md")
    assert here.texts("b.md") == there.texts("b.md")

    imported_part = import_home(part.home, part.settings, str(tmp_path / "all"), identity, ["a.md"])
    assert imported_part.n_decisions == 1
    (only,) = read_decisions(part.home.table_store(part.settings))
    assert only.tree == "a.md"
    some = export_home(there.home, there.settings, str(tmp_path / "some"), ["b.md"])
    assert len(some.decisions) == 3

    there.configure(grouping={"by": "corpus"})  # as after a change of readers: another name
    assert there.build(confirm_removal=True).built == ["corpus"]
    every = export_home(there.home, there.settings, str(tmp_path / "renamed"), ["corpus"])
    assert len(every.decisions) == 4


@pytest.fixture
def served(tmp_path, monkeypatch):
    """A home with a document, and its server."""
    monkeypatch.setattr(retries, "POLICY", RetryPolicy(base_seconds=0.001))
    with qdrant_stand_in() as server:
        made = Workshop(tmp_path, store={"kind": "server", "url": server.url, "max_retries": 2})
        made.write("a.md", prose(24, seed=1))
        yield made, server


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
