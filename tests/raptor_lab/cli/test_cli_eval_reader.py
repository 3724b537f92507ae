"""`raptor eval reader` against a stand-in endpoint."""

import re

import pytest
from support.command import embedder_made_by, raptor
from support.evaluation_sets import records, write_lines
from support.hashing import HashingEmbedder
from support.openai_server import FakeOpenAI
from support.tiny_models import build_tiny_t5


@pytest.fixture
def call(tmp_path):
    file = write_lines(tmp_path / "village.jsonl", records())
    small = {
        "RAPTOR_COMPONENTS__CLUSTERER": "raptor_lab.clustering:make_contiguous",
        "RAPTOR_CHUNKING__MAX_TOKENS": "24",
    }
    with FakeOpenAI(answer=lambda _body: "twelve minutes") as server:

        def run(*arguments):
            environ = {**small, "RAPTOR_READER__BASE_URL": server.base_url}
            where = ("--home", tmp_path / "home")
            with embedder_made_by(lambda *_: HashingEmbedder()):
                return raptor("eval", "reader", file, *arguments, *where, **environ)

        run.server = server
        yield run


def test_answers_are_scored_and_asked_once(call):
    printed = call("--json", "--questions", "--reader", "chat:small")
    assert printed.code == 0, printed.err
    found = printed.json["readers"]["chat:small"]
    figure = found["lines"][0]["figures"]["answer_f1"]
    assert figure["mean"]["value"] == pytest.approx(1 / 3)
    assert {item["answer"] for item in found["questions"]} == {"twelve minutes"}
    (spent,) = printed.json["spent"]
    assert (spent["purpose"], spent["model"], spent["usage"]["calls"]) == ("reading", "small", 3)
    table = call("--reader", "chat:small", "--max-calls", "0")
    assert table.code == 0, table.err
    assert "village, chat:small: answer f1" in table.out
    assert call.server.n_requests == 3


@pytest.mark.rare
@pytest.mark.slow
def test_several_readers_stand_side_by_side_each_with_its_own_budget(call, tmp_path):
    unifiedqa = f"unifiedqa:{build_tiny_t5(tmp_path / 't5')}"
    readers = ("--reader", "chat:small", "--reader", unifiedqa, "--reader", "chat:large")
    strategies = ("--strategy", "flat", "--strategy", "collapsed")
    printed = call(*readers, *strategies, "--json")
    assert printed.code == 0, printed.err
    assert list(printed.json["readers"]) == ["chat:small", unifiedqa, "chat:large"]
    budgets = [part["lines"][0]["budget_tokens"] for part in printed.json["readers"].values()]
    assert budgets == [2000, 400, 2000]
    assert {spent["model"] for spent in printed.json["spent"]} == {"small", "large"}
    table = call("--reader", "chat:small", "--reader", unifiedqa, *strategies)
    side_by_side = table.out.partition("village: answer f1 by reader")[2]
    assert "chat:small, 2,000 tokens" in side_by_side
    assert re.findall(r"^\W*(flat|collapsed)\b.+0\.\d+.+0\.\d+", side_by_side, re.MULTILINE) == [
        "flat",
        "collapsed",
    ]
    wrong = call("--reader", "bert")
    assert (wrong.code, "expected chat or unifiedqa" in wrong.err) == (2, True)


@pytest.mark.slow
def test_a_run_that_its_budget_stops_goes_on_from_there(call):
    stopped = call("--max-calls", "2", "--json")
    assert (stopped.code, stopped.json["error"]) == (8, "BudgetError")
    assert call("--max-calls", "1", "--json").code == 0
    assert call.server.n_requests == 3
