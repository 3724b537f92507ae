"""Where OpenAI-compatible endpoints differ: how they are reached and what requests are called."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any
from urllib.parse import urlsplit

from raptor_core.models.endpoints.keys import is_official
from raptor_core.models.endpoints.values import ChatAsk
from raptor_core.settings.endpoints import EndpointPart

if TYPE_CHECKING:
    from openai import OpenAI

_AZURE = (".openai.azure.com", ".services.ai.azure.com", ".cognitiveservices.azure.com")


def is_azure(endpoint: EndpointPart) -> bool:
    """Whether it is Azure: by its host, or because it has a dated version."""
    host = urlsplit(endpoint.base_url).hostname or ""
    return bool(endpoint.api_version) or host.endswith(_AZURE)


def connect(endpoint: EndpointPart, key: str) -> OpenAI:
    """The client of the endpoint.

    Azure's dated API has the deployment in the path, the version in the query and the key in a
    header of its own, which its v1 API takes as well.
    """
    from openai import AzureOpenAI, OpenAI

    seconds = endpoint.timeout_seconds
    if endpoint.api_version:
        return AzureOpenAI(
            api_key=key,
            api_version=endpoint.api_version,
            azure_endpoint=endpoint.base_url,
            timeout=seconds,
            max_retries=0,  # ours count, and see the answers too
        )
    headers = {"api-key": key} if is_azure(endpoint) else None
    return OpenAI(
        api_key=key,
        base_url=endpoint.base_url,
        timeout=seconds,
        max_retries=0,
        default_headers=headers,
    )


def max_tokens_field(endpoint: EndpointPart) -> str:
    """What a request calls the bound of an answer.

    OpenAI's newer models refuse ``max_tokens``; other servers may not know the newer name.
    """
    if endpoint.max_tokens_field != "auto":
        return endpoint.max_tokens_field
    newer = is_official(endpoint.base_url) or is_azure(endpoint)
    return "max_completion_tokens" if newer else "max_tokens"


def chat_body(endpoint: EndpointPart, ask: ChatAsk, user: str) -> dict[str, Any]:
    """The body of a chat request that sends ``user`` as the user's message."""
    body: dict[str, Any] = {
        "model": endpoint.model,
        "messages": [
            {"role": "system", "content": ask.system},
            {"role": "user", "content": user},
        ],
        max_tokens_field(endpoint): ask.max_tokens,
    }
    if endpoint.sends_temperature:
        body["temperature"] = ask.temperature
    if ask.response_format is not None:
        body["response_format"] = ask.response_format
    return body
