"""A run that stops at its budget: what it keeps, what it says, and how the next goes on."""

import json

import pytest
from support.command import SMALL_PARTS, Place
from support.openai_server import FakeOpenAI, default_answer
from support.workshop import NAMED_PARTS, Workshop, prose, settings_text

from raptor_assets.shown.progress import group_by_cause

pytestmark = pytest.mark.slow


@pytest.fixture
def chat():
    """Settings of a summarizer that calls a stand-in endpoint."""
    with FakeOpenAI() as server:
        yield {"kind": "openai", "model": "writer", "base_url": server.base_url, "max_tokens": 100}


def test_runs_within_a_budget_add_up_to_one_full_build(tmp_path, chat):
    free = Workshop(tmp_path / "free", summarizer=chat)
    free.write("a.md", prose(24, seed=1))
    free.build()
    needed = free.metadata("tree", "a.md")["summaries_made"]

    workshop = Workshop(tmp_path / "bounded", summarizer=chat, budget={"calls": 3})
    workshop.write("a.md", prose(24, seed=1))
    made = []
    for _ in range(needed):
        report = workshop.build()
        made.append(workshop.components.ledger.spent().calls)
        if report.succeeded:
            break
        assert report.failed["a.md"].error == "BudgetError"
        assert "budget.calls" in report.failed["a.md"].reason
        assert workshop.manifests() == {}
    assert sum(made) == needed
    assert max(made) == 3
    assert workshop.manifests()["a.md"].build_id == free.manifests()["a.md"].build_id


def test_audits_within_a_budget_add_up_to_one_full_build(tmp_path):
    with FakeOpenAI(answer=lambda _: '{"unsupported": []}') as server:
        audit = {"judge": "llm", "model": "judge", "base_url": server.base_url, "concurrency": 1}
        workshop = Workshop(tmp_path, audit=audit, checks={"audit_rate": 1.0}, budget={"calls": 2})
        workshop.write("a.md", prose(24, seed=1))
        first, *_, last = (workshop.build().succeeded for _ in range(4))
        assert (first, last) == (False, True)
        assert server.n_requests == workshop.metadata("layer_1/findings", "a.md")["n_audited"] > 2
        assert workshop.access().components().cache.unfinished_trees() == []


def test_a_budget_publishes_trees_one_after_the_other_and_says_once_why_it_stopped(tmp_path, chat):
    chat = {**chat, "concurrency": 1}
    workshop = Workshop(tmp_path, summarizer=chat, budget={"calls": 6}, tree={"max_layers": 1})
    for number in range(5):
        workshop.write(f"{number}.md", prose(18, seed=number))
    report = workshop.build()
    assert report.built
    assert set(workshop.manifests()) == set(report.built)
    ((names, failure),) = group_by_cause(report.failed)
    assert failure.error == "BudgetError"
    assert sorted({*names, *report.built}) == [f"{number}.md" for number in range(5)]


def test_the_command_bounds_a_run_and_has_a_code_for_it(tmp_path, chat):
    place = Place(tmp_path)
    place.write("a.md", prose(60, seed=1))
    place.write("free.md", prose(1, seed=2))
    assert place.call("init", place.docs).code == 0
    place.configure(SMALL_PARTS)
    place.configure("[chunking]\nmax_tokens = 50")
    place.configure("[summarizer]\n" + "\n".join(f"{k} = {json.dumps(v)}" for k, v in chat.items()))
    first = place.call("plan", "--json").json["summaries"]["calls"]
    stopped = place.call("build", "--max-calls", 3, "--json")
    assert stopped.code == 8, stopped
    assert stopped.json["built"] == ["free.md"]
    assert stopped.json["failed"]["a.md"]["error"] == "BudgetError"
    then = place.call("plan", "--json").json
    assert then["summaries"]["calls"] == first - 3
    assert place.call("build", "--max-calls", 0).code == 8
    finished = place.call("build", "--max-calls", 500, "--json")
    assert finished.code == 0
    least, most = then["summaries_range"]
    assert least <= finished.json["n_summarized"] <= most
    unpriced = place.call("build", "--max-usd", 1, "--json")
    assert (unpriced.code, unpriced.json["error"]) == (3, "SettingsError")
    assert "writer" in unpriced.json["message"]


def test_a_command_has_one_budget_and_one_plan_with_the_corpus_tree(tmp_path):
    def answer(body):
        return '{"unsupported": []}' if body["model"] == "judge" else default_answer(body)

    place = Place(tmp_path)
    place.home.mkdir()
    for number in range(2):
        place.write(f"{number}.md", prose(12, seed=number))
    with FakeOpenAI(answer=answer) as server:
        endpoint = {"base_url": server.base_url, "concurrency": 1}
        parts = {
            "summarizer": {"kind": "openai", "model": "writer", **endpoint},
            "audit": {"judge": "llm", "model": "judge", **endpoint},
            "components": {"embedder": NAMED_PARTS["embedder"]},
            "corpus_tree": {"enabled": True, "min_trees": 2},
        }
        place.settings.write_text(settings_text(place.docs, **parts))
        planned = place.call("plan", "--json").json
        calls = planned["summaries"]["calls"] + planned["audits"]["calls"]
        assert place.call("build", "--max-calls", calls - 1).code == 8
        assert server.n_requests == calls - 1
        assert place.call("build", "--max-calls", 1).code == 0
        assert server.n_requests == calls
