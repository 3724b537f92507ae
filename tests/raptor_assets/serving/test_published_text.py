"""Every text that a server shows is that of the published build, whatever was built since."""

import json

import pytest
from fastapi.testclient import TestClient
from support.command import Place, embedder_made_by
from support.hashing import HashingEmbedder
from support.workshop import prose, settings_text

from raptor_assets.local.curate import Author, Curator
from raptor_assets.serving.http import make_app
from raptor_assets.serving.identity import ServerKeys
from raptor_core import HomeRetriever

pytestmark = pytest.mark.slow

OLD, NEW = "oldfact", "newfact"


def write(place, fact):
    """A document whose text and title name a fact, among text that stays."""
    text = prose(24).replace("\n\n", f"\n\nThe {fact} is so.\n\n", 1)
    place.write("a.md", f"---\ntitle: The {fact}\n---\n{text}")


def configure(place, **runs):
    judge = {"judge": "support.word_judge:WordJudge"}
    checks = {"audit_rate": 1.0}
    text = settings_text(place.docs, components=judge, checks=checks, runs=runs)
    place.settings.write_text(text)


@pytest.fixture(scope="module")
def place(tmp_path_factory):
    """A home with one tree; afterwards an edit of it waits for approval."""
    made = Place(tmp_path_factory.mktemp("published"))
    made.home.mkdir(parents=True)
    configure(made)
    with embedder_made_by(lambda *_, **__: HashingEmbedder()):
        write(made, OLD)
        assert made.call("build").code == 0
        write(made, NEW)
        configure(made, publish="when_approved")
        assert made.call("build").code == 0
        yield made


def shown(place):
    """All that a server answers about the tree; old decisions quote the text of their time."""
    keys = ServerKeys(writing_key="w")
    app = make_app(HomeRetriever(place.home), keys, curator=Curator(place.home))
    client = TestClient(app, headers={"Authorization": "Bearer w"})
    paths = ["/window/report?tree=a.md", "/window/map?tree=a.md", "/window/corpus"]
    paths += ["/trees", "/outline?tree=a.md"]
    paths += [f"/window/find?words={fact}" for fact in (OLD, NEW)]
    answers = [client.get(path) for path in paths]
    assert {answer.status_code for answer in answers} == {200}
    decided = client.post("/decisions", json={"kind": "document", "subject": "a.md"})
    Curator(place.home).undo_decision(decided.json()["id"], Author("Ines"))
    report = answers[0].json()
    assert report["documents"][0]["x"]
    assert report["findings"]
    page = place.home / "page.html"
    assert place.call("report", "a.md", "--output", page).code == 0
    return "".join([*(answer.text for answer in answers), decided.text, page.read_text()])


def test_an_edit_is_shown_once_it_is_approved_and_never_after_a_rollback(place):
    waiting = shown(place)
    assert (OLD in waiting, NEW in waiting) == (True, False)
    assert place.call("versions", "approve", "a.md").code == 0
    approved = shown(place)
    assert (OLD in approved, NEW in approved) == (False, True)
    assert place.call("versions", "rollback", "a.md", "--reason", "wrong").code == 0
    back = shown(place)
    assert (OLD in back, NEW in back) == (True, False)
    client = TestClient(make_app(HomeRetriever(place.home), ServerKeys()))
    (row,) = client.get("/window/corpus").json()["trees"]
    assert (row["cost"], row["change"]) == (None, None)  # those of the build that was withdrawn


def test_a_chunk_that_is_set_aside_is_left_out_of_the_text_of_its_document(place):
    nodes = HomeRetriever(place.home).nodes("a.md")
    text = nodes[2].text
    Curator(place.home).set_chunk_aside(nodes[2].id, Author("Ines"))
    place.call("versions", "release", "a.md")
    write(place, OLD)
    configure(place)
    assert place.call("build").code == 0
    client = TestClient(make_app(HomeRetriever(place.home), ServerKeys()))
    (document,) = client.get("/window/report?tree=a.md").json()["documents"]
    assert text not in json.dumps(document)
    assert "\n…" in document["x"]
