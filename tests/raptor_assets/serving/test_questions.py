"""Questions that servers keep: votes, rights, retention, lists, and the check on their answers."""

import hashlib
import json
import time
from functools import partial

import dagster as dg
import pytest
from fastapi.testclient import TestClient
from support.command import JUDGE, Place

from raptor_assets.home.folder import Home
from raptor_assets.home.question_log import FILE, QuestionLog
from raptor_assets.local.dagster import open_instance_and_clean_up
from raptor_assets.serving.http import make_app
from raptor_assets.serving.identity import KnownCallers
from raptor_core import HomeRetriever
from raptor_core.errors import SettingsError
from raptor_core.evaluation.asked import AskedQuestion, check_unanswered_share
from raptor_core.evaluation.golden_file import load_golden
from raptor_core.settings import CheckSettings, Settings

pytestmark = pytest.mark.slow

PUMP = "Who repaired the pump?"
FAR = ("Wie hoch ist der Zinssatz in Portugal?", "Wie hoch ist in Portugal der Zinssatz?")
CALLERS = ("ana", "ben")


@pytest.fixture(scope="module")
def built_home(tmp_path_factory):
    place = Place(tmp_path_factory.mktemp("questions"))
    place.write("pump.md", "# The pump\n\nAna repaired the pump in March.\n\nIt was sand.")
    place.home.mkdir(parents=True)
    keys = [
        f'[[keys]]\nname = "{who}"\nreaders = ["{who}"]\n'
        f'digest = "{hashlib.sha256(f"key of {who}".encode()).hexdigest()}"\n'
        for who in CALLERS
    ]
    (place.home / "keys.toml").write_text("\n".join(keys))
    reader = 'reader = "support.echo_reader:EchoReader"'
    rules = '[[source.readers]]\npaths = ["*"]\nreaders = ["*"]\n[access]\nkeys = "keys.toml"'
    place.settings.write_text(
        f'[source]\npaths = ["{place.docs}"]\n{rules}\n{JUDGE}\n{reader}\n'
        "[serving]\nquestions = true\n"
    )
    assert place.call("build").code == 0
    return place


@pytest.fixture
def place(built_home):
    (built_home.home / FILE).unlink(missing_ok=True)
    return built_home


def caller(place, who):
    retriever = HomeRetriever(place.home)
    app = make_app(retriever, KnownCallers(retriever.settings.access, place.home))
    return TestClient(app, headers={"Authorization": f"Bearer key of {who}"})


def log_of(place):
    return QuestionLog(place.home, Settings())


def test_a_question_is_kept_with_its_caller_and_who_asked_votes(place):
    ana, ben = (caller(place, who) for who in CALLERS)
    answer = ana.post("/ask", json={"question": f"{PUMP} see https://me:secret@host/x"}).json()
    name = answer["found"]["id"]
    turns = {"model": "corpus", "messages": [{"role": "user", "content": PUMP}]}
    chat = ben.post("/v1/chat/completions", json=turns).json()["id"]
    votes = [(ben, name, 404), (ana, chat, 404), (ana, name, 200), (ben, chat, 200)]
    for client, answered, status in votes:
        given = {"id": answered, "vote": "down" if client is ana else "up"}
        assert client.post("/vote", json=given).status_code == status
    first, second = log_of(place).read_questions()
    assert (first.id, first.caller, first.vote, first.corpus) == (name, "ana", -1, "corpus")
    assert (second.caller, second.vote, second.question) == ("ben", 1, PUMP)
    assert first.n_hits > 0
    assert 0 < first.seconds < 60
    stored = (place.home / FILE).read_bytes()
    assert b"secret" not in stored
    assert not any(f"key of {who}".encode() in stored for who in CALLERS)
    assert (place.home / FILE).stat().st_mode & 0o077 == 0
    for path in ("/vote", f"/vote?id={name}", "/questions"):
        assert ben.get(path).status_code in (404, 405)


def test_nothing_is_kept_and_no_vote_is_taken_unless_it_is_set(place, monkeypatch):
    monkeypatch.setenv("RAPTOR_SERVING__QUESTIONS", "false")
    ana = caller(place, "ana")
    found = ana.post("/search", json={"question": PUMP}).json()
    assert (found["id"], bool(found["nodes"])) == ("", True)
    assert ana.post("/vote", json={"id": "x", "vote": "up"}).status_code == 404
    assert not (place.home / FILE).exists()


def test_a_search_is_answered_where_the_file_cannot_be_written(place):
    (place.home / FILE).write_bytes(b"no database" * 100)
    found = caller(place, "ana").post("/search", json={"question": PUMP})
    assert (found.status_code, found.json()["id"]) == (200, "")


def test_unanswered_questions_are_listed_in_groups_and_make_lines_of_a_golden_set(place, tmp_path):
    ana = caller(place, "ana")
    for question in (PUMP, *FAR):
        ana.post("/search", json={"question": question})
    printed = place.call("questions", "--json")
    assert printed.json["n_kept"] == 3
    assert [[each["question"] for each in group] for group in printed.json["groups"]] == [[*FAR]]
    assert len(place.call("questions", "--all", "--json").json["groups"]) == 2
    shown = place.call("questions")
    assert "asked 2, unanswered 2, votes against 0" in shown.out
    (line,) = map(json.loads, place.call("questions", "--golden").out.splitlines())
    assert (line["question"], line["expected"]) == (FAR[0], [])
    file = tmp_path / "golden.jsonl"
    file.write_text(json.dumps(line))
    with pytest.raises(SettingsError, match="got neither"):
        load_golden(file)  # until a person names the documents
    file.write_text(json.dumps({**line, "expected": ["rates.md"]}))
    assert load_golden(file)[0].sources == ("rates.md",)


def test_questions_are_forgotten_by_id_by_caller_and_after_their_days(place, monkeypatch):
    for who, times in (("ana", 2), ("ben", 1)):
        for _ in range(times):
            assert caller(place, who).post("/search", json={"question": PUMP}).json()["id"]
    first = log_of(place).read_questions()[0].id
    forget = partial(place.call, "curate", "forget-questions")
    assert forget().code == 2
    assert forget(first, "--json").json == {"n_forgotten": 1}
    assert "1 forgotten" in forget("--caller", "ben").out
    assert [each.caller for each in log_of(place).read_questions()] == ["ana"]
    later = time.time() + 91 * 86_400
    monkeypatch.setattr(time, "time", lambda: later)
    assert log_of(place).read_questions() == []
    assert PUMP.encode() not in (place.home / FILE).read_bytes()


def test_a_run_measures_the_share_of_unanswered_questions(place):
    ana = caller(place, "ana")
    for question in FAR:
        ana.post("/search", json={"question": question})
    place.write("pump.md", f"# The pump\n\nAna repaired the pump in May. {time.time()}")
    assert place.call("build").code == 0
    key = dg.AssetCheckKey(dg.AssetKey("tree"), "unanswered_share")
    with open_instance_and_clean_up(Home.at(place.home)) as instance:
        history = instance.event_log_storage.get_asset_check_execution_history(key, limit=1)
    found = history[0].evaluation
    assert (found.passed, found.partition) == (False, None)
    assert found.metadata["unanswered_share"].value == 1.0
    assert found.metadata["questions"].value == 2
    assert "Zinssatz" not in str(found)


@pytest.mark.parametrize(
    ("hits", "passed", "share"), [([], True, 0.0), ([3, 0], False, 0.5), ([1, 2, 3, 0], True, 0.25)]
)
def test_the_share_is_of_all_kept_questions(hits, passed, share):
    asked = [AskedQuestion(str(n), "", "corpus", "?", "", n, "", 1.0) for n in hits]
    found = check_unanswered_share(asked, CheckSettings())
    assert (found.passed, found.numbers["unanswered_share"]) == (passed, share)
