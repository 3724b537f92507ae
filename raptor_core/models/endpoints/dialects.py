"""Differences between OpenAI-compatible endpoints: keys, connections, names of fields."""

import os
import threading
from collections.abc import Mapping
from typing import TYPE_CHECKING, Any
from urllib.parse import urlsplit
from weakref import WeakValueDictionary

from raptor_core.credentials import check_key
from raptor_core.errors import MissingKeyError
from raptor_core.models.endpoints.values import ChatAsk
from raptor_core.settings.base import ChatPart, EndpointPart

if TYPE_CHECKING:
    from openai import OpenAI

PLACEHOLDER = "no-key"
"""Key for endpoints that need none, such as vLLM and Ollama."""
_OFFICIAL = "api.openai.com"


IN_PROCESS_URL = "http://localhost/v1"
"""Address of a local model, whose socket needs none."""
IN_PROCESS_SECONDS = 3600.0
"""Time limit of an attempt of a local model, which works as long as its process lives."""


def effective(endpoint: EndpointPart) -> EndpointPart:
    """Return the settings of an endpoint; those of a local model name no server and no key."""
    if not endpoint.is_local:
        return endpoint
    settings = {"base_url": IN_PROCESS_URL, "api_key_env": "", "api_version": ""}
    settings["max_tokens_field"] = "max_tokens"
    return endpoint.model_copy(update={**settings, "timeout_seconds": IN_PROCESS_SECONDS})


def is_official(base_url: str) -> bool:
    """Return whether the URL is OpenAI's own API, regional hosts included."""
    host = urlsplit(base_url).hostname or ""
    return host == _OFFICIAL or host.endswith(f".{_OFFICIAL}")


def find_key(api_key_env: str, base_url: str, purpose: str) -> str:
    """Return the key in a variable, or a placeholder; raise MissingKeyError if one is needed."""
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
    """Return whether the endpoint is Azure, by its host or a dated version."""
    host = urlsplit(endpoint.base_url).hostname or ""
    return bool(endpoint.api_version) or host.endswith(_AZURE)


def connect(endpoint: EndpointPart, key: str) -> "OpenAI":
    """Return a new client of the endpoint; both APIs of Azure take the key in "api-key"."""
    from openai import AzureOpenAI, OpenAI

    from raptor_core.models.endpoints.transport import BoundedClient

    # Without the vendor's retries, since ``Retrier`` counts them and checks the answers.
    socket = ""
    if isinstance(endpoint, ChatPart) and endpoint.is_local:
        from raptor_core.models.local.engine import engine_of

        socket = engine_of(endpoint).socket
    common: dict[str, Any] = {"api_key": key, "max_retries": 0}
    common |= {"http_client": BoundedClient(socket), "timeout": endpoint.timeout_seconds}
    url, version = endpoint.base_url, endpoint.api_version
    if version:
        return AzureOpenAI(api_version=version, azure_endpoint=url, **common)
    headers = {"api-key": key} if is_azure(endpoint) else None
    return OpenAI(base_url=url, default_headers=headers, **common)


def max_tokens_field(endpoint: EndpointPart) -> str:
    """Return the field that limits an answer; OpenAI's newer models refuse ``max_tokens``."""
    if endpoint.max_tokens_field != "auto":
        return endpoint.max_tokens_field
    newer = is_official(endpoint.base_url) or is_azure(endpoint)
    return "max_completion_tokens" if newer else "max_tokens"


class Dialect:
    """Fields that an endpoint accepts, by the settings and by what the endpoint refused.

    All clients of one endpoint share one, so each refusal is met once. Threads may share it.
    """

    def __init__(self, endpoint: EndpointPart) -> None:
        limit = max_tokens_field(endpoint)
        names = ("max_tokens", "max_completion_tokens")
        self._limits = [limit, *(name for name in names if name != limit), ""]
        self._refused = set() if endpoint.sends_temperature else {"temperature"}

    @classmethod
    def of(cls, endpoint: EndpointPart) -> "Dialect":
        """Return the dialect that all clients of an endpoint share."""
        values = (endpoint.base_url, endpoint.model, endpoint.max_tokens_field)
        with _LOCK:
            return _DIALECTS.setdefault((*values, endpoint.sends_temperature), cls(endpoint))

    def chat_body(self, model: str, ask: ChatAsk, user: str) -> dict[str, Any]:
        """Return the body of a chat request that sends ``user`` as the user's message."""
        messages = [{"role": "system", "content": ask.system}, {"role": "user", "content": user}]
        if "system" in self._refused:
            messages = [{"role": "user", "content": f"{ask.system}\n\n{user}"}]
        body: dict[str, Any] = {"model": model, "messages": messages}
        if self._limits[0]:
            body[self._limits[0]] = ask.max_tokens
        if "temperature" not in self._refused:
            body["temperature"] = ask.temperature
        if ask.response_format is not None:
            body["response_format"] = ask.response_format
        return body

    def stream_fields(self) -> dict[str, Any]:
        """Return the fields that demand a stream with its usage."""
        if "stream" in self._refused:
            return {}
        options = {} if "stream_options" in self._refused else {"include_usage": True}
        return {"stream": True, **({"stream_options": options} if options else {})}

    def accepts(self, field: str) -> bool:
        """Return whether the endpoint has not refused a field."""
        return field not in self._refused

    def learn(self, field: str, sent: Mapping[str, Any]) -> bool:
        """Note that the endpoint refused a field of ``sent``; return whether that is new."""
        with _LOCK:
            if field == "max_tokens":
                is_new = bool(self._limits[0]) and self._limits[0] in sent
                self._limits = self._limits[1:] if is_new else self._limits
                return is_new
            is_sent = field in sent or (field == "system" and len(sent.get("messages", ())) == 2)
            is_new = is_sent and field in _LEARNT and field not in self._refused
            self._refused |= {field} if is_new else set()
            return is_new


_LEARNT = frozenset({"system", "temperature", "stream", "stream_options", "encoding_format"})
_LOCK = threading.Lock()
_DIALECTS: WeakValueDictionary[tuple[str, str, str, bool], Dialect] = WeakValueDictionary()
