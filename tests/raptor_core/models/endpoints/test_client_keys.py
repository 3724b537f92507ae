"""Keys are needed where they are, and shown nowhere."""

import logging
import traceback

import pytest
from support.endpoint_clients import SECRET, ask, client_of
from support.openai_server import Fault

from raptor_core.errors import EndpointError


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
