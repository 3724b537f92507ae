"""Clients of the stand-in endpoint, and what they ask."""

from raptor_core.models.endpoints.client import EndpointClient
from raptor_core.models.endpoints.values import ChatModelRequest
from raptor_core.retrying import RetryPolicy
from raptor_core.settings import SummarizerSettings

QUICK = RetryPolicy(max_retries=2, base_seconds=0.001)
SECRET = "sk-planted-4f1c9"


def client_of(server, policy=QUICK, timeout_seconds=5.0, key_env="PLANTED_KEY"):
    return EndpointClient(endpoint_of(server.base_url, key_env, timeout_seconds), policy)


def endpoint_of(base_url, key_env="PLANTED_KEY", timeout_seconds=5.0, **values):
    """Settings of a chat endpoint."""
    place = {"model": "small", "base_url": base_url, "api_key_env": key_env, "concurrency": 64}
    given = {**place, **values}
    return SummarizerSettings(kind="openai", timeout_seconds=timeout_seconds, **given)


def ask(check=lambda _text: None):
    return ChatModelRequest(
        system="Be brief.",
        user="Some text.",
        max_tokens=50,
        temperature=0.0,
        shorten=lambda n: f"shorter {n}",
        check=check,
    )
