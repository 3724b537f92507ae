"""Differences between OpenAI-compatible endpoints: keys, connections, names of fields."""

from __future__ import annotations

import os
from typing import TYPE_CHECKING, Any
from urllib.parse import urlsplit

from raptor_core.credentials import check_key
from raptor_core.errors import MissingKeyError
from raptor_core.models.endpoints.values import ChatAsk
from raptor_core.settings.base import EndpointPart

if TYPE_CHECKING:
    from openai import OpenAI

PLACEHOLDER = "no-key"
"""Sent where no key is set and the endpoint is not OpenAI's: vLLM and Ollama want none."""

_OFFICIAL = "api.openai.com"


def is_official(base_url: str) -> bool:
    """Return whether the URL is OpenAI's own API, regional hosts included."""
    host = urlsplit(base_url).hostname or ""
    return host == _OFFICIAL or host.endswith(f".{_OFFICIAL}")


def resolve_key(api_key_env: str, base_url: str, purpose: str) -> str:
    """Return the key in the environment variable ``api_key_env``, or a placeholder.

    ``purpose`` is the part of the settings, for example "summarizer".

    Raises:
        MissingKeyError: OpenAI's own API needs a key and the variable holds none, or what it
            holds cannot be a key.
    """
    key = os.environ.get(api_key_env, "").strip()
    if not key and is_official(base_url):
        raise MissingKeyError(
            f"the {purpose} calls {shown_url(base_url)}, which needs a key, and the environment "
            f"variable {api_key_env} is not set: set it, name another variable in "
            f"{purpose}.api_key_env, or point {purpose}.base_url at an endpoint without keys"
        )
    return check_key(key, api_key_env, f"the {purpose}") if key else PLACEHOLDER


def shown_url(base_url: str) -> str:
    """Return the URL without user, password, query and fragment, which may hold secrets."""
    parts = urlsplit(base_url)
    host = parts.hostname or ""
    port = f":{parts.port}" if parts.port else ""
    return f"{parts.scheme}://{host}{port}{parts.path}"


_AZURE = (".openai.azure.com", ".services.ai.azure.com", ".cognitiveservices.azure.com")


def is_azure(endpoint: EndpointPart) -> bool:
    """Return whether the endpoint is Azure: by its host, or by a dated version."""
    host = urlsplit(endpoint.base_url).hostname or ""
    return bool(endpoint.api_version) or host.endswith(_AZURE)


def connect(endpoint: EndpointPart, key: str) -> OpenAI:
    """Return a new client of the endpoint.

    Azure's dated API has the deployment in the path, the version in the query and the key in a
    header of its own, which its v1 API takes as well.
    """
    from openai import AzureOpenAI, OpenAI

    from raptor_core.models.endpoints.transport import BoundedClient

    # Retries are ours: they count, and see the answers too.
    common: dict[str, Any] = {
        "api_key": key,
        "timeout": endpoint.timeout_seconds,
        "max_retries": 0,
        "http_client": BoundedClient(),
    }
    if endpoint.api_version:
        return AzureOpenAI(
            api_version=endpoint.api_version, azure_endpoint=endpoint.base_url, **common
        )
    headers = {"api-key": key} if is_azure(endpoint) else None
    return OpenAI(base_url=endpoint.base_url, default_headers=headers, **common)


def max_tokens_field(endpoint: EndpointPart) -> str:
    """Return the name of the field that bounds an answer.

    OpenAI's newer models refuse ``max_tokens``; other servers may not know the newer name.
    """
    if endpoint.max_tokens_field != "auto":
        return endpoint.max_tokens_field
    newer = is_official(endpoint.base_url) or is_azure(endpoint)
    return "max_completion_tokens" if newer else "max_tokens"


def chat_body(endpoint: EndpointPart, ask: ChatAsk, user: str) -> dict[str, Any]:
    """Return the body of a chat request that sends ``user`` as the user's message."""
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
