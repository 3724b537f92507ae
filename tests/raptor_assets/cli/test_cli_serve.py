"""`raptor serve`: a real server on loopback, and what its description promises."""

import contextlib

import anyio
import httpx
import hypothesis
import pytest
from support.command import raptor
from support.examples import examples
from support.openai_faults import Fault
from support.openai_server import FakeOpenAI
from support.serving import KEY, serving

from raptor_core import HomeRetriever
from raptor_core.disk import file_lock

pytestmark = pytest.mark.slow

JSON = {"Content-Type": "application/json"}
KEEPER = "who kept the lamp burning in the storm?"


@pytest.fixture(scope="module")
def keyed(built):
    with serving(built.home, RAPTOR_API_KEY=KEY) as address:
        client = httpx.Client(
            base_url=address, headers={"Authorization": f"Bearer {KEY}"}, timeout=60
        )
        with client:
            yield client


@pytest.fixture(scope="module")
def reader():
    with FakeOpenAI(answer=lambda _: "Tom Ferris did, for nineteen hours [1].") as server:
        yield server


def make_app_of(built, retriever, key=None):
    from raptor_assets.local.curate import Curator
    from raptor_assets.serving.http import make_app
    from raptor_assets.serving.identity import ServerKeys

    keys = ServerKeys(key, writing_key="a key to decide")
    return make_app(retriever, keys, curator=Curator(built.home))


def with_reader(built, reader):
    """What reads the home, with a reader to ask."""
    retriever = HomeRetriever(built.home)
    given = retriever.settings.reader.model_copy(update={"base_url": reader.base_url})
    retriever.settings = retriever.settings.model_copy(update={"reader": given})
    return retriever


@pytest.fixture(scope="module")
def app(built, reader):
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("OPENAI_API_KEY", "a-key")
        yield make_app_of(built, with_reader(built, reader))


@pytest.fixture(scope="module")
def operations(app):
    """Routes of the description, by name."""
    import schemathesis

    schema = schemathesis.openapi.from_asgi("/openapi.json", app)
    return {found.ok().label: found.ok() for found in schema.get_all_operations()}


def test_a_question_is_searched_read_up_and_down_and_traced_to_the_source(keyed, built):
    asked = {"question": KEEPER, "budget_tokens": 200}
    found = keyed.post("/search", json=asked).json()
    best = max(found["nodes"], key=lambda node: node["score"])
    assert any("Tom Ferris" in node["text"] for node in found["nodes"])
    assert found["n_tokens"] <= found["budget_tokens"] == 200
    read = keyed.get(f"/nodes/{best['id']}").json()
    assert read["text"] == best["text"]
    above = keyed.get(f"/nodes/{read['parents'][0]['id']}").json()
    assert best["id"] in [child["id"] for child in above["children"]]
    traced = keyed.get(f"/nodes/{above['id']}/spans", params={"limit": 3}).json()
    text = (built.docs / best["documents"][0]).read_text()
    assert len(traced["spans"]) == min(3, traced["n_spans"])
    for span in traced["spans"]:
        assert text[span["start"] : span["end"]] == span["text"]


def test_an_answer_cites_what_it_was_made_from(keyed, app, reader):
    from fastapi.testclient import TestClient

    reading = TestClient(app, raise_server_exceptions=False)
    answered = reading.post("/ask", json={"question": KEEPER, "budget_tokens": 300}).json()
    searched = reading.post("/search", json={"question": KEEPER, "budget_tokens": 300}).json()
    assert answered["found"] == searched
    (cited,) = answered["citations"]
    assert "[1]" in answered["answer"]
    assert cited["number"] == 1
    assert cited["node"] in [node["id"] for node in searched["nodes"]]
    nothing = reading.post("/ask", json={"question": KEEPER, "metadata": {"title": "nosuch"}})
    assert (nothing.json()["answer"], nothing.json()["citations"]) == ("", [])
    assert "no node matches" in nothing.json()["found"]["note"]
    off_topic = reading.post("/ask", json={"question": "Which vaccine does a puppy need first?"})
    assert "than chance" in off_topic.json()["found"]["note"]
    reader.fail(Fault(status=400, message="the model is out"))
    failed = reading.post("/ask", json={"question": KEEPER})
    reader.stop_failing()
    assert (failed.status_code, failed.json()["error"]) == (502, "ReaderError")
    refused = keyed.post("/ask", json={"question": KEEPER})
    assert (refused.status_code, refused.json()["error"]) == (501, "NoReaderError")
    assert "OPENAI_API_KEY" in refused.json()["message"]


@pytest.mark.parametrize("given", [None, "Bearer another", "Basic x", "Bearer schlüssel"])
def test_without_the_key_nothing_is_answered_but_health(keyed, given):
    headers = {} if given is None else {"Authorization": given.encode()}
    window = ("/window/corpus", "/window/map", "/window/find?words=x", "/window/report?tree=x")
    looks = ("/outline?tree=x", "/nodes/x/children")
    for path in ("/trees", "/nodes/x", "/nodes/x/spans", *looks, *window):
        refused = httpx.get(f"{keyed.base_url}{path}", headers=headers)
        assert (refused.status_code, refused.json()["error"]) == (401, "WrongKeyError")
    for path in ("/search", "/nodes/x/search"):
        assert httpx.post(f"{keyed.base_url}{path}", json={"question": "x"}).status_code == 401
    assert httpx.get(f"{keyed.base_url}/health").json()["status"] == "ok"
    head = httpx.head(f"{keyed.base_url}/health")
    assert (head.status_code, head.content) == (200, b"")


def test_mistakes_are_named_with_the_remedy(keyed):
    tree = keyed.post("/search", json={"question": "why?", "trees": ["nosuch"]})
    assert tree.status_code == 404
    assert "soup.md" in tree.json()["message"]
    node = keyed.get("/nodes/00000000-0000-0000-0000-000000000000")
    assert (node.status_code, node.json()["error"]) == (404, "UnknownTreeError")
    assert keyed.post("/search", json={"question": ""}).status_code == 422
    assert keyed.post("/search", json={"question": "x", "budget": 1}).status_code == 422
    assert keyed.post("/search", content=b"{", headers=JSON).status_code == 422
    layers = keyed.post("/search", json={"question": "x", "strategy": "flat", "layers": [1]})
    assert (layers.status_code, layers.json()["error"]) == (422, "InvalidRequestError")
    assert "flat" in layers.json()["message"]
    nowhere = keyed.get("/nosuch")
    assert (nowhere.status_code, nowhere.json()["error"]) == (404, "NotFoundError")
    method = keyed.delete("/trees")
    assert (method.status_code, method.json()["error"]) == (405, "MethodNotAllowedError")


@pytest.mark.parametrize("kind", ["text/plain", "multipart/form-data", ""])
def test_a_body_that_a_page_of_another_site_may_send_is_refused(keyed, kind):
    body = f'{{"question": "{KEEPER}"}}'
    refused = keyed.post("/ask", content=body, headers={"Content-Type": kind})
    assert (refused.status_code, refused.json()["error"]) == (415, "UnsupportedMediaTypeError")


def test_a_body_without_end_is_refused(keyed):
    def endless():
        for _ in range(100):
            yield b"x" * 65_536

    for body in (b"x" * 2_000_000, endless()):
        with contextlib.suppress(httpx.WriteError):  # it may hang up before all is sent
            refused = keyed.post("/search", content=body, headers=JSON)
            assert (refused.status_code, refused.json()["error"]) == (413, "TooLargeError")
    assert keyed.get("/trees").status_code == 200


def test_a_server_without_a_key_answers_to_its_own_names_only(built, monkeypatch):
    from fastapi.testclient import TestClient

    monkeypatch.delenv("RAPTOR_API_KEY", raising=False)
    apps = []
    monkeypatch.setattr("uvicorn.Server.run", lambda server: apps.append(server.config.app))
    assert built.call("serve").code == 0
    client = TestClient(*apps, base_url="http://localhost")
    assert client.get("/trees").status_code == 200
    assert client.get("/trees", headers={"Host": "attacker.example"}).status_code == 400


def test_listening_beyond_loopback_asks_for_a_key(built, monkeypatch):
    monkeypatch.delenv("RAPTOR_API_KEY", raising=False)
    for host in ("0.0.0.0", "::", "db.example"):
        refused = built.call("serve", "--host", host)
        assert refused.code == 7
        assert "RAPTOR_API_KEY" in refused.err


def test_a_store_that_a_build_holds_is_reported_as_busy(built, monkeypatch):
    from fastapi.testclient import TestClient

    monkeypatch.setenv("RAPTOR_STORE__LOCK_SECONDS", "0.1")
    (lock,) = (built.home / "qdrant").glob("**/corpus.lock")
    with file_lock(lock, 1):
        busy = TestClient(make_app_of(built, HomeRetriever(built.home))).get("/trees")
    assert (busy.status_code, busy.json()["error"]) == (503, "StoreLockedError")
    assert busy.headers["Retry-After"] == "1"


def test_health_is_answered_while_searches_use_all_threads(app):
    async def asked():
        limiter = anyio.to_thread.current_default_thread_limiter()
        limiter.total_tokens = 1
        transport = httpx.ASGITransport(app)
        async with limiter, httpx.AsyncClient(transport=transport, base_url="http://x") as client:
            with anyio.fail_after(10):
                return await client.get("/health")

    assert anyio.run(asked).json()["status"] == "ok"


@pytest.mark.parametrize(("command", "more"), [("serve", ()), ("mcp", ("--port", "8701"))])
def test_every_server_of_ours_is_bounded(built, monkeypatch, command, more):
    given = {}
    monkeypatch.setattr("uvicorn.Server.run", lambda server: given.update(vars(server.config)))
    assert raptor(command, *more, "--home", built.home).code == 0
    assert (given["http"], given["limit_concurrency"], given["ws"]) == ("h11", 512, "none")
    assert given["h11_max_incomplete_event_size"] <= 1 << 16
    assert 0 < given["timeout_graceful_shutdown"] < 30  # Kubernetes kills after 30


ROUTES = [
    "GET /health",
    "POST /search",
    "POST /ask",
    "POST /nodes/{node_id}/search",
    "GET /outline",
    "GET /nodes/{node_id}/children",
    "GET /nodes/{node_id}",
    "GET /nodes/{node_id}/spans",
    "GET /trees",
    "GET /decisions",
    "POST /decisions",
    "DELETE /decisions/{decision_id}",
]
BARE = ["GET /health", "GET /decisions"]
WRITING = {"Authorization": "Bearer a key to decide"}


@pytest.mark.parametrize("route", [route for route in ROUTES if route not in BARE])
def test_a_request_that_is_not_as_described_is_refused_as_described(operations, route):
    from schemathesis import GenerationMode

    assert sorted(operations) == sorted(ROUTES)
    strategy = operations[route].as_strategy(generation_mode=GenerationMode.NEGATIVE)

    @examples(20, derandomize=True)
    @hypothesis.given(case=strategy)
    def holds(case):
        case.call_and_validate(headers=WRITING)

    holds()


def test_decisions_are_made_with_the_writing_key_alone_and_the_next_build_honours_them(own):
    from fastapi.testclient import TestClient

    key = {"Authorization": f"Bearer {KEY}"}
    asked = {"kind": "document", "subject": "soup.md", "why": "no lighthouse"}
    with TestClient(make_app_of(own, HomeRetriever(own.home), KEY)) as client:
        assert client.get("/decisions").status_code == 401
        assert client.post("/decisions", json=asked).status_code == 401
        assert client.post("/decisions", json=asked, headers=key).status_code == 401
        assert client.get("/trees", headers=WRITING).status_code == 200
        made = client.post("/decisions", json=asked, headers=WRITING)
        assert (made.status_code, made.json()["who"]) == (200, "writing key")
        forged = client.post("/decisions", json={**asked, "who": "Ines"}, headers=WRITING)
        assert forged.status_code == 422
        listed = client.get("/decisions", headers=key).json()
        assert listed == {"can_decide": True, "decisions": [made.json()]}
        unknown = {**asked, "subject": "nowhere.md"}
        refused = client.post("/decisions", json=unknown, headers=WRITING)
        assert (refused.status_code, refused.json()["error"]) == (422, "CurationError")
        assert own.call("build", "--json").json["dropped"] == ["soup.md"]
        place = f"/decisions/{made.json()['id']}"
        assert client.delete(place, headers=key).status_code == 401
        assert client.delete(place, params={"who": "Per"}, headers=WRITING).status_code == 422
        taken = client.delete(place, params={"why": "it was right"}, headers=WRITING)
        assert taken.status_code == 200
        assert own.call("build", "--json").json["built"] == ["soup.md"]
        assert client.get("/decisions", headers=key).json()["decisions"][0]["undone"]


def test_a_server_without_a_writing_key_takes_no_decision_and_two_keys_must_differ(keyed, own):
    asked = {"kind": "document", "subject": "soup.md"}
    assert keyed.get("/decisions").json() == {"can_decide": False, "decisions": []}
    assert keyed.post("/decisions", json=asked).status_code == 405
    same = own.call("serve", RAPTOR_API_KEY=KEY, RAPTOR_WRITING_KEY=KEY)
    assert (same.code, "different keys" in same.err) == (3, True)
