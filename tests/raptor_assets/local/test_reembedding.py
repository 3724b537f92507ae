"""A changed embedder: published trees get its vectors, and their clusters and summaries stay."""

import json

import pytest
from support.command import JUDGE, Place
from support.hashing import WideEmbedder
from support.homes import copy_home, put_back
from support.stand_ins import qdrant_stand_in
from support.workshop import prose

from raptor_assets.local.curate import Author, Curator
from raptor_core import HomeRetriever
from raptor_core.errors import ModelError, StoreMismatchError

pytestmark = pytest.mark.slow

FIRST, SECOND = "support.hashing:HashingEmbedder", "support.hashing:WideEmbedder"
SELECTED = prose(60, seed=4)
"""A text of which the second embedder would choose other sentences for a summary."""


def build_three(root, store):
    """Build a home with three trees: one is pinned, and one is for readers."""
    made = Place(root)
    made.home.mkdir(parents=True)
    made.write("a.md", SELECTED)
    made.write("b.md", prose(24, seed=2))
    made.write("c.md", f"---\nreaders: ana\n---\n{prose(24, seed=3)}")
    small = '[clustering]\nmax_tokens = 400\n[tokens]\ncounter = "words"\n'
    made.settings.write_text(
        f'[source]\npaths = ["{made.docs}"]\n[store]\n{store}\n{small}'
        f'[corpus_tree]\nenabled = true\nmin_trees = 2\n{JUDGE}\nembedder = "{FIRST}"\n'
    )
    assert made.call("build").code == 0
    made.write("b.md", prose(24, seed=5))
    assert made.call("build").code == 0
    assert made.call("versions", "rollback", "b.md").code == 0
    assert made.call("build").code == 0  # of the corpus tree
    return made


@pytest.fixture(scope="module")
def embedded(tmp_path_factory):
    """The home, and a copy of it as it was."""
    made, kept = tmp_path_factory.mktemp("made"), tmp_path_factory.mktemp("kept") / "root"
    place = build_three(made, 'kind = "edge"')
    copy_home(made, kept)
    return place, kept


@pytest.fixture
def place(embedded):
    put_back(embedded[0].root, embedded[1])
    return embedded[0]


@pytest.fixture(params=["edge", "server"])
def place_of_engine(request, tmp_path):
    if request.param == "edge":
        yield request.getfixturevalue("place")
        return
    with qdrant_stand_in() as server:
        yield build_three(tmp_path, f'kind = "server"\nurl = "{server.url}"')


def take(place, embedder):
    other = FIRST if embedder == SECOND else SECOND
    place.settings.write_text(place.settings.read_text().replace(other, embedder))


def texts(retriever):
    trees = [manifest.tree for manifest in retriever.manifests()]
    return {node.id: node.text for tree in trees for node in retriever.nodes(tree)}


def pins(retriever):
    return {m.tree: (m.pin, m.readers) for m in retriever.manifests()}


def test_trees_are_embedded_again_without_a_summary_and_open_readers_follow(place_of_engine):
    place = place_of_engine
    running = HomeRetriever(place.home)
    caller = running.for_readers(["ana"])
    question = prose(24, seed=3).splitlines()[0]
    assert caller.search(question).hits[0].node.tree == "c.md"
    before, pinned = texts(running), pins(running)
    take(place, SECOND)
    refused = place.call("build")
    assert refused.code != 0
    assert "raptor build --reembed" in refused.err
    assert 'store.corpus = "corpus_2"' in refused.err
    assert running.search(question).hits  # with the embedder of its start
    planned = place.call("plan", "--reembed", "--json").json
    assert (planned["n_summaries"], planned["usd"], planned["n_trees"] > 3) == (0, 0.0, True)
    done = place.call("build", "--reembed", "--json")
    assert (done.code, done.json["built"]) == (0, ["a.md", "c.md"])
    assert (done.json["n_summarized"], done.json["n_embedded"]) == (0, 0)
    above = done.json["corpus_tree"]
    assert (above["n_summarized"], above["n_embedded"]) == (0, 0)
    assert caller.search(question).hits[0].node.tree == "c.md"
    assert running.components.embedder.model == "wide"
    assert running.search(question, running.query).hits
    assert pins(running) == pinned
    assert sorted(texts(running).values()) == sorted(before.values())
    assert place.call("build", "--json").json["built"] == []
    assert place.call("build", "--reembed", "--json").json["built"] == []
    place.write("a.md", SELECTED + "\n\nA new paragraph ends it.")
    assert place.call("build", "--json").json["built"] == ["a.md"]


def test_readers_and_decisions_of_today_do_not_wait_for_the_vectors(place):
    place.write("c.md", f"---\nreaders: ben\n---\n{prose(24, seed=3)}")
    Curator(place.home).set_document_aside("a.md", Author("Ines"))
    take(place, SECOND)
    assert "--reembed" in place.call("build").err
    assert not HomeRetriever(place.home).for_readers(["ana"]).manifests()
    assert place.call("build", "--reembed").code == 0
    trees = [manifest.tree for manifest in HomeRetriever(place.home).manifests()]
    assert [tree for tree in trees if not tree.startswith("/")] == ["b.md", "c.md"]


def test_a_failed_embedding_leaves_what_is_published_and_the_next_one_goes_on(place, monkeypatch):
    before = texts(HomeRetriever(place.home))
    take(place, SECOND)

    def fail(*_):
        raise ModelError("the model is gone")

    with monkeypatch.context() as patch:
        patch.setattr(WideEmbedder, "_encode", fail)
        failed = place.call("build", "--reembed")
    assert failed.code != 0
    assert "the model is gone" in failed.err
    take(place, FIRST)
    assert texts(HomeRetriever(place.home)) == before
    built = place.call("build", "--json").json  # unfinished trees are built from what is there
    assert (built["n_embedded"], built["n_summarized"]) == (0, 0)
    take(place, SECOND)
    assert place.call("build", "--reembed", "--json").json["n_summarized"] == 0


def test_a_summarizer_that_changes_too_writes_its_own_summaries(place):
    take(place, SECOND)
    place.configure("[summarizer]\nratio = 0.5")
    assert place.call("build", "--reembed", "--json").json["n_summarized"] > 0


def test_other_chunks_are_refused_since_every_summary_would_be_paid_for(place):
    take(place, SECOND)
    place.configure("[chunking]\nmax_tokens = 60")
    refused = place.call("plan", "--reembed", "--json")
    assert refused.code != 0
    assert "tokens.counter" in json.dumps(refused.json)
    with pytest.raises(StoreMismatchError, match="reembed"):
        HomeRetriever(place.home).search("anything else")
