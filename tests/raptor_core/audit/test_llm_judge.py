"""Judge by a chat endpoint: which answers count, and which do not."""

import json

import pytest
from support.openai_faults import Fault
from support.openai_server import FakeOpenAI
from support.trees import leaf, summary

from raptor_core.audit.base import SummaryToAudit
from raptor_core.audit.llm import LlmJudge
from raptor_core.errors import BudgetError
from raptor_core.models.money.ledger import Ledger
from raptor_core.models.money.usage import AUDITS
from raptor_core.retrying import RetryPolicy
from raptor_core.settings import AuditSettings, BudgetSettings, PriceSettings

CHILDREN = (leaf("a", "The pump failed on\n14 March."), leaf("b", "The bridge is open."))
FAULT = {
    "sentence": 2,
    "claim": "17 April",
    "reason": "The source says 14 March.",
    "source": 1,
    "quote": "on 14 March",
}


def answering(*faults):
    return lambda _body: json.dumps({"unsupported": list(faults)})


def judge_at(server, ledger=None, **settings):
    made = AuditSettings(judge="llm", base_url=server.base_url, **settings)
    return LlmJudge(
        made, ledger, RetryPolicy(made.max_retries, base_seconds=0.001, max_seconds=0.01)
    )


def audited(text="The bridge is open. The pump failed on 17 April.", name="s"):
    return SummaryToAudit(summary(name, "ab", text=text), CHILDREN)


def test_faults_are_findings_with_reason_child_and_quote():
    with FakeOpenAI(answer=answering(FAULT)) as server:
        (found,) = judge_at(server).judge([audited()])
        (body,) = server.bodies
    assert [(f.judgement, f.score) for f in found] == [("supported", 1.0), ("unsupported", 0.0)]
    assert found[1].missing == ("17 April",)
    assert (found[1].evidence_child, found[1].evidence) == ("a", "on 14 March")
    assert found[1].reason == "The source says 14 March."
    asked = body["messages"][1]["content"]
    assert '<source n="2">\nThe bridge is open.\n</source>' in asked
    assert '<sentence n="2">\nThe pump failed on 17 April.\n</sentence>' in asked
    schema = body["response_format"]["json_schema"]
    assert (body["response_format"]["type"], schema["strict"]) == ("json_schema", True)
    assert schema["schema"]["additionalProperties"] is False


def test_json_after_reasoning_and_in_a_code_block_is_read():
    answer = '<think>\nAll is well.\n</think>\n```json\n{"unsupported": []}\n```</s>'
    with FakeOpenAI(answer=lambda _: answer) as server:
        (findings,) = judge_at(server).judge([audited()])
    assert {finding.judgement for finding in findings} == {"supported"}


def test_a_quote_and_a_claim_that_stand_nowhere_are_left_out():
    invented = {**FAULT, "quote": "in the year 1600", "claim": "a hundred whales"}
    with FakeOpenAI(answer=answering(invented)) as server:
        (found,) = judge_at(server).judge([audited()])
    assert (found[1].judgement, found[1].evidence, found[1].missing) == ("unsupported", "", ())


@pytest.mark.parametrize(
    "content",
    [
        "The second sentence is wrong.",
        '{"unsupported": [{"sentence": 2}]}',
        '{"unsupported": [], "verdict": "fine"}',
        json.dumps({"unsupported": [{**FAULT, "sentence": 3}]}),
        json.dumps({"unsupported": [{**FAULT, "source": 0}]}),
        json.dumps({"unsupported": [{**FAULT, "sentence": "2"}]}),
    ],
    ids=["prose", "lacking", "more", "sentence", "source", "type"],
)
def test_an_invalid_answer_is_asked_again_and_then_not_judged(content):
    with FakeOpenAI(answer=answering(FAULT)) as server:
        server.fail(Fault.answering(content))
        (found,) = judge_at(server).judge([audited()])
        assert server.n_requests == 2
        assert found[1].judgement != "supported"
        server.fail(Fault.answering(content), times=None)
        (found,) = judge_at(server, max_retries=1).judge([audited()])
        assert server.n_requests == 4
    assert [finding.judgement for finding in found] == ["not judged"] * 2
    assert "audit" in found[0].reason
    assert content not in found[0].reason


def test_a_dead_endpoint_leaves_the_others_judged():
    with FakeOpenAI(answer=answering()) as server:
        server.fail(Fault.error(500), times=None, when=lambda body: "whales" in str(body))
        found = judge_at(server, max_retries=1).judge([audited(), audited("Four whales sang.")])
    assert [f.judgement for f in found[0]] == ["supported"] * 2
    assert [f.judgement for f in found[1]] == ["not judged"]


def test_calls_are_counted_priced_and_bounded():
    prices = {"gpt-4o-mini": PriceSettings(input=1.0, output=2.0)}
    with FakeOpenAI(answer=answering()) as server:
        ledger = Ledger(BudgetSettings(calls=2), prices)
        judge = judge_at(server, ledger, concurrency=1)
        judge.judge([audited(), audited("The bridge is open.")])
        assert ledger.spent(AUDITS).calls == 2
        assert ledger.spent(AUDITS).usd > 0
        with pytest.raises(BudgetError):
            judge.judge([audited()])
        assert server.n_requests == 2
