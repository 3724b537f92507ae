"""Builds that are killed or meet a full disk: what readers see stays, and no call is repeated."""

import shutil
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

        def run(point, *given):
            action = (point, *given) if given else ("build_logged", point)
            return starter.run(*action)

        assert run("never") == (0, "")
        yield workshop, root, run


KILLED = "layer_1/summaries"
"""Asset before which `make test` kills a build; `make test-all` does so before every one."""
POINTS = [
    "3",
    *(
        pytest.param(f"before {name}", marks=() if name == KILLED else pytest.mark.rare)
        for name in ASSETS
    ),
]
"""The third of the new summaries, and each asset."""


@pytest.mark.parametrize("point", POINTS)
def test_a_build_killed_in_an_asset_is_made_good_without_repeating_a_call(published, point):
    workshop, root, run = published
    before = workshop.manifests()
    calls = finished(root)
    seed = 10 + len(calls)
    workshop.write("a.md", prose(40, seed=seed))
    code, _ = run(point)
    assert code == -signal.SIGKILL
    assert workshop.manifests() == before
    assert run("never") == (0, "")
    made = finished(root) - calls
    assert max(made.values()) == 1, made.most_common(3)
    assert workshop.manifests()["a.md"].build_id != before["a.md"].build_id
    assert workshop.manifests()["b.md"] == before["b.md"]


def test_a_build_killed_between_two_commits_is_completed_by_the_next(published):
    workshop, root, run = published
    before, calls = workshop.manifests(), finished(root)
    for name, seed in (("a.md", 75), ("b.md", 76)):
        workshop.write(name, prose(40, seed=seed))
    assert run("committed")[0] == -signal.SIGKILL
    between = workshop.manifests()
    assert sum(between[name].build_id != before[name].build_id for name in before) == 1
    assert run("never") == (0, "")
    assert max((finished(root) - calls).values()) == 1
    after = workshop.manifests()
    assert all(after[name].build_id != before[name].build_id for name in before)
    with workshop.instance() as instance:
        states = [run.status.value for run in instance.get_runs(limit=2)]
    assert states == ["SUCCESS", "FAILURE"]


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


@pytest.mark.rare
@pytest.mark.parametrize(
    ("n_bytes", "is_first"), [(4096, False), (300_000, False), (10_000, True), (8_000_000, True)]
)
def test_a_full_disk_is_named_and_leaves_what_was_published(published, n_bytes, is_first):
    workshop, _, run = published
    workshop.write("a.md", prose(40, seed=n_bytes))
    if is_first:
        shutil.rmtree(workshop.home.path)
    before = workshop.manifests()
    code, printed = run("build_on_full_disk", n_bytes)
    assert code == 1
    assert "free space" in printed.casefold()
    assert workshop.manifests() == before
    assert run("never") == (0, "")
    assert workshop.manifests().keys() == {"a.md", "b.md"}


def readable(workshop, reader):
    with workshop.access().store.open() as store:
        return store.count(Where(trees=("b.md",), readers=(reader,))) > 0
