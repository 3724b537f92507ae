"""Another model answers to an embedder's name: a build says so, and its remedy works as written."""

import pytest
from support.command import Place
from support.openai_server import FakeOpenAI
from support.workshop import prose, settings_text

pytestmark = pytest.mark.slow


@pytest.fixture
def server():
    with FakeOpenAI() as fake:
        yield fake


@pytest.fixture
def place(tmp_path, server, monkeypatch):
    """A built home whose vectors come from an endpoint."""
    monkeypatch.setenv("OPENAI_API_KEY", "a-key")
    place = Place(tmp_path)
    place.home.mkdir()
    embedder = {"kind": "openai", "model": "words", "base_url": server.base_url}
    place.settings.write_text(
        settings_text(place.docs, embedder=embedder, tokens={"counter": "words"})
    )
    place.write("a.md", prose(16, seed=1))
    built = place.call("build")
    assert built.code == 0, built.err
    return place


@pytest.mark.parametrize(("change", "value"), [("model", "another model"), ("n_dims", 12)])
def test_a_build_refuses_another_model_and_its_remedy_works(place, server, change, value):
    setattr(server, change, value)
    refused = place.call("build", "--force")
    assert refused.code != 0
    message = " ".join((refused.err + refused.out).split())
    assert "set embedder.revision" in message
    assert 'store.corpus = "corpus_2"' in message
    text = place.settings.read_text()
    remedied = text.replace(
        "[embedder]", '[store]\ncorpus = "corpus_2"\n\n[embedder]\nrevision = "2"'
    )
    place.settings.write_text(remedied)
    built = place.call("build")
    assert built.code == 0, built.err
    found = place.call("query", prose(16, seed=1)[:60], "--json")
    assert found.code == 0, found.err
    assert found.json["nodes"]
