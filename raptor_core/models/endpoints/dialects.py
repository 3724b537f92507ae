"""What differs between OpenAI-compatible endpoints: keys, connections, and accepted fields."""

import os
import threading
from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any
from urllib.parse import urlsplit
from weakref import WeakValueDictionary

from raptor_core.credentials import require_sendable_key
from raptor_core.errors import MissingKeyError
from raptor_core.models.endpoints.limits import CallLimiter
from raptor_core.models.endpoints.values import ChatModelRequest, json_schema_line
from raptor_core.redaction import hide_credentials
from raptor_core.settings.base import EndpointSettings

if TYPE_CHECKING:
    from openai import OpenAI

PLACEHOLDER = "no-key"
"""Key for endpoints that need none, such as vLLM and Ollama."""
CONNECT_SECONDS = 10.0
"""Time limit for connecting, in seconds."""
_OFFICIAL = "api.openai.com"


def is_openai_url(base_url: str) -> bool:
    """Return whether the URL is OpenAI's own API, including regional hosts."""
    host = urlsplit(base_url).hostname or ""
    return host == _OFFICIAL or host.endswith(f".{_OFFICIAL}")


def find_api_key(api_key_env: str, base_url: str, purpose: str) -> str:
    """Return the key in an environment variable, or a placeholder if the endpoint needs none.

    Raises:
        MissingKeyError: the endpoint needs a key and there is none, or the key is malformed.
    """
    key = os.environ.get(api_key_env, "").strip()
    if not key and is_openai_url(base_url):
        raise MissingKeyError(
            f"the {purpose} calls {hide_credentials(base_url)}, which needs a key, but the "
            f"environment variable {api_key_env} is not set: set it, name another variable in "
            f"{purpose}.api_key_env, or set {purpose}.base_url to an endpoint without keys"
        )
    return require_sendable_key(key, api_key_env, f"the {purpose}") if key else PLACEHOLDER


def create_client(endpoint: EndpointSettings, key: str) -> "OpenAI":
    """Create a client for an endpoint.

    It does not follow redirects, so that texts and keys reach no other server. It does not retry,
    because every attempt must first be counted in the budget.
    """
    from openai import DefaultHttpxClient, OpenAI, Timeout

    return OpenAI(
        base_url=endpoint.base_url,
        api_key=key,
        max_retries=0,
        http_client=DefaultHttpxClient(follow_redirects=False),
        timeout=Timeout(endpoint.timeout_seconds, connect=CONNECT_SECONDS),
    )


class Dialect:
    """The request fields that an endpoint accepts, learnt from its errors; threads may share one.

    OpenAI's newer models reject ``max_tokens``, so OpenAI gets the newer name first.
    """

    def __init__(self, endpoint: EndpointSettings) -> None:
        names = ("max_tokens", "max_completion_tokens")
        self._limits = names[::-1] if is_openai_url(endpoint.base_url) else names
        self._rejected: set[str] = set()
        self._lock = threading.Lock()

    def chat_body(self, model: str, ask: ChatModelRequest, user: str) -> dict[str, Any]:
        """Return the body of a chat request with ``user`` as the user's message."""
        system, form = ask.system, ask.response_format
        if form is not None and "response_format" in self._rejected:
            system, form = f"{system}\n\n{json_schema_line(form)}", None
        messages = [{"role": "system", "content": system}, {"role": "user", "content": user}]
        if "system" in self._rejected:
            messages = [{"role": "user", "content": f"{system}\n\n{user}"}]
        body: dict[str, Any] = {"model": model, "messages": messages}
        if limit := next((name for name in self._limits if name not in self._rejected), ""):
            body[limit] = ask.max_tokens
        if "temperature" not in self._rejected:
            body["temperature"] = ask.temperature
        if form is not None:
            body["response_format"] = form
        return body

    def stream_fields(self) -> dict[str, Any]:
        """Return the fields that request a stream with usage."""
        if "stream" in self._rejected:
            return {}
        options = {} if "stream_options" in self._rejected else {"include_usage": True}
        return {"stream": True, **({"stream_options": options} if options else {})}

    def embeddings_body(self, model: str, texts: Sequence[str]) -> dict[str, Any]:
        """Return the body of an embeddings request."""
        # Without the field, the client library would request base64.
        encoding = "float" if "encoding_format" in self._rejected else "base64"
        return {"model": model, "input": list(texts), "encoding_format": encoding}

    def learn_rejected_field(self, field: str, sent: Mapping[str, Any]) -> bool:
        """Record that the endpoint rejected a field of ``sent``; return whether that is new."""
        names = self._limits if field == "max_tokens" else (field,)
        found = next((name for name in names if name in sent), "")
        if field == "system" and len(sent.get("messages", ())) == 2:
            found = field
        with self._lock:
            is_new = found not in {"", *self._rejected}
            self._rejected |= {found} if is_new else set()
        return is_new


class EndpointState:
    """The state of an endpoint that all its clients in this process share."""

    def __init__(self, endpoint: EndpointSettings) -> None:
        self.dialect = Dialect(endpoint)
        self.limiter = CallLimiter()

    @classmethod
    def for_endpoint(cls, endpoint: EndpointSettings) -> "EndpointState":
        """Return the shared state of an endpoint, and apply the rates of these settings to it."""
        key = (endpoint.base_url, endpoint.model, endpoint.api_key_env)
        with _LOCK:
            state = STATES.setdefault(key, cls(endpoint))
        state.limiter.apply_rates(endpoint)
        return state


_LOCK = threading.Lock()
STATES: WeakValueDictionary[tuple[str, str, str], EndpointState] = WeakValueDictionary()
"""States of the endpoints that have clients, by address, model and variable of the key."""


def rerank_body(endpoint: EndpointSettings, question: str, texts: Sequence[str]) -> dict[str, Any]:
    """Return the body of a rerank request, as text-embeddings-inference or Cohere expects it."""
    if getattr(endpoint, "kind", "") == "tei":
        return {"query": question, "texts": list(texts), "truncate": True}
    documents = {"documents": list(texts), "top_n": len(texts)}
    return {"model": endpoint.model, "query": question, **documents}
