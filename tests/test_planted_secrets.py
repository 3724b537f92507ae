"""Keys and passwords are planted in the environment and then looked for wherever anything is kept.

Every command runs, well and badly: files of the home, Dagster's database, reports, exports, and
what was printed are searched for each of the planted words.
"""

import threading
from functools import partial
from http.server import SimpleHTTPRequestHandler, ThreadingHTTPServer

import pytest
from support.command import Place
from support.homes import kept_bytes
from support.openai_faults import Fault
from support.openai_server import FakeOpenAI

pytestmark = pytest.mark.slow

PLANTED = {
    "OPENAI_API_KEY": "sk-plantedopenaikey1234567890",
    "QDRANT_API_KEY": "plantedqdrantkey1234567890",
    "AWS_ACCESS_KEY_ID": "AKIAPLANTEDACCESS000",
    "AWS_SECRET_ACCESS_KEY": "plantedawssecret1234567890",
    "RAPTOR_API_KEY": "plantedservingkey1234567890",
    "WIKI_URL": "postgresql+psycopg2://reader:planteddatabasepassword@127.0.0.1:1/wiki",
    "DAGSTER_POSTGRES_URL": "postgresql+psycopg2://owner:plantedrecordspassword@127.0.0.1:1/dagster",
    "AWS_ENDPOINT_URL": "http://127.0.0.1:1",
    "AWS_MAX_ATTEMPTS": "1",
}
SECRETS = (
    *("plantedopenaikey", "plantedqdrantkey", "plantedawssecret", "plantedservingkey"),
    *("planteddatabasepassword", "plantedrecordspassword", "plantedtoken", "plantedsignature"),
)
TEXT = "\n\n".join(
    f"The {name} was mended in {1900 + n}. It had leaked since the storm, and the crew of "
    f"pier {n} worked three nights. The bill came to {n * 37} crowns."
    for n, name in enumerate(["pump", "winch", "lamp", "mast", "keel", "ferry"] * 4)
)


@pytest.fixture(autouse=True)
def planted(monkeypatch):
    for name, value in PLANTED.items():
        monkeypatch.setenv(name, value)


@pytest.fixture(scope="module")
def server():
    with FakeOpenAI(n_dims=16) as fake:
        yield fake


@pytest.fixture
def place(tmp_path, server):
    """A home whose models are at the stand-in, with one document."""
    place = Place(tmp_path)
    place.write("yard.md", TEXT)
    assert place.call("init", place.docs).code == 0
    models = f'kind = "openai"\nbase_url = "{server.base_url}"\nmax_retries = 0'
    for part in ("embedder", "summarizer", "reader"):
        lines = models if part != "reader" else models.partition("\n")[2]
        place.configure(f"[{part}]\n{lines}")
    place.configure('[tokens]\ncounter = "words"')
    place.configure("[chunking]\nmax_tokens = 40")
    yield place
    server.stop_failing()


@pytest.fixture
def run(place, capfd):
    """Runs a command with the planted words, which are in nothing that it says or keeps."""

    def run(*arguments):
        done = place.call(*arguments, **PLANTED)
        streams = capfd.readouterr()
        said = (done.out, done.err, streams.out, streams.err)
        assert [s for s in SECRETS for text in said if s in text] == []
        return done

    yield run
    kept = kept_bytes(place.root)
    assert [(s, path) for path, data in kept.items() for s in SECRETS if s.encode() in data] == []


def test_a_good_day_leaves_no_key_anywhere(run, place, server):
    for command in (
        ["build"],
        ["plan"],
        ["status", "--cost"],
        ["query", "who mended the pump?"],
        ["ask", "who mended the pump?"],
        ["tree", "yard.md"],
        ["report", "yard.md", "--output", place.root / "yard.html"],
        ["export", place.root / "exported"],
    ):
        done = run(*command)
        assert done.code == 0, (command, done)
    assert {seen.token for seen in server.seen} == {PLANTED["OPENAI_API_KEY"]}


class Pages(SimpleHTTPRequestHandler):
    """Serves a folder, and logs nothing."""

    def log_message(self, *_):
        return


@pytest.fixture
def link(tmp_path, monkeypatch):
    """A link with a token and a signature, in the environment, to a page that anybody gets."""
    folder = tmp_path / "shared"
    folder.mkdir()
    (folder / "page.md").write_text(TEXT)
    handler = partial(Pages, directory=folder)
    server = ThreadingHTTPServer(("127.0.0.1", 0), handler)
    threading.Thread(target=server.serve_forever, daemon=True).start()
    address = f"127.0.0.1:{server.server_port}/page.md"
    monkeypatch.setenv(
        "RAPTOR_SOURCE__PATHS", f"http://plantedtoken@{address}?sp=r&sig=plantedsignature"
    )
    yield f"http://***@{address}?sp=r&sig=***"
    server.shutdown()
    server.server_close()


@pytest.mark.rare
def test_a_link_that_is_shared_is_shown_without_what_opens_it(run, place, link):
    for command in (
        ["documents"],
        ["build"],
        ["status"],
        ["tree", "page.md", "--json"],
        ["report", "page.md", "--output", place.root / "page.html"],
        ["export", place.root / "exported"],
    ):
        done = run(*command)
        assert done.code == 0, (command, done)
    found = run("query", "who mended the pump?", "--json").json["nodes"]
    assert {node["source"] for node in found if node["layer"] == 0} == {link}


def test_an_endpoint_that_repeats_the_key_is_quoted_without_it(run, server):
    echo = f"Incorrect API key provided: {PLANTED['OPENAI_API_KEY']}."
    server.fail(Fault.error(401, echo), times=None)
    refused = run("build")
    assert refused.code != 0
    assert "Incorrect API key provided" in refused.out + refused.err
    assert run("build", "--json").code != 0
    server.stop_failing()
    server.fail(Fault.malformed(f'{{"key": "{PLANTED["OPENAI_API_KEY"]}'.encode()), times=1)
    assert run("build").code != 0
    assert run("build").code == 0
    server.fail(Fault.error(500, echo), times=None)
    assert run("ask", "who mended the pump?").code != 0


@pytest.mark.parametrize(
    "lines",
    [
        '[store]\nkind = "server"\nurl = "https://127.0.0.1:1"\nmax_retries = 0',
        pytest.param('[tables]\nurl = "s3://bucket/raptor"', marks=pytest.mark.rare),
        '[[source.tables]]\nurl_env = "WIKI_URL"\ntable = "pages"',
    ],
)
def test_a_place_that_does_not_answer_is_named_without_its_secret(run, place, lines):
    if lines.startswith("[["):
        place.settings.write_text(f"{place.settings.read_text()}\n{lines}\n")
    else:
        place.configure(lines)
    assert run("build").code != 0


def test_a_records_database_that_does_not_answer_is_named_without_its_password(
    run, place, monkeypatch
):
    monkeypatch.setattr("dagster_postgres.utils.calculate_delay", lambda **_: 0.0)
    config = place.home / "dagster" / "dagster.yaml"
    config.write_text("storage:\n  postgres:\n    postgres_url:\n      env: DAGSTER_POSTGRES_URL\n")
    refused = run("build")
    assert refused.code != 0
    assert "127.0.0.1" in refused.out + refused.err
