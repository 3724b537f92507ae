"""A build that is killed in any asset is followed by one that repeats no finished model call."""

import signal
from collections import Counter

import pytest
from support.build_process import Starter
from support.workshop import Workshop, prose

from raptor_assets.assets.names import CHAIN_NAMES
from raptor_core.store.base import Where

pytestmark = pytest.mark.slow

ASSETS = [each.name for each in CHAIN_NAMES.chain(1)]


def finished(root):
    path = root / "finished.log"
    return Counter(path.read_text().splitlines()) if path.exists() else Counter()


@pytest.fixture(scope="module")
def published(tmp_path_factory):
    """A home whose trees are published, its folder, and what builds in a process of its own."""
    root = tmp_path_factory.mktemp("killed")
    workshop = Workshop(root)
    workshop.write("a.md", prose(40, seed=1))
    workshop.write("b.md", prose(40, seed=2))
    with Starter(root) as starter:

        def run(point):
            return starter.run("build_logged", point)

        assert run("never") == (0, "")
        yield workshop, root, run


KILLED = "layer_1/summaries"
"""Asset before which `make test` kills a build; `make test-all` does so before every one."""
POINTS = [
    pytest.param(f"before {name}", marks=() if name == KILLED else pytest.mark.rare)
    for name in ASSETS
]


@pytest.mark.parametrize("point", POINTS)
def test_a_build_killed_in_an_asset_is_made_good_without_repeating_a_call(published, point):
    workshop, root, run = published
    before = workshop.manifests()
    calls = finished(root)
    seed = 10 + ASSETS.index(point.split(" ")[1])
    workshop.write("a.md", prose(40, seed=seed))
    code, _ = run(point)
    assert code == -signal.SIGKILL
    assert workshop.manifests() == before
    assert run("never") == (0, "")
    made = finished(root) - calls
    assert max(made.values()) == 1, made.most_common(3)
    assert workshop.manifests()["a.md"].build_id != before["a.md"].build_id
    assert workshop.manifests()["b.md"] == before["b.md"]


def test_a_build_killed_after_publication_leaves_the_new_tree(published):
    workshop, root, run = published
    before = workshop.manifests()
    workshop.write("b.md", prose(40, seed=77))
    assert run("after tree")[0] == -signal.SIGKILL
    assert workshop.manifests()["b.md"].build_id != before["b.md"].build_id
    calls = finished(root)
    assert run("never") == (0, "")
    assert finished(root) == calls


def test_a_right_that_was_taken_away_is_gone_though_the_build_is_killed(published):
    workshop, root, run = published
    text = prose(40, seed=78)
    workshop.write("b.md", f"---\nreaders: [ana, ben]\n---\n{text}")
    assert run("never") == (0, "")
    assert [readable(workshop, name) for name in ("ana", "ben", "eva")] == [True, True, False]
    calls = finished(root)
    workshop.write("b.md", f"---\nreaders: [ana, eva]\n---\n{text}")
    assert run(f"before {KILLED}")[0] == -signal.SIGKILL
    assert [readable(workshop, name) for name in ("ana", "ben", "eva")] == [True, False, False]
    assert run("never") == (0, "")
    assert [readable(workshop, name) for name in ("ana", "ben", "eva")] == [True, False, True]
    assert finished(root) == calls


def readable(workshop, reader):
    with workshop.access().store.open() as store:
        return store.count(Where(trees=("b.md",), readers=(reader,))) > 0
