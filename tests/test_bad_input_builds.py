"""Builds that meet a locked store, another embedder, a full disk, or a kill -9.

Each ends in a clear error, leaves what was published as it was, and is made good by the next
build, which pays for nothing twice.
"""

import json
import os
import shutil
import signal
import subprocess
import sys

import pytest
from support import build_process
from support.command import Place, embedder_made_by
from support.hashing import HashingEmbedder
from support.homes import copy_home, put_back
from support.openai_server import FakeOpenAI
from support.stores import PROCESS_PATH
from support.workshop import prose

from raptor_assets.home.folder import Home
from raptor_assets.local.dagster import open_instance

pytestmark = pytest.mark.slow

NAMES = ["d0.md", "d1.md", "d2.md"]


def write(place, seed):
    for number, name in enumerate(NAMES):
        place.write(name, prose(40, seed=seed + number))


def build(place):
    printed = place.call("build", "--json")
    assert printed.code == 0, printed.out
    return printed.json


def seen(place):
    """What a reader sees: the trees, and every node of one of them."""
    status = place.call("status", "--json").json
    tree = place.call("tree", "d1.md", "--json").json
    return [(tree["tree"], tree["build_id"]) for tree in status["trees"]], tree["nodes"]


@pytest.fixture(scope="module", autouse=True)
def small_embedder():
    with embedder_made_by(lambda *_: HashingEmbedder()):
        yield


@pytest.fixture(scope="module")
def base(tmp_path_factory, small_embedder):
    """A home with published trees, as it is before each test that asks for it, and a copy."""
    made, kept = (
        new_place(tmp_path_factory.mktemp("base")),
        tmp_path_factory.mktemp("kept") / "root",
    )
    build(made)
    copy_home(made.root, kept)
    return made, kept


@pytest.fixture(scope="module")
def starter(base):
    """Carries out actions on the home with published trees in processes of their own."""
    with build_process.Starter(base[0].root) as starter:
        yield starter


@pytest.fixture
def published(base):
    """A home with three published trees, and newer documents in its source."""
    made, kept = base
    put_back(made.root, kept)
    write(made, seed=101)
    return made


def new_place(root):
    made = Place(root)
    write(made, seed=1)
    made.call("init", made.docs)
    made.configure("[chunking]\nmax_tokens = 24")
    made.configure('[components]\nclusterer = "support.clusterers:fours"')
    made.configure("[store]\nlock_seconds = 0.3")
    made.configure("[tree]\nmax_layers = 2")
    return made


class Other(HashingEmbedder):
    model = "another"
    fingerprint = "f" * 32


def test_another_embedder_is_refused_and_built_beside_under_another_name(published):
    before, text = seen(published), published.settings.read_text()
    with embedder_made_by(lambda *_: Other()):
        for command in (["query", "river"], ["plan"], ["build"]):
            asked = published.call(*command, "--json")
            assert (asked.code, asked.json["error"]) == (1, "StoreMismatchError")
        published.configure('[store]\ncorpus = "corpus_2"')
        assert published.call("build", "--json").json["built"] == NAMES
        assert published.call("query", "river", "--json").code == 0
    published.settings.write_text(text)
    assert seen(published) == before
    assert {path.name for path in (published.home / "qdrant").iterdir() if path.is_dir()} == {
        *("corpus", "corpus_2")
    }


@pytest.mark.rare
@pytest.mark.parametrize("n_bytes", [4096, 300_000])
def test_a_full_disk_during_a_rebuild_leaves_what_was_published(published, starter, n_bytes):
    before = seen(published)
    code, told = starter.run("build_on_full_disk", n_bytes)
    assert code == 1
    assert "free space" in told.casefold()
    assert seen(published) == before
    assert build(published)["built"] == NAMES


@pytest.mark.rare
@pytest.mark.parametrize("n_bytes", [10_000, 8_000_000], ids=["database", "store"])
def test_a_full_disk_during_the_first_build_is_reported_and_the_next_build_succeeds(
    published, starter, n_bytes
):
    for part in ("qdrant", "tables", "dagster", "answers"):
        shutil.rmtree(published.home / part)
    code, told = starter.run("build_on_full_disk", n_bytes)
    assert code == 1
    assert "free space" in told.casefold()
    assert build(published)["built"] == NAMES


def chat_prompts(server):
    return [json.dumps(body["messages"]) for body in server.bodies]


RARE = [pytest.param(point, marks=pytest.mark.rare) for point in ("0", "1", "2", "publish")]


@pytest.mark.parametrize("point", [*RARE, "published"])
def test_a_build_that_is_killed_is_completed_by_the_next_which_pays_for_nothing_twice(
    published, starter, point
):
    """Embedding calls 0, 1 and 2 are those of layers 0, 1 and 2."""
    before = seen(published)
    with FakeOpenAI() as server:
        published.configure(f'[summarizer]\nkind = "openai"\nbase_url = "{server.base_url}"')
        code, told = starter.run("build_and_die", point)
        assert code == -signal.SIGKILL, told
        paid = chat_prompts(server)
        assert bool(paid) == (point != "0")
        between = seen(published)
        if point == "published":
            assert sum(a != b for a, b in zip(between[0], before[0], strict=True)) == 1
        else:
            assert between == before
        assert build(published)["failed"] == {}
        again = chat_prompts(server)[len(paid) :]
    assert not set(again) & set(paid)
    assert len(set(again)) == len(again)
    assert published.call("build", "--json").json["unchanged"] == NAMES
    with open_instance(Home(published.home)) as instance:
        states = [run.status.value for run in instance.get_runs()]
    assert states == ["SUCCESS", "FAILURE", "SUCCESS"]


@pytest.mark.rare
def test_a_build_that_is_killed_while_it_summarizes_changes_nothing_that_is_published(published):
    before = seen(published)
    with FakeOpenAI() as server:
        published.configure(
            f'[summarizer]\nkind = "openai"\nconcurrency = 1\nbase_url = "{server.base_url}"'
        )
        process = subprocess.Popen(
            [sys.executable, build_process.__file__, "build", str(published.root)],
            env={**os.environ, "PYTHONPATH": PROCESS_PATH},
            stdout=subprocess.PIPE,
        )

        def kill_at_the_tenth(_body):
            if server.n_requests == 10:
                process.kill()

        server.hold = kill_at_the_tenth
        process.communicate(timeout=200)
        assert process.returncode == -signal.SIGKILL
        assert seen(published) == before
        server.hold = None
        paid = chat_prompts(server)
        assert build(published)["built"] == NAMES
        again = chat_prompts(server)[len(paid) :]
    assert paid[0] not in again
