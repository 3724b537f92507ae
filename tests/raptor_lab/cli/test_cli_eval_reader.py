"""`raptor eval reader` against a stand-in endpoint."""

import pytest
from support.command import embedder_made_by, raptor
from support.evaluation_sets import records, write_lines
from support.hashing import HashingEmbedder
from support.openai_server import FakeOpenAI


@pytest.fixture
def call(tmp_path):
    file = write_lines(tmp_path / "village.jsonl", records())
    small = {"RAPTOR_CLUSTERING__METHOD": "contiguous", "RAPTOR_CHUNKING__MAX_TOKENS": "24"}
    with FakeOpenAI(answer=lambda _body: "twelve minutes") as server:

        def run(*arguments):
            environ = {**small, "RAPTOR_READER__BASE_URL": server.base_url}
            where = ("--home", tmp_path / "home", "--budget-tokens", "400")
            with embedder_made_by(lambda *_: HashingEmbedder()):
                return raptor("eval", "reader", file, *arguments, *where, **environ)

        run.server = server
        yield run


def test_answers_are_scored_and_asked_once(call):
    printed = call("--json", "--questions", "--model", "small")
    assert printed.code == 0, printed.err
    figure = printed.json["lines"][0]["figures"]["answer_f1"]
    assert figure["mean"]["value"] == pytest.approx(1 / 3)
    assert {item["answer"] for item in printed.json["questions"]} == {"twelve minutes"}
    (spent,) = printed.json["spent"]
    assert (spent["purpose"], spent["model"], spent["usage"]["calls"]) == ("reading", "small", 3)
    table = call("--model", "small", "--max-calls", "0")
    assert table.code == 0, table.err
    assert "village: answer f1" in table.out
    assert call.server.n_requests == 3


@pytest.mark.slow
def test_a_run_that_its_budget_stops_goes_on_from_there(call):
    stopped = call("--max-calls", "2", "--json")
    assert (stopped.code, stopped.json["error"]) == (8, "BudgetError")
    assert call("--max-calls", "1", "--json").code == 0
    assert call.server.n_requests == 3
