"""Ledger: no bound is passed, however many calls are open."""

import threading

import pytest
from hypothesis import given
from hypothesis import strategies as st

from raptor_core.errors import BudgetError, SettingsError
from raptor_core.models.money.ledger import Ledger
from raptor_core.models.money.usage import SUMMARIES, Usage
from raptor_core.settings import BudgetSettings, PriceSettings, Settings

PRICES = {"small": PriceSettings(input=100_000, output=200_000)}  # 0.1 and 0.2 USD per token


def account_of(model="small", **budget):
    ledger = Ledger(BudgetSettings(**budget), PRICES)
    return ledger, ledger.account(SUMMARIES, model)


def pay(account, prompt_tokens=1, completion_tokens=1):
    with account.reserve(prompt_tokens, completion_tokens) as hold:
        return hold.charge(Usage(1, prompt_tokens, completion_tokens))


@pytest.mark.parametrize(
    ("budget", "bound"), [({"calls": 3}, "calls"), ({"tokens": 7}, "tokens"), ({"usd": 1}, "usd")]
)
def test_each_bound_is_reached_and_not_passed(budget, bound):
    ledger, account = account_of(**budget)
    for _ in range(3):
        pay(account)
    with pytest.raises(BudgetError, match=rf"budget\.{bound} = \d") as caught:
        pay(account)
    assert ledger.spent().calls == 3
    message = str(caught.value)
    for words in ("3 calls with 6 tokens", "0.9 USD", "kept", "Run again", "raise budget"):
        assert words in message


def test_a_sum_of_dollars_may_equal_the_bound():
    _, account = account_of(usd=0.3)
    for _ in range(3):
        pay(account, 1, 0)  # 0.1 + 0.1 + 0.1 > 0.3 in floating point


def test_once_ended_it_refuses_what_would_still_fit_until_another_run_begins():
    ledger, account = account_of(tokens=10)
    with pytest.raises(BudgetError):
        account.reserve(11, 0)
    with pytest.raises(BudgetError, match="up to 11 tokens"):
        account.reserve(1, 0)
    ledger.begin_run()
    assert ledger.spendings == ()
    pay(account, 10, 0)


def test_runs_of_one_budget_add_up_and_each_counts_its_own_spending():
    ledger, account = account_of(tokens=10)
    with ledger.share_budget():
        pay(account, 6, 0)
        with ledger.share_budget():
            assert ledger.spendings == ()
            with pytest.raises(BudgetError):
                account.reserve(5, 0)
        ledger.begin_run()
        with pytest.raises(BudgetError):
            account.reserve(1, 0)
    ledger.begin_run()
    pay(account, 10, 0)


def test_what_is_under_way_counts_with_its_worst_case():
    ledger, account = account_of(tokens=10)
    first = account.reserve(3, 3)
    assert len(account.reserve_affordable([(1, 1), (3, 3)])) == 1
    with pytest.raises(BudgetError, match="in addition to 2 unfinished calls"):
        account.reserve(1, 0)
    first.charge(Usage(1, 3, 1))
    assert ledger.spent().tokens == 4


def test_a_call_without_an_answer_counts_in_the_budget_and_not_as_spent():
    ledger, account = account_of(tokens=10)
    with account.reserve(3, 4):
        pass
    (line,) = ledger.spendings
    assert line.usage == Usage()
    assert line.lost_usage == Usage(1, 3, 4, usd=pytest.approx(1.1))
    with pytest.raises(BudgetError):
        account.reserve(3, 1)


def test_an_estimate_that_was_too_low_is_raised_by_what_the_endpoint_counted():
    _, account = account_of(tokens=100)
    with account.reserve(10, 0) as hold:
        hold.charge(Usage(1, 30))
    assert account.reserve(20, 0).worst.prompt_tokens == 60
    with pytest.raises(BudgetError):
        account.reserve(24, 0)


def test_a_model_without_a_price_costs_nobody_knows_what():
    ledger, account = account_of(model="other", calls=9)
    assert pay(account).usd is None
    pay(ledger.account(SUMMARIES, "small"))
    assert ledger.spent().usd is None
    assert [line.usage.usd for line in ledger.spendings] == [None, pytest.approx(0.3)]


def test_dollars_without_a_price_are_refused_by_the_key_to_set():
    with pytest.raises(SettingsError, match=r'\[prices\."other"\]'):
        account_of(model="other", usd=1)
    settings = Settings.model_validate({"summarizer": {"kind": "openai"}})
    bounded = settings.model_copy(update={"budget": BudgetSettings(usd=1)})
    with pytest.raises(SettingsError, match=r'\[prices\."gpt-4o-mini"\]'):
        Ledger.from_settings(bounded)
    Ledger.from_settings(Settings(budget=BudgetSettings(usd=1)))


STEPS = st.lists(
    st.tuples(
        st.sampled_from(["reserve", "charge", "release", "lose"]),
        st.integers(0, 40),
        st.integers(0, 40),
    ),
    max_size=60,
)


@given(STEPS, st.integers(0, 12), st.integers(0, 200), st.integers(0, 30))
def test_no_order_of_calls_passes_a_bound(steps, calls, tokens, usd):
    ledger, account = account_of(calls=calls, tokens=tokens, usd=usd)
    under_way = []
    for what, prompt, completion in steps:
        if what == "reserve":
            under_way += account.reserve_affordable([(prompt, completion)])
        elif under_way:
            hold = under_way.pop(0)
            worst = hold.worst
            if what == "charge":
                least = (min(prompt, worst.prompt_tokens), min(completion, worst.completion_tokens))
                hold.charge(Usage(1, *least))
            elif what == "release":
                hold.release()
            else:
                hold.__exit__(None, None, None)
        counted = [used for line in ledger.spendings for used in (line.usage, line.lost_usage)]
        total = sum([*counted, *(hold.worst for hold in under_way)], start=Usage())
        assert total.calls <= calls
        assert total.tokens <= tokens
        assert total.usd <= usd * (1 + 1e-6)


def test_many_threads_spend_the_whole_budget_and_no_more():
    ledger, account = account_of(calls=50)

    def work():
        try:
            while True:
                pay(account)
        except BudgetError:
            return

    threads = [threading.Thread(target=work) for _ in range(8)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join(30)
    assert ledger.spent().calls == 50
