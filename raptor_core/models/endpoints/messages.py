"""Interpretation of providers' errors: their messages, and the faults that they mean.

Providers agree on neither the status nor the words of an error. ``faults`` has the classes of
faults; ``answers`` parses answers that are not errors.
"""

import json
import math
import re
import time
from collections.abc import Mapping
from contextlib import suppress
from email.utils import parsedate_to_datetime
from json import JSONDecodeError
from typing import Any, cast, get_args

from raptor_core.models.endpoints.faults import (
    CallFault,
    CallFaultError,
    FaultError,
    Meaning,
    hide_secret_and_shorten,
)
from raptor_core.redaction import proxy_hint

MAX_MESSAGE_CHARS = 2000
"""Maximum characters of a provider's message that an error shows."""
_READ_CHARS = 20_000
"""Maximum characters of a message that are searched, so that no error takes long."""
_FIELDS = ("error", "errors", "message", "detail", "msg")

_CONTEXT = re.compile(
    r"context.{0,3}(?:length|window|size|limit)|request (?:entity )?too large|physical batch size"
    r"|(?:token|prompt|input|sequence|text|message)s?\b.{0,60}(?:too (?:long|large|many)|longer"
    r"|exceed|must (?:be|have) (?:<|less)|at most|should be \[|supports)"
    r"|too many (?:\w+ )?tokens|exceed.{0,60}\btokens?\b|supports at most \d+|longer than the",
    re.IGNORECASE | re.DOTALL,
)
_BATCH = re.compile(
    r"(?<!physical )batch.{0,20}(?:size|too large|limit|maximum)|too many (?:inputs|texts|items)"
    r"|at most \d+ (?:items|inputs|texts|documents|elements|requests)|array.{0,20}too long"
    r"|maximum.{0,30}(?:batch|inputs|array)|more batches|inputs? (?:array )?must have at most",
    re.IGNORECASE,
)
_MONEY = re.compile(
    r"insufficient.{0,3}(?:quota|balance|credit|funds)|billing|credit balance|payment required"
    r"|(?:out of|more) credits|budget (?:has been )?exceeded|(?:spending|budget) limit"
    r"|current quota|quota_?exceeded|arrearage|overdue",
    re.IGNORECASE,
)
_FILTER = re.compile(
    r"content.?(?:filter|policy|management|moderation|safety)|data.?inspection|responsible.?ai"
    r"|moderation|flagged|safety|prohibited.content|inappropriate|guardrail|usage polic"
    r"|violat.{0,30}polic|sensitive (?:content|info|word|material)",
    re.IGNORECASE,
)
_LOADING = re.compile(
    r"(?<!error )(?<!failed )\bloading (?:the )?model|\b(?:is|still|currently) (?:loading|warming)"
    r"|not (?:yet )?ready",
    re.IGNORECASE,
)
_RETRY_IN = re.compile("retry in", re.IGNORECASE)
_LARGE = re.compile("request too large", re.IGNORECASE)

_DOWN = range(500, 600)
_REMEDIES = {
    400: "check the model's name and limits",
    401: "check the key",
    402: "pay the provider, or use another key",
    403: "check that the key may use this model",
    404: "check base_url and the model's name",
}
_TOO_MANY = "the call has too many texts: lower embedder.batch_size"
_FILTERED = "the endpoint's content filter rejected the text"
_MOVED = "redirects are not followed; set base_url to the final address"
_TO_SHORTEN = {
    "summarizer": "lower clustering.max_tokens or summarizer.max_tokens, "
    "or raise summarizer.context_tokens of a local model",
    "reader": "lower the token budget of the context or reader.max_tokens, "
    "or raise reader.context_tokens of a local model",
    "audit": "lower clustering.max_tokens or audit.max_tokens, "
    "or raise audit.context_tokens of a local model",
    "embedder": "lower chunking.max_tokens or summarizer.max_tokens",
}

_REFUSING_STATUS = frozenset({400, 404, 415, 422, 500, 501})
_REFUSING = re.compile(
    r"unsupported|unknown|unrecognized|unexpected|extra|deprecated|invalid|unavailable|cannot"
    r"|\bnot\b|n[o']t\b|\bmust\b|\bonly\b|no such",
    re.IGNORECASE,
)
_REFUSED_FIELDS = {
    "system": r"system.{0,30}role|roles?.{0,60}system|system (?:message|prompt|instruction)"
    r"|developer instruction|roles must alternate|user and assistant roles",
    "stream_options": r"stream_options|include_usage",
    "stream": r"\bstream(?:ing)?\b",
    "max_tokens": r"\bmax_(?:completion_|output_)?tokens\b",
    "temperature": r"\btemperature\b",
    "encoding_format": r"\bencoding_format\b|base64",
    "response_format": r"response_format|json_schema",
}
"""Words of an error by the request field that it rejects."""
_UNSENT = frozenset({"ConnectError", "ConnectTimeout", "PoolTimeout"})  # of httpx


def error_to_fault(
    error: Exception, timeout_seconds: float, secret: str, purpose: str
) -> FaultError:
    """Convert an error of the client library to a fault, without ``secret`` and the request.

    An error that is neither from the client library nor from its HTTP library is raised again.
    """
    import openai

    if isinstance(error, openai.APIStatusError):
        fault = body_to_fault(error.body, error.status_code, secret, purpose)
        fault.retry_after_seconds = retry_after_seconds(error.response.headers, time.time())
        return fault
    if isinstance(error, openai.APIConnectionError) or _is_transport_error(error):
        return _connection_fault(error, timeout_seconds, secret)
    if type(error) is openai.APIError:  # from an event of a stream
        return body_to_fault(error.body, 200, secret, purpose)
    # The last three come from JSON that the library cannot parse: syntax, numbers, depth.
    if isinstance(error, openai.APIError | ValueError | OverflowError | RecursionError):
        detail = error.msg if isinstance(error, JSONDecodeError) else type(error).__name__
        return FaultError(f"the answer is not JSON ({hide_secret_and_shorten(detail, secret)})")
    raise error


def _connection_fault(error: Exception, timeout_seconds: float, secret: str) -> FaultError:
    cause = error if _is_transport_error(error) else error.__cause__
    kind = type(cause).__name__
    unsent = kind in _UNSENT
    if kind.endswith("Timeout"):
        seconds = f"no answer within {timeout_seconds:g} s"
        reason = f"{seconds}; raise timeout_seconds if the server is slow"
        return FaultError(reason, meaning="down", is_unbilled=unsent)
    detail = f"{kind}: {cause}"
    hint = proxy_hint(str(error.request.url))  # type: ignore[attr-defined]  # both libraries have it
    if "CERTIFICATE_VERIFY_FAILED" in detail:
        hint += "; set SSL_CERT_FILE to the certificates of the authority that signed it"
    reason = f"the connection failed ({hide_secret_and_shorten(detail, secret)}){hint}"
    return FaultError(reason, meaning="down", is_unbilled=unsent)


def _is_transport_error(error: Exception) -> bool:
    """Return whether an error comes from the HTTP library, whose name depends on the release."""
    return type(error).__module__.partition(".")[0] in {"httpx", "httpx2"}


def retry_after_seconds(headers: Mapping[str, str], now: float) -> float | None:
    """Return the wait that an endpoint requests, or None; ``now`` is in seconds since 1970 UTC."""
    for name, unit in (("retry-after-ms", 0.001), ("retry-after", 1.0)):
        with suppress(ValueError):
            seconds = float(headers.get(name, "")) * unit
            return max(0.0, seconds) if math.isfinite(seconds) else None
    with suppress(ValueError):
        return max(0.0, parsedate_to_datetime(headers.get("retry-after", "")).timestamp() - now)
    return None


def parse_json_body(body: bytes) -> Any:
    """Parse the body of an answer as JSON; return it as text if it is not JSON."""
    with suppress(ValueError, RecursionError):
        return json.loads(body, strict=False)
    return body.decode("utf-8", "replace").strip()


def raise_if_error_answer(answer: Any, secret: str, purpose: str) -> None:
    """Raise a fault if an answer with status 200 is an error."""
    if isinstance(answer, str):
        shown = hide_secret_and_shorten(find_provider_message(answer), secret) or "an empty body"
        raise FaultError(
            f"the answer is not JSON ({shown}); check base_url, which often ends with /v1, and the "
            "proxy in front of the endpoint"
        )
    body = answer[0] if isinstance(answer, list) and answer else answer
    if not isinstance(body, Mapping):
        return
    choices = body.get("choices")
    first = choices[0] if isinstance(choices, list) and choices else None
    errors = [part.get("error") for part in (body, first) if isinstance(part, Mapping)]
    error = next((error for error in errors if find_provider_message(error)), None)
    if error is not None:
        fault = body_to_fault(error, 200, secret, purpose)
        fault.is_unbilled = not first
        raise fault


def find_provider_message(body: Any) -> str:
    """Return a provider's message, without HTML tags, or "" if no usual field has one."""
    if isinstance(body, str):
        is_page = body.lstrip().startswith("<")
        return re.sub("<[^<>]*>", " ", body[:_READ_CHARS]).strip() if is_page else body.strip()
    if isinstance(body, list):
        return "; ".join(filter(None, map(find_provider_message, body[:3])))
    if not isinstance(body, Mapping):
        return ""
    message = next(
        (text for field in _FIELDS if (text := find_provider_message(body.get(field)))), ""
    )
    where, metadata = body.get("loc"), body.get("metadata")
    place = ".".join(map(str, where)) if isinstance(where, list) else ""  # FastAPI's field
    raw = metadata.get("raw") if isinstance(metadata, Mapping) else ""  # of OpenRouter's provider
    return ": ".join(filter(None, (place, message, find_provider_message(raw)))) if message else ""


def _error_codes(error: Any) -> str:
    """Return the codes and types of an error in one line."""
    inner = error.get("error") if isinstance(error, Mapping) else None
    parts = [part for part in (error, inner) if isinstance(part, Mapping)]
    values = (part.get(key) for part in parts for key in ("code", "type", "status", "param"))
    return " ".join(str(value) for value in values if isinstance(value, str | int))


def body_to_fault(body: Any, status: int, secret: str, purpose: str) -> FaultError:
    """Return the fault that a provider's message, its codes and the HTTP status together mean.

    A numeric code in ``body`` is the status of an error that came with status 200. No fault shows
    ``secret``.
    """
    message, codes = find_provider_message(body), _error_codes(body)
    words = f"{message[:_READ_CHARS]} {codes[:_READ_CHARS]}"
    shown = hide_secret_and_shorten(message or codes or "no message", secret, MAX_MESSAGE_CHARS)
    shown += " (an error instead of an answer)" if status == 200 else f" (HTTP {status})"
    implied = re.search(r"\b[45]\d\d\b", codes) if status == 200 else None
    status = int(implied[0]) if implied else status
    meaning, remedy = _find_meaning(words, status, purpose)
    reason = f"{shown}; {remedy}" if remedy else shown
    if meaning in get_args(CallFault):
        return CallFaultError(reason, cast("CallFault", meaning), meaning="stop", is_unbilled=True)
    field = _find_rejected_field(words) if status in _REFUSING_STATUS else ""
    return FaultError(
        reason, meaning=cast("Meaning", meaning), is_unbilled=True, rejected_field=field
    )


def _find_meaning(words: str, status: int, purpose: str) -> tuple[Meaning | CallFault, str]:
    """Return the meaning of an error, and what to do about it, or ""; the first rule decides."""
    is_unfit, is_down = status in {200, 400, 413, 422, *_DOWN}, status in _DOWN
    remedy = _TO_SHORTEN.get(purpose, "shorten the text")
    shorten = f"the call is too long for the model's context: {remedy}"
    rules: tuple[tuple[bool, re.Pattern[str] | None, Meaning | CallFault, str], ...] = (
        (is_unfit and purpose == "embedder", _BATCH, "batch", _TOO_MANY),
        (status == 429, _LARGE, "context", shorten),
        (is_unfit, _CONTEXT, "context", shorten),
        (status in {200, 400, 403, 413, 422}, _FILTER, "filtered", _FILTERED),
        (is_down or status in {200, 400, 404, 425, 429}, _LOADING, "loading", ""),
        (status == 429, _RETRY_IN, "limit", ""),
        (True, _MONEY, "stop", _REMEDIES[402]),
        (status == 429, None, "limit", ""),
        (is_down, None, "down", ""),
        (status in {200, 408, 409, 425}, None, "retry", ""),
        (300 <= status < 400, None, "stop", _MOVED),
        (True, None, "stop", _REMEDIES.get(status, "")),
    )
    return next(
        (meaning, remedy)
        for applies, form, meaning, remedy in rules
        if applies and (form is None or form.search(words))
    )


def _find_rejected_field(words: str) -> str:
    """Return the field of a request that an error rejects, or ""."""
    fields = (f for f, form in _REFUSED_FIELDS.items() if re.search(form, words, re.IGNORECASE))
    return next(fields, "") if _REFUSING.search(words) else ""
