"""Published homes whose source is about to change. Imports nothing heavy: a conftest imports it."""

import time
from functools import partial

import pytest
from support.homes import built_once, copy_home


def workshop_in(root, by):
    from support.summarizers import ScriptedSummarizer
    from support.workshop import Workshop

    made = Workshop(root, components={"summarizer": ScriptedSummarizer()})
    made.configure(grouping={"by": by}, tree={"max_layers": 1})
    made.summarizer = made.parts_given["summarizer"]
    return made


@pytest.fixture(scope="session")
def built_pair(tmp_path_factory):
    """A home with two trees, built once."""

    def build(root):
        from support.workshop import prose

        workshop = workshop_in(root, "document")
        for number, name in enumerate(("a.md", "b.md"), 1):
            workshop.write(name, prose(24, seed=number))
        workshop.build()

    return built_once(tmp_path_factory, "pair", build)


@pytest.fixture
def pair(built_pair, tmp_path):
    """A workshop of its own with the documents ``a.md`` and ``b.md``, both published."""
    copy_home(built_pair, tmp_path / "pair")
    return workshop_in(tmp_path / "pair", "document")


@pytest.fixture(scope="session")
def built(tmp_path_factory):
    """A home by each grouping, built once."""

    def build(by, root):
        from support.workshop import prose

        workshop = workshop_in(root, by)
        for number, name in enumerate(("one/a.md", "one/b.md", "two/c.md", "two/d.md")):
            workshop.write(name, prose(12, seed=number))
        workshop.build()

    return lambda by: built_once(tmp_path_factory, by, partial(build, by))


@pytest.fixture
def later(monkeypatch):
    """The source is looked at an hour after it was written, whatever times its files carry."""
    from raptor_core.documents import scan_source

    monkeypatch.setitem(scan_source.__kwdefaults__, "clock", lambda: time.time() + 3600)


@pytest.fixture
def start(built, tmp_path):
    """Makes a workshop with two folders of two documents, all published, and its daemon."""
    from support.sensor_daemon import Daemon

    def copy(by="document"):
        copy_home(built(by), tmp_path / "copy")
        workshop = workshop_in(tmp_path / "copy", by)
        daemon = Daemon(workshop)
        assert daemon.tick()[:2] == ([], [])
        return workshop, daemon

    return copy


def calls(workshop):
    """Texts embedded and summaries written so far."""
    return workshop.embedder.n_embedded, workshop.summarizer.n_made


def rename(workshop, old, new):
    (workshop.docs / new).parent.mkdir(parents=True, exist_ok=True)
    (workshop.docs / old).rename(workshop.docs / new)
