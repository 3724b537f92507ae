"""Keys are needed where they are, and shown nowhere."""

import logging
import traceback

import pytest
from support.endpoint_clients import QUICK, SECRET, ask, client_of, endpoint_of
from support.openai_server import Fault

from raptor_core.errors import EndpointError, MissingKeyError
from raptor_core.models.endpoints.client import EndpointClient


def test_openai_itself_is_not_called_without_a_key(monkeypatch):
    monkeypatch.delenv("PLANTED_KEY", raising=False)
    endpoint = endpoint_of("https://api.openai.com/v1")
    with pytest.raises(MissingKeyError, match="PLANTED_KEY"):
        EndpointClient(endpoint, QUICK).chat(ask())


def everything_about(error):
    """Text of the error, its causes and contexts, and the locals that a debugger would print."""
    seen = []
    while error is not None:
        seen += [str(error), repr(error), repr(vars(error))]
        error = error.__cause__ or error.__context__
    return "\n".join(seen)


@pytest.mark.parametrize(
    "fault",
    [
        Fault.error(401, f"Incorrect API key provided: {SECRET}"),
        Fault.malformed(SECRET.encode()),
        Fault.refusing(f"I will not show {SECRET}"),
        Fault.cut_connection(),
        Fault.error(500, SECRET),
    ],
)
def test_the_key_is_in_no_error_log_or_repr(server, monkeypatch, caplog, fault):
    monkeypatch.setenv("PLANTED_KEY", SECRET)
    caplog.set_level(logging.DEBUG)
    server.fail(fault, times=None)
    client = client_of(server)
    with pytest.raises(EndpointError) as caught:
        client.chat(ask())
    shown = "".join(traceback.format_exception(caught.value))
    for text in (shown, everything_about(caught.value), repr(client), caplog.text):
        assert SECRET not in text
