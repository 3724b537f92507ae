import threading

import pytest

from raptor_core.errors import AnswerError, EndpointError
from raptor_core.models.endpoints.dialects import is_openai_url
from raptor_core.models.endpoints.faults import (
    CallFaultError,
    FaultError,
    hide_secret_and_shorten,
    retry,
)
from raptor_core.models.endpoints.messages import retry_after_seconds
from raptor_core.retrying import RetryPolicy


class Script:
    """An attempt that meets these faults one after the other, and then succeeds."""

    def __init__(self, *faults):
        self.faults = list(faults)
        self.n_attempts = 0

    def __call__(self):
        self.n_attempts += 1
        if self.faults:
            raise self.faults.pop(0)
        return "done"


class Waits(threading.Event):
    """A signal to stop that records how long it is waited for."""

    def __init__(self, is_cancelled=False):
        super().__init__()
        self.is_cancelled = is_cancelled
        self.seconds = []

    def wait(self, timeout=None):
        self.seconds.append(timeout)
        return self.is_cancelled


def run(script, policy):
    waits = Waits()
    return retry(script, policy, "the call", waits), waits.seconds


def test_waits_double_up_to_their_bound_and_jitter_keeps_half():
    script = Script(*(FaultError("down") for _ in range(5)))
    result, waits = run(script, RetryPolicy(max_retries=5, base_seconds=1.0, max_seconds=6.0))
    assert result == "done"
    longest = [1.0, 2.0, 4.0, 6.0, 6.0]
    assert all(bound / 2 <= wait <= bound for wait, bound in zip(waits, longest, strict=True))


def test_the_endpoint_is_never_asked_before_it_said():
    _, waits = run(Script(FaultError("busy", retry_after_seconds=7.0)), RetryPolicy())
    assert all(7.0 <= wait <= 7.7 for wait in waits)


def test_a_wait_beyond_patience_fails_at_once():
    script = Script(FaultError("busy", retry_after_seconds=3600.0))
    with pytest.raises(EndpointError, match="after 1 attempt: busy"):
        run(script, RetryPolicy(patience_seconds=60.0))


def test_a_fault_of_the_call_itself_ends_in_an_error_of_its_kind_and_keeps_the_text():
    script = Script(*(CallFaultError("cut", "cut off", "A text.") for _ in range(3)))
    with pytest.raises(AnswerError, match="after 3 attempts: cut") as caught:
        run(script, RetryPolicy(max_retries=2))
    assert (caught.value.kind, caught.value.text) == ("cut off", "A text.")


def test_an_outage_never_ends_in_an_error_of_the_call():
    script = Script(*(FaultError("down", meaning="down") for _ in range(3)))
    with pytest.raises(EndpointError) as caught:
        run(script, RetryPolicy(max_retries=2))
    assert not isinstance(caught.value, AnswerError)


def test_loading_is_waited_for_without_using_up_attempts_and_with_a_bound():
    script = Script(*(FaultError("loading", meaning="loading") for _ in range(20)))
    result, waits = run(script, RetryPolicy(max_retries=0))
    assert result == "done"
    assert waits == [2.0] * 20
    script = Script(*(FaultError("loading", meaning="loading") for _ in range(1000)))
    with pytest.raises(EndpointError, match="after 1 attempt: loading"):
        run(script, RetryPolicy(max_retries=0))
    assert script.n_attempts == 301


def test_cancelled_work_begins_no_attempt():
    with pytest.raises(EndpointError, match="cancelled after: down"):
        retry(Script(FaultError("down")), RetryPolicy(), "the call", Waits(is_cancelled=True))


@pytest.mark.parametrize(
    ("headers", "seconds"),
    [
        ({"retry-after": "3"}, 3.0),
        ({"retry-after": "0.25"}, 0.25),
        ({"retry-after-ms": "1500", "retry-after": "9"}, 1.5),
        ({"retry-after": "Thu, 01 Jan 1970 00:01:40 GMT"}, 40.0),
        ({"retry-after": "Thu, 01 Jan 1970 00:00:01 GMT"}, 0.0),
        ({"retry-after": "-4"}, 0.0),
        ({"retry-after": "soon"}, None),
        ({"retry-after": "nan"}, None),
        ({}, None),
    ],
)
def test_every_form_of_retry_after_is_read(headers, seconds):
    assert retry_after_seconds(headers, now=60.0) == seconds


def test_only_openai_itself_needs_a_key():
    assert is_openai_url("https://api.openai.com/v1")
    assert is_openai_url("https://eu.api.openai.com/v1")
    assert not is_openai_url("https://api.openai.com.example.org/v1")
    assert not is_openai_url("http://localhost/api.openai.com")


def test_scrubbing_takes_the_secret_out_and_keeps_one_short_line():
    text = hide_secret_and_shorten("Bearer key-1 \n is wrong " + "x" * 1000, "key-1")
    assert text.startswith("Bearer [key] is wrong xxx")
    assert len(text) <= 241
