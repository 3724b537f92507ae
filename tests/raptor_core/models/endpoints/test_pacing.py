"""Slots, pauses, what an endpoint tells of its limits, and the circuit; by a clock of their own."""

import pytest

from raptor_core.models.endpoints.gate import Circuit
from raptor_core.models.endpoints.pacing import Allowance, Pace, duration_seconds, read_allowances


def begins(pace, n_calls, tokens=100, now=0.0):
    """When each of so many calls that come at once may begin."""
    slots = [pace.slot(tokens, now) for _ in range(n_calls)]
    return [now + max(0.0, pace.wait_seconds(slot, now)) for slot in slots]


def test_without_limits_nobody_waits():
    assert begins(Pace(), 50) == [0.0] * 50


def test_requests_per_minute_are_spread_evenly():
    assert begins(Pace(requests_per_minute=60), 4) == pytest.approx([0, 1.01, 2.02, 3.03])


def test_no_minute_has_more_calls_than_it_may():
    starts = begins(Pace(requests_per_minute=90), 300)
    for first in starts:
        assert sum(first <= start < first + 60 for start in starts) <= 90


def test_a_call_lasts_by_what_it_needs_more_of():
    pace = Pace(requests_per_minute=60, tokens_per_minute=6000)
    slots = [pace.slot(tokens, 0.0) for tokens in (10, 500, 10, 10)]
    assert slots == pytest.approx([0, 1.01, 6.06, 7.07])


def test_time_that_passed_unused_is_not_saved_up():
    pace = Pace(requests_per_minute=60)
    pace.slot(1, 0.0)
    assert [pace.slot(1, 100.0), pace.slot(1, 100.0)] == pytest.approx([100, 101.01])


@pytest.mark.parametrize(("mine", "theirs", "both"), [(0, 30, 30), (30, 0, 30), (60, 30, 30)])
def test_of_two_limits_the_stricter_holds(mine, theirs, both):
    pace = Pace(requests_per_minute=mine)
    pace.limit(theirs, 0)
    assert pace.requests_per_minute == both


def test_a_pause_moves_all_slots_and_keeps_their_order_and_spacing():
    pace = Pace(requests_per_minute=60)
    slots = [pace.slot(1, 0.0) for _ in range(4)]
    pace.pause(10.0, 1.5)  # until 11.5
    assert [pace.wait_seconds(slot, 1.5) for slot in slots[2:]] == pytest.approx([10.52, 11.53])
    pace.pause(4.0, 2.0)  # is over before
    assert pace.wait_seconds(slots[2], 2.0) == pytest.approx(10.02)
    assert pace.slot(1, 5.0) == pytest.approx(slots[3] + 1.01)


def test_a_call_waits_where_the_endpoint_says_that_nothing_is_left():
    pace = Pace()
    begun = pace.begin(100)
    pace.answered({"requests": Allowance(1, 20.0), "tokens": Allowance(150, 40.0)}, begun, 0.0)
    assert pace.exhausted_seconds(100, 0.0) == 0.0
    assert pace.exhausted_seconds(200, 0.0) == 40.0
    pace.begin(100)
    assert pace.exhausted_seconds(10, 5.0) == 15.0  # the one request left was sent
    assert pace.exhausted_seconds(10, 20.0) == 0.0


def test_what_was_sent_after_a_call_is_taken_off_what_its_answer_says():
    pace = Pace()
    begun = pace.begin(1)
    for _ in range(3):
        pace.begin(1)
    pace.answered({"requests": Allowance(3, 9.0)}, begun, 0.0)
    assert pace.exhausted_seconds(1, 0.0) == 9.0


def test_a_few_refusals_are_waited_out_and_teach_nothing():
    pace = Pace()
    first = [pace.begin(1) for _ in range(100)]
    assert [pace.limited(begun, 1.0, 0.0) for begun in first[:5]] == [True] + [False] * 4
    assert pace.wait_seconds(pace.slot(1, 0.0), 0.0) == 1.0
    again = [pace.begin(1) for _ in range(5)]
    assert pace.limited(again[0], 1.0, 1.0)
    assert pace.learnt_seconds == 0.0


def test_an_endpoint_that_refuses_most_is_called_more_slowly_until_it_answers_again():
    pace, learnt = Pace(), []
    for now in (0.0, 1.0):
        wave = [pace.begin(1) for _ in range(40)]
        for begun in wave[:36]:
            pace.limited(begun, 1.0, now)
        learnt.append(pace.learnt_seconds)
    assert learnt == [0.1, 0.2]
    assert begins(pace, 3, now=2.0) == pytest.approx([2.0, 2.2, 2.4])
    for _ in range(400):
        pace.answered({}, pace.begin(1), 3.0)
    assert pace.learnt_seconds == 0.0


@pytest.mark.parametrize(
    ("text", "seconds"),
    [
        ("1s", 1.0),
        ("6m0s", 360.0),
        ("17ms", 0.017),
        ("1h2m3.5s", 3723.5),
        ("12", 12.0),
        ("0.5", 0.5),
        ("-3", 0.0),
        ("soon", None),
        ("1s later", None),
        ("", None),
        (None, None),
        ("inf", None),
    ],
)
def test_durations_are_read_as_endpoints_write_them(text, seconds):
    assert duration_seconds(text) == (None if seconds is None else pytest.approx(seconds))


def test_half_of_what_a_limit_needs_is_nothing():
    headers = {
        "x-ratelimit-remaining-requests": "0",
        "x-ratelimit-reset-requests": "20s",
        "x-ratelimit-remaining-tokens": "500",
    }
    assert read_allowances(headers) == {"requests": Allowance(0, 20.0)}


def down(circuit, now=0.0):
    for call in range(20):
        circuit.failed(call, "HTTP 503", now)


def test_the_circuit_opens_only_when_several_calls_fail_in_a_row():
    circuit = Circuit(4, 60.0)
    for _ in range(50):
        circuit.failed("one", "HTTP 500", 0.0)
    assert circuit.open_seconds(1.0) == 0  # one call alone may be at fault itself
    circuit.failed("two", "HTTP 500", 0.0)
    circuit.succeeded()
    for call in "abc":
        circuit.failed(call, "HTTP 500", 0.0)
    assert circuit.open_seconds(1.0) == 0
    circuit.failed("d", "HTTP 500", 0.0)
    assert circuit.open_seconds(1.0) == 1.0


def test_two_in_a_hundred_never_open_it():
    circuit = Circuit(10, 60.0)
    for call in range(10_000):
        if call % 50:
            circuit.succeeded()
        else:
            circuit.failed(call, "HTTP 500", float(call))
        assert circuit.open_seconds(call + 1.0) == 0


def test_one_call_at_a_time_tries_and_the_first_that_gets_through_lets_all_go():
    circuit = Circuit(4, 60.0)
    down(circuit)
    assert circuit.wait_seconds("a", 0.0) == 0.5
    assert circuit.wait_seconds("a", 0.5) == 0.0
    assert circuit.probe == "a"
    assert circuit.wait_seconds("b", 0.5) > 0
    circuit.failed("a", "HTTP 503", 0.6)
    assert circuit.wait_seconds("b", 0.6) == pytest.approx(1.0)
    assert circuit.wait_seconds("b", 1.6) == 0.0
    circuit.dropped("b")  # cancelled: another one may try
    assert circuit.wait_seconds("c", 1.6) == 0.0
    circuit.succeeded()
    assert [circuit.wait_seconds(call, 1.7) for call in "abd"] == [0.0] * 3


def test_it_gives_up_after_its_time_and_still_lets_one_try_now_and_then():
    circuit, now = Circuit(4, 10.0), 0.0
    down(circuit)
    while not circuit.is_hopeless:
        now += circuit.wait_seconds("probe", now)
        assert circuit.wait_seconds("probe", now) == 0.0
        circuit.failed("probe", "HTTP 503", now)
    assert 3 < now <= 10
    assert circuit.wait_seconds("next", now) == 15.0
    assert circuit.wait_seconds("next", now + 15) == 0.0
    circuit.succeeded()
    assert not circuit.is_hopeless
