"""`raptor curate`: decisions of people, honoured by the next build, undone without a trace."""

import pytest
from support.command import Place, embedder_made_by
from support.hashing import HashingEmbedder
from support.homes import copy_home, put_back
from support.workshop import prose, settings_text

pytestmark = pytest.mark.slow

TEXT = prose(48, seed=3)


@pytest.fixture(scope="module")
def hashing():
    with embedder_made_by(lambda *_, **__: HashingEmbedder()):
        yield


@pytest.fixture(scope="module")
def base(tmp_path_factory, hashing):
    """A home with two trees, and a copy to put back."""
    made, kept = Place(tmp_path_factory.mktemp("base")), tmp_path_factory.mktemp("kept") / "root"
    made.write("a.md", TEXT)
    made.write("b.md", prose(24, seed=4))
    made.home.mkdir()
    parts = {"clustering": {"method": "raptor"}, "tree": {"max_layers": 3, "top_nodes": 2}}
    made.settings.write_text(settings_text(made.docs, **parts))
    assert made.call("build", "--json").json["failed"] == {}
    copy_home(made.root, kept)
    return made, kept


@pytest.fixture
def place(base):
    """The home as it was before each test."""
    made, kept = base
    put_back(made.root, kept)
    return made


def tree(place, name="a.md"):
    return place.call("tree", name, "--json").json


def nodes(found, layer):
    return [node for node in found["nodes"] if node["layer"] == layer]


def texts(found):
    return {node["text"] for node in found["nodes"]}


def built(place):
    done = place.call("build", "--json").json
    assert done["failed"] == {}
    return done


def ancestors(found, node):
    """Ids of all summaries over a node."""
    ids, above = set(), {node["id"]}
    for layer in range(node["layer"] + 1, 4):
        above = {one["id"] for one in nodes(found, layer) if above & {*one["children"]}}
        ids |= above
    return ids


def test_a_correction_changes_what_stands_above_it_goes_with_its_subject_and_is_undone(place):
    before = tree(place)
    node, text = nodes(before, 1)[2], "The keeper was Agnes Moor."
    n_above = len(ancestors(before, node))
    assert n_above
    decision = place.call("curate", "correct", node["id"], "--text", text, "--json").json
    assert tree(place) == before
    plan = place.call("plan", "--json").json
    assert (plan["changed"], plan["exact"]) == (["a.md"], True)
    assert (plan["summaries"]["calls"], plan["lower_bound"]) == (n_above, n_above)
    assert built(place)["n_summarized"] == n_above
    corrected = tree(place)
    (now,) = [one for one in nodes(corrected, 1) if one["text"] == text]
    assert (now["children"], now["quality"]["curated"]) == (node["children"], 1.0)
    assert node["text"] not in texts(corrected)
    assert place.call("plan", "--json").json["changed"] == []
    (leaf, *_) = (one for one in nodes(before, 0) if one["id"] in node["children"])
    place.write("a.md", TEXT.replace(leaf["text"][-20:], "a zebra.", 1))
    built(place)
    assert text not in texts(tree(place))
    place.write("a.md", TEXT)
    built(place)
    assert tree(place)["build_id"] == corrected["build_id"]
    undone = place.call("curate", "undo", decision["id"], "--who", "Ines", "--why", "it was right")
    assert "undone" in undone.out
    built(place)
    assert tree(place)["build_id"] == before["build_id"]
    assert place.call("curate", "list", "--json").json["decisions"] == []
    (kept,) = place.call("curate", "list", "--all", "--json").json["decisions"]
    assert kept["undone"].startswith("by Ines on ")
    again = place.call("curate", "undo", decision["id"])
    assert (again.code, "no decision" in again.err) == (4, True)


def test_a_chunk_that_is_set_aside_leaves_every_summary_and_comes_back(place):
    """And a document that is set aside beside it is dropped, and comes back."""
    before, other = tree(place), tree(place, "b.md")["build_id"]
    leaves, chunk = nodes(before, 0), nodes(before, 0)[5]
    place.call("curate", "set-aside", chunk["id"], "--who", "Ines", "--why", "a table of contents")
    place.call("curate", "set-aside", "b.md")
    plan = place.call("plan", "--json").json
    assert (plan["changed"], plan["removed"]) == (["a.md"], ["b.md"])
    assert built(place)["dropped"] == ["b.md"]
    without = tree(place)
    assert chunk["id"] not in {node["id"] for node in without["nodes"]}
    assert not any(chunk["text"] in text for text in texts(without))
    assert place.call("tree", "b.md").code == 4
    assert place.call("plan", "--json").json["changed"] == []
    listed = place.call("curate", "list").out
    assert "set aside the chunk" in listed
    assert "by Ines" in listed
    for decision in place.call("curate", "list", "--json").json["decisions"]:
        place.call("curate", "undo", decision["id"])
    plan = place.call("plan", "--json").json
    assert built(place)["n_summarized"] == plan["summaries"]["calls"]
    after = tree(place)
    assert nodes(after, 0) == leaves
    assert ancestors(after, chunk)  # perhaps in another cluster than before
    assert tree(place, "b.md")["build_id"] == other


def test_a_decision_that_is_impossible_is_an_error_and_nothing_is_recorded(place):
    found = tree(place)
    chunk, summary = nodes(found, 0)[0]["id"], nodes(found, 1)[0]["id"]
    refused = {
        ("set-aside", "nowhere.md"): "no document 'nowhere.md' was built",
        ("set-aside", summary): "is a summary",
        ("correct", chunk, "--text", "x"): "is a chunk",
        ("correct", summary, "--text", "  "): "is blank",
        ("mark", summary, "It says so.", "wrong"): "has no sentence 'It says so.'",
        ("correct", summary, "--text", "x", "--who", " "): "needs the name",
    }
    for arguments, words in refused.items():
        printed = place.call("curate", *arguments)
        assert printed.code == 4, printed
        assert words in printed.err, printed
    unknown = "00000000-0000-5000-8000-000000000000"
    assert place.call("curate", "correct", unknown, "--text", "x").code == 4
    assert place.call("curate", "correct", summary).code == 2
    assert "nothing was decided" in place.call("curate", "list", "--all").out
