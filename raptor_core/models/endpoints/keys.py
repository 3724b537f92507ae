"""API keys, by the name of the environment variable that holds them."""

from __future__ import annotations

import os
from urllib.parse import urlsplit

from raptor_core.errors import MissingKeyError

PLACEHOLDER = "no-key"
"""Sent where no key is set and the endpoint is not OpenAI's: vLLM and Ollama want none."""

_OFFICIAL = "api.openai.com"


def is_official(base_url: str) -> bool:
    """Whether the URL is OpenAI's own API, regional hosts included."""
    host = urlsplit(base_url).hostname or ""
    return host == _OFFICIAL or host.endswith(f".{_OFFICIAL}")


def resolve_key(api_key_env: str, base_url: str, purpose: str) -> str:
    """The key that the environment variable ``api_key_env`` holds, or a placeholder.

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
    if not (key.isascii() and key.isprintable()):
        raise MissingKeyError(
            f"the environment variable {api_key_env} holds characters that no key has "
            f"(line breaks or letters beyond ASCII): set it again, for the {purpose}"
        )
    return key or PLACEHOLDER


def shown_url(base_url: str) -> str:
    """The URL without user, password, query and fragment, which may hold secrets."""
    parts = urlsplit(base_url)
    host = parts.hostname or ""
    port = f":{parts.port}" if parts.port else ""
    return f"{parts.scheme}://{host}{port}{parts.path}"
