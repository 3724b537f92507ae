"""Reranking by a real HTTP server, by a class, and without either when they fail or are late."""

import json
import threading
import time
from contextlib import contextmanager
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer

import pytest
from support.hashing import HashingEmbedder
from support.tiny_models import build_tiny_cross_encoder
from support.workshop import prose

from raptor_core.documents.base import Document
from raptor_core.errors import SettingsError
from raptor_core.models.reranking.base import score_before_deadline
from raptor_core.retrieval import Query, Retriever
from raptor_core.settings import Settings, load_settings
from raptor_core.settings.retrieval import RerankerSettings
from raptor_core.tree.build import build_trees
from raptor_core.tree.components import Components


class FakeReranker:
    """An endpoint in both shapes, which likes texts with a word; it may answer late or wrongly."""

    def __init__(self, word, answer=None, seconds=0.0):
        self.word, self.answer, self.seconds, self.asked = word, answer, seconds, []

    @contextmanager
    def serving(self):
        fake = self

        class Handler(BaseHTTPRequestHandler):
            def do_POST(self):
                length = int(self.headers["Content-Length"])
                asked = json.loads(self.rfile.read(length))
                fake.asked.append((self.path, self.headers["Authorization"], asked))
                time.sleep(fake.seconds)
                is_long = len(asked.get("texts", ())) > 32  # the default of TEI
                error = {"error": "batch size > maximum allowed batch size 32"}
                answer = error if is_long else fake.answer or fake.scored(asked)
                body = json.dumps(answer).encode()
                self.send_response(413 if is_long else 200)
                self.send_header("Content-Type", "application/json")
                self.send_header("Content-Length", str(len(body)))
                self.end_headers()
                self.wfile.write(body)

            def log_message(self, *_):
                pass

        server = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
        threading.Thread(target=server.serve_forever, daemon=True).start()
        try:
            yield f"http://127.0.0.1:{server.server_address[1]}"
        finally:
            server.shutdown()
            server.server_close()

    def scored(self, asked):
        texts = asked.get("documents") or asked["texts"]
        scores = [(at, 1.0 if self.word in text else 0.0) for at, text in enumerate(texts)]
        if "texts" in asked:
            return [{"index": at, "score": score} for at, score in reversed(scores)]
        return {"results": [{"index": at, "relevance_score": s} for at, s in reversed(scores)]}


QUESTION = "Which river ran by the castle?"
SOUGHT = "carbuncle"


class LikesCarbuncles:
    """A reranker of a team's own."""

    def __init__(self, settings):
        self.settings = settings

    def scores(self, question, texts):
        return [float(SOUGHT in text) for text in texts]


@pytest.fixture(scope="module")
def retriever():
    """A retriever over a tree in which the word that is sought stands far from the question."""
    components = Components(
        Settings.model_validate({"chunking": {"max_tokens": 24}}), embedder=HashingEmbedder()
    )

    def over(text):
        trees = build_trees({"a.md": [Document("a.md", text)]}, components=components)
        return Retriever.from_trees(list(trees.values()), components)

    text = prose(32, seed=1)
    last = over(text).search(QUESTION, Query(budget_tokens=4000)).hits_by_score[-1].node.text
    word = last.split()[-1]
    return over(text.replace(last, last.replace(word, f"{SOUGHT}.")))


def search(retriever, **reranker):
    query = Query(budget_tokens=60, reranker=RerankerSettings(**reranker))
    return retriever.search(QUESTION, query)


def holds(retrieval):
    return any(SOUGHT in hit.node.text for hit in retrieval.hits)


@pytest.mark.parametrize("kind", ["cohere", "tei"])
def test_an_endpoint_puts_its_best_passage_first(retriever, kind, monkeypatch):
    monkeypatch.setenv("RERANK_KEY", "secret")
    fake = FakeReranker(SOUGHT)
    with fake.serving() as url:
        found = search(retriever, kind=kind, base_url=url, model="m", api_key_env="RERANK_KEY")
    assert holds(found)
    assert SOUGHT in found.hits_by_score[0].node.text
    assert found.hits_by_score[0].why["rerank"] > 0
    assert "not reranked" not in found.note
    ((path, key, asked),) = fake.asked
    assert (path, key, asked["query"]) == (
        "/rerank",
        "Bearer secret",
        QUESTION,
    )
    if kind == "cohere":
        assert (asked["model"], asked["top_n"]) == ("m", len(asked["documents"]))


def test_a_server_that_takes_few_texts_at_once_gets_them_in_parts():
    fake, texts = FakeReranker(SOUGHT), [f"text {number}" for number in range(49)] + [SOUGHT]
    with fake.serving() as url:
        settings = RerankerSettings(kind="tei", base_url=url)
        assert list(score_before_deadline(settings, QUESTION, texts)) == [0.0] * 49 + [1.0]
    sizes = [(len(asked["texts"]), asked["truncate"]) for _, _, asked in fake.asked]
    assert sizes == [(32, True), (18, True)]


@pytest.mark.parametrize(
    ("fake", "reason"),
    [
        (FakeReranker(SOUGHT, seconds=1.0), "no answer within 0.3 s"),
        (FakeReranker(SOUGHT, answer={"results": []}), "got 0 finite scores"),
        (FakeReranker(SOUGHT, answer={"message": "no"}), "reranker"),
        (FakeReranker(SOUGHT, answer=[{"index": [], "score": "x"}]), "got 0 finite scores"),
    ],
)
def test_a_late_or_wrong_answer_leaves_the_order_with_a_note(retriever, fake, reason):
    with fake.serving() as url:
        found = search(retriever, kind="cohere", base_url=url, deadline_seconds=0.3)
    assert "not reranked: " in found.note
    assert reason in found.note
    assert [hit.node.id for hit in found.hits] == [h.node.id for h in search(retriever).hits]


def test_a_class_is_named_by_its_import_path(retriever):
    found = search(retriever, kind="class", factory=f"{__name__}:LikesCarbuncles")
    assert holds(found)
    with pytest.raises(SettingsError, match=r"retrieval\.reranker\.factory = 'nosuch:Thing'"):
        search(retriever, kind="class", factory="nosuch:Thing")


@pytest.mark.slow
def test_the_class_that_comes_along_runs_a_cross_encoder(tmp_path):
    model = str(build_tiny_cross_encoder(tmp_path))
    settings = RerankerSettings(kind="class", model=model, deadline_seconds=120)
    first, second = score_before_deadline(settings, "a river", ["the river", "a stone"])
    assert first != second
    missing = RerankerSettings(kind="class", model=str(tmp_path / "none"), deadline_seconds=120)
    with pytest.raises(Exception, match="the reranker failed: the cross-encoder"):
        score_before_deadline(missing, "a river", ["the river"])


def test_settings_take_a_reranker_from_a_file_and_a_variable(tmp_path):
    path = tmp_path / "raptor.toml"
    path.write_text('[retrieval.reranker]\nkind = "tei"\nbase_url = "http://localhost:8080"\n')
    settings = load_settings(path, {})
    assert Query.from_settings(settings).reranker.kind == "tei"
    variables = {"RAPTOR_RETRIEVAL__RERANKER": '{"kind": "cohere", "candidates": 7}'}
    named = load_settings(path, variables).retrieval.reranker
    assert (named.kind, named.candidates) == ("cohere", 7)
