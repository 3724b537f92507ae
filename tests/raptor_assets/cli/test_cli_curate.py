"""`raptor curate`: decisions of people, honoured by the next build, undone without a trace."""

import getpass
import pwd

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


def nodes(place, layer, name="a.md"):
    return [node for node in tree(place, name)["nodes"] if node["layer"] == layer]


def texts(place, name="a.md"):
    return {node["text"] for node in tree(place, name)["nodes"]}


def built(place):
    done = place.call("build", "--json").json
    assert done["failed"] == {}
    return done


def ancestors(place, node):
    """Ids of all summaries over a node."""
    found, above = set(), {node["id"]}
    for layer in range(node["layer"] + 1, 4):
        above = {one["id"] for one in nodes(place, layer) if above & {*one["children"]}}
        found |= above
    return found


def test_a_corrected_summary_changes_what_stands_above_it_and_the_plan_says_so_first(place):
    before, node = tree(place), nodes(place, 1)[2]
    n_above = len(ancestors(place, node))
    assert n_above
    told = place.call("curate", "correct", node["id"], "--text", "The keeper was Agnes Moor.")
    assert (told.code, "corrected the summary" in told.out) == (0, True)
    assert tree(place) == before
    plan = place.call("plan", "--json").json
    assert (plan["changed"], plan["exact"]) == (["a.md"], True)
    assert (plan["summaries"]["calls"], plan["lower_bound"]) == (n_above, n_above)
    assert built(place)["n_summarized"] == n_above
    (now,) = [one for one in nodes(place, 1) if one["text"] == "The keeper was Agnes Moor."]
    assert (now["children"], now["quality"]["curated"]) == (node["children"], 1.0)
    assert node["text"] not in texts(place)
    assert place.call("plan", "--json").json["changed"] == []


def test_a_correction_goes_with_its_subject_comes_back_with_it_and_is_undone(place):
    before = tree(place)["build_id"]
    node = nodes(place, 1)[0]
    decision = place.call("curate", "correct", node["id"], "--text", "Corrected.", "--json").json
    built(place)
    corrected = tree(place)["build_id"]
    edited = TEXT.replace(TEXT.split()[0], "Zebra", 1)
    place.write("a.md", edited)
    built(place)
    assert "Corrected." not in texts(place)
    place.write("a.md", TEXT)
    built(place)
    assert tree(place)["build_id"] == corrected
    taken = place.call("curate", "undo", decision["id"], "--who", "Ines", "--why", "it was right")
    assert "taken back" in taken.out
    built(place)
    assert tree(place)["build_id"] == before
    assert place.call("curate", "list", "--json").json["decisions"] == []
    (kept,) = place.call("curate", "list", "--all", "--json").json["decisions"]
    assert kept["undone"].startswith("by Ines on ")
    again = place.call("curate", "undo", decision["id"])
    assert (again.code, "no decision" in again.err) == (4, True)


def test_a_chunk_that_is_set_aside_leaves_every_summary_and_comes_back(place):
    leaves, chunk = nodes(place, 0), nodes(place, 0)[5]
    place.call("curate", "set-aside", chunk["id"], "--who", "Ines", "--why", "a table of contents")
    built(place)
    assert chunk["id"] not in {node["id"] for node in tree(place)["nodes"]}
    assert not any(chunk["text"] in text for text in texts(place))
    listed = place.call("curate", "list").out
    assert "set aside the chunk" in listed
    assert "by Ines" in listed
    (decision,) = place.call("curate", "list", "--json").json["decisions"]
    place.call("curate", "undo", decision["id"])
    plan = place.call("plan", "--json").json
    assert plan["exact"]
    assert built(place)["n_summarized"] == plan["summaries"]["calls"]
    assert nodes(place, 0) == leaves
    assert ancestors(place, chunk)  # perhaps in another cluster than before


def test_a_document_that_is_set_aside_is_dropped_and_comes_back(place):
    before = tree(place, "b.md")["build_id"]
    told = place.call("curate", "set-aside", "b.md", "--json").json
    assert place.call("plan", "--json").json["removed"] == ["b.md"]
    assert built(place)["dropped"] == ["b.md"]
    assert place.call("tree", "b.md").code == 4
    assert place.call("plan", "--json").json["changed"] == []
    place.call("curate", "undo", told["id"])
    built(place)
    assert tree(place, "b.md")["build_id"] == before


def test_a_user_whom_the_system_has_no_name_for_gives_one(place, monkeypatch):
    monkeypatch.setattr(getpass, "getuser", lambda: pwd.getpwuid(2**31 - 7)[0])
    told = place.call("curate", "set-aside", "b.md")
    assert (told.code, "name them by --who" in told.err) == (2, True)
    assert place.call("curate", "set-aside", "b.md", "--who", "Ines").code == 0


def test_what_cannot_be_decided_is_told_and_nothing_is_recorded(place):
    chunk, summary = nodes(place, 0)[0]["id"], nodes(place, 1)[0]["id"]
    refused = {
        ("set-aside", "nowhere.md"): "no document 'nowhere.md' was built",
        ("set-aside", summary): "is a summary",
        ("correct", chunk, "--text", "x"): "is a chunk",
        ("correct", summary, "--text", "  "): "is blank",
        ("mark", summary, "It says so.", "wrong"): "has no sentence 'It says so.'",
        ("correct", summary, "--text", "x", "--who", " "): "needs the name",
    }
    for arguments, words in refused.items():
        told = place.call("curate", *arguments)
        assert told.code == 4, told
        assert words in told.err, told
    unknown = "00000000-0000-5000-8000-000000000000"
    assert place.call("curate", "correct", unknown, "--text", "x").code == 4
    assert place.call("curate", "correct", summary).code == 2
    assert "nothing was decided" in place.call("curate", "list", "--all").out
