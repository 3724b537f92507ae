"""What calls are counted with, and the budget."""

import json

import pytest
from support.endpoint_clients import QUICK, ask, client_of, endpoint_of
from support.openai_server import FakeOpenAI, Fault

from raptor_core.errors import BudgetError, EndpointError
from raptor_core.models.endpoints.client import EndpointClient
from raptor_core.models.endpoints.values import Meter
from raptor_core.models.money.ledger import Ledger
from raptor_core.models.money.usage import Usage, estimate_tokens
from raptor_core.settings import BudgetSettings


def test_usage_counts_answers_tokens_and_retries_also_of_what_failed(server):
    server.fail(Fault.answering("", "length"))
    server.fail(Fault.error(500))
    meter = Meter()
    answer = client_of(server).chat(ask(), meter=meter)
    assert meter.usage == answer.usage
    prompts = [4, 4 + 2]  # words; the third question asks for a shorter answer
    assert answer.usage == Usage(2, sum(prompts), len(answer.text.split()), 2, usd=None)


def test_tokens_are_estimated_where_the_endpoint_counts_none(server):
    whole = {
        "id": "x",
        "object": "chat.completion",
        "created": 0,
        "model": "small",
        "choices": [
            {
                "index": 0,
                "message": {"role": "assistant", "content": "Six bytes per word."},
                "finish_reason": "stop",
            }
        ],
    }
    server.fail(Fault.malformed(json.dumps(whole).encode()))
    usage = client_of(server).chat(ask()).usage
    assert usage == Usage(1, estimate_tokens("Be brief.\nSome text."), 7, usd=None)


def bounded_client(base_url, ledger):
    return EndpointClient(endpoint_of(base_url), QUICK, ledger=ledger, purpose="summaries")


def test_a_call_that_was_cut_off_counts_in_the_budget(server):
    ledger = Ledger(BudgetSettings(calls=3))
    client = bounded_client(server.base_url, ledger)
    server.fail(Fault.cut_connection(), times=2)
    assert client.chat(ask()).usage.calls == 1
    assert (ledger.spendings[0].usage.retries, ledger.spendings[0].lost.calls) == (2, 2)
    with pytest.raises(BudgetError, match=r"budget\.calls"):
        client.chat(ask())
    assert server.n_requests == 3


def test_what_never_reached_the_endpoint_does_not_count():
    ledger = Ledger(BudgetSettings(calls=1))
    with FakeOpenAI() as gone:
        client = bounded_client(gone.base_url, ledger)
    with pytest.raises(EndpointError, match="after 3 attempts"):
        client.chat(ask())
    assert ledger.spendings[0].lost == Usage()
