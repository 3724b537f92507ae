"""Trees of several partitions in one commit: what fails, fails its own partition."""

from collections import Counter

import pytest
from support.workshop import Workshop, prose

from raptor_core.errors import StoreError, StoreRefusedError
from raptor_core.store import publishing
from raptor_core.store.engines.base import Upsert
from raptor_core.store.engines.edge import EdgeEngine

pytestmark = pytest.mark.slow

NAMES = ("a.md", "b.md")
compare = publishing._compare_with_stored
apply = EdgeEngine.apply


def edit(workshop, word):
    for at, name in enumerate(NAMES):
        workshop.write(name, f"{prose(4, seed=at)}\n\nAt the end there is a {word}.")


@pytest.fixture(scope="module")
def workshop(tmp_path_factory):
    """Two partitions of one tree each, that are published."""
    made = Workshop(tmp_path_factory.mktemp("together"))
    edit(made, "beginning")
    assert made.build().built == list(NAMES)
    return made


@pytest.fixture
def commits(monkeypatch):
    """Trees of the manifests in each commit."""
    found = []

    def applied(self, operations):
        if manifests := [p.payload["tree"] for p in points(operations) if "mark" in p.payload]:
            found.append(list(dict.fromkeys(manifests)))
        apply(self, operations)

    monkeypatch.setattr(EdgeEngine, "apply", applied)
    return found


def points(operations):
    return [p for one in operations if isinstance(one, Upsert) for p in one.points]


def holding(workshop, word):
    """Trees that say the word."""
    return [name for name in NAMES if any(word in text for text in workshop.texts(name))]


def test_partitions_that_go_through_together_are_published_in_one_commit(workshop, commits):
    edit(workshop, "whale")
    assert workshop.build().built == list(NAMES)
    assert commits == [list(NAMES)]
    assert holding(workshop, "whale") == list(NAMES)


def test_a_tree_that_cannot_be_published_fails_its_partition_alone(workshop, monkeypatch):
    def compared(manifest, nodes, stored):
        if manifest.tree == "b.md":
            raise StoreError("no such vectors")
        return compare(manifest, nodes, stored)

    monkeypatch.setattr(publishing, "_compare_with_stored", compared)
    edit(workshop, "zebra")
    report = workshop.build()
    assert report.built == ["a.md"]
    assert {n: f.reason for n, f in report.failed.items()} == {"b.md": "no such vectors"}
    assert holding(workshop, "zebra") == ["a.md"]


def test_a_commit_that_fails_fails_all_of_it_and_the_next_build_publishes(workshop, monkeypatch):
    def failing(self, operations):
        raise StoreError("no room")

    monkeypatch.setattr(EdgeEngine, "apply", failing)
    edit(workshop, "panda")
    report = workshop.build()
    assert Counter(f.reason for f in report.failed.values()) == {"no room": 2}
    monkeypatch.undo()
    assert holding(workshop, "panda") == []
    assert workshop.build().built == list(NAMES)
    assert holding(workshop, "panda") == list(NAMES)


def test_what_a_server_refuses_together_is_published_apart(workshop, monkeypatch):
    def refusing(self, operations):
        if any(p.payload["tree"] == "a.md" for p in points(operations)):
            raise StoreRefusedError("too large")
        apply(self, operations)

    monkeypatch.setattr(EdgeEngine, "apply", refusing)
    edit(workshop, "otter")
    report = workshop.build()
    assert report.built == ["b.md"]
    assert {n: f.reason for n, f in report.failed.items()} == {"a.md": "too large"}
    assert holding(workshop, "otter") == ["b.md"]
