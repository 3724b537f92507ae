"""Clients of the stand-in endpoint, and what they ask."""

from raptor_core.models.endpoints.client import EndpointClient
from raptor_core.models.endpoints.retry import RetryPolicy
from raptor_core.models.endpoints.values import ChatAsk, Endpoint

QUICK = RetryPolicy(max_retries=2, base_seconds=0.001)
SECRET = "sk-planted-4f1c9"


def client_of(server, policy=QUICK, timeout_seconds=5.0, key_env="PLANTED_KEY"):
    return EndpointClient(
        Endpoint("summarizer", "small", server.base_url, key_env, timeout_seconds), policy
    )


def ask(check=lambda _text: None):
    return ChatAsk(
        system="Be brief.",
        user="Some text.",
        max_tokens=50,
        temperature=0.0,
        shorten=lambda n: f"shorter {n}",
        check=check,
    )
