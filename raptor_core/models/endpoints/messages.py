"""Interpretation of providers' errors: their messages, and the faults that they mean.

Providers agree on neither the status, the fields nor the words of an error. ``faults`` has the
classes of faults; ``answers`` parses answers that are not errors.
"""

import json
import math
import re
import time
from collections.abc import Container, Mapping, Sequence
from contextlib import suppress
from email.utils import parsedate_to_datetime
from json import JSONDecodeError
from typing import TYPE_CHECKING, Any, NamedTuple, cast, get_args

from raptor_core.models.endpoints.faults import (
    CallFault,
    CallFaultError,
    FaultError,
    Meaning,
    scrub,
)
from raptor_core.redaction import proxy_hint

if TYPE_CHECKING:
    from openai import APIStatusError

MAX_MESSAGE_CHARS = 2000
"""Maximum characters of a provider's message that an error shows."""
_READ_CHARS = 20_000
"""Maximum characters of a message that are searched, so that no error takes long."""
_FIELDS = ("message", "detail", "msg", "error_msg", "status_msg", "faultstring", "title", "reason")
_CONTAINERS = ("error", "errors", "fault", "base_resp", "exception")
_ANSWERS = ("candidates", "data", "embeddings", "role")
_CODES = ("code", "status_code", "http_code", "status", "type", "error_type", "errorCode", "param")

_CONTEXT = re.compile(
    r"context.{0,3}(?:length|window|size|limit)|maximum context|max(?:imum)? (?:sequence|input)"
    r".{0,3}length|max_(?:seq|model|sequence)_?len|exceed_context|n_ctx\b|kv cache"
    r"|(?:prompt|input|text|request|sequence|message)s?\b.{0,40}\b(?:is|are|was|has) (?:too|longer)"
    r" (?:long|large|than|many)|(?:prompt|input|message|string)s?.{0,3}too.{0,3}(?:long|large)"
    r"|too many (?:input |total )?tokens|max_(?:completion_)?tokens.{0,30}too (?:large|big|high)"
    r"|supports at most \d+|request too large|request entity"
    r" too large|payload too large|input length|length of (?:the )?(?:input|prompt|messages)"
    r"|tokens?.{0,60}(?:must (?:be|have) (?:<|less)|exceed)|exceed.{0,60}\btokens?\b"
    r"|less than \d+ tokens|longer than the (?:model|specified|maximum)|max_new_tokens"
    r"|too large to process|physical batch size|token limit|max(?:imum)? (?:number of )?tokens"
    r" allowed|\u4e0a\u4e0b\u6587\u957f\u5ea6|\u8d85\u8fc7.{0,20}\u957f\u5ea6",
    re.IGNORECASE | re.DOTALL,
)
_BATCH = re.compile(
    r"(?<!physical )batch.{0,20}(?:size|too large|limit|maximum)|too many (?:inputs|texts|items)"
    r"|at most \d+ (?:items|inputs|texts|documents|elements|requests)|array.{0,20}too long"
    r"|maximum.{0,30}(?:batch|inputs|array)|more batches|inputs? (?:array )?must have at most",
    re.IGNORECASE,
)
_RATE = re.compile(
    r"(?i)rate.?limit|too many requests|per (?:min|day|hour|second)|retry in|retry after"
    r"|resource_?exhausted|throttl"
)
_MONEY = re.compile(
    r"(?i)insufficient.{0,3}(?:quota|balance|credit|funds)|billing|credit balance|payment required"
    r"|out of credits|more credits|(?:spending|budget) limit|budget (?:has been )?exceeded"
    r"|current quota|quota_?exceeded|arrearage|overdue|balance (?:is )?(?:too low|not enough)"
    r"|\u4f59\u989d\u4e0d\u8db3|\u6b20\u8d39"
)
_KEY = re.compile(
    r"(?i)(?:invalid|incorrect|wrong|missing|no|bad|expired).{0,12}(?:api.?key|token|credential)"
    r"|unauthori[sz]ed|unauthenticated|authentication|permission.?denied|api.?key.{0,12}invalid"
)
_FILTER = re.compile(
    r"(?i)content.?(?:filter|policy|management|moderation|safety)|data.?inspection|responsible.?ai"
    r"|moderation|flagged|safety|prohibited.content|inappropriate|guardrail|usage polic"
    r"|violat.{0,30}polic"
    r"|sensitive (?:content|info|word|material)|blockreason|\u654f\u611f|\u4e0d\u5b89\u5168"
)
_LOADING = re.compile(
    r"(?i)(?<!error )(?<!failed )\bloading (?:the )?model"
    r"|model.{0,60}\b(?:is|still)\b.{0,20}\b(?:loading|warming|starting|initiali[sz]ing|not ready)"
    r"|currently loading|still loading|warming up|model_?(?:is_?)?loading"
    r"|not (?:yet )?ready|starting up|cold start|loading_?model"
)
_STATUS_OF_WORDS = (
    (_MONEY, 402),
    (_RATE, 429),
    (_KEY, 401),
    (re.compile(r"(?i)overloaded|unavailable|at capacity|server.?busy|busy"), 503),
    (re.compile(r"(?i)server.?error|internal|upstream|bad gateway|provider|timed? ?out"), 500),
    (re.compile(r"(?i)model.{0,80}not.{0,5}(?:found|exist)|unknown model|not_found"), 404),
    (re.compile(r"(?i)invalid.?request|bad.?request|validation|invalid.?(?:param|arg)"), 400),
)
"""HTTP statuses for errors that came without one, by words in the message and codes."""

_RETRY_IN = re.compile("retry in", re.IGNORECASE)
_PAY = "pay the provider, or use another key"
_SHORTEN = "the call is too long for the model's context: "
_DOWN = range(500, 600)
_UNFIT = {200, 400, 413, 422, *_DOWN}


class _Rule(NamedTuple):
    """The meaning of an error with one of these statuses and these words; None is any words."""

    meaning: Meaning | CallFault
    statuses: Container[int]
    words: re.Pattern[str] | None = None
    remedy: str = ""


_RULES = (
    _Rule("context", {429}, re.compile("request too large", re.IGNORECASE), _SHORTEN),
    _Rule("batch", _UNFIT, _BATCH, "the call has too many texts: lower embedder.batch_size"),
    _Rule("context", _UNFIT, _CONTEXT, _SHORTEN),
    _Rule(
        "filtered",
        {200, 400, 403, 413, 422},
        _FILTER,
        "the endpoint's content filter rejected the text",
    ),
    _Rule("loading", {200, 400, 404, 425, 429, 500, 502, 503}, _LOADING),
    _Rule("limit", {429}, _RETRY_IN),
    _Rule("down", _DOWN, _RETRY_IN),
    _Rule("stop", range(600), _MONEY, _PAY),
    _Rule("limit", {429}),
    _Rule("down", _DOWN),
    _Rule("retry", {200, 408, 409, 425}),
    _Rule("stop", {400}, None, "check the model's name and limits"),
    _Rule("stop", {401}, None, "check the key"),
    _Rule("stop", {402}, None, _PAY),
    _Rule("stop", {403}, None, "check that the key may use this model"),
    _Rule("stop", {404}, None, "check base_url and the model's name"),
    _Rule(
        "stop",
        range(300, 400),
        None,
        "redirects are not followed; set base_url to the final address",
    ),
    _Rule("stop", range(1000)),
)
"""Meanings of errors; the first rule that matches decides."""

_REFUSING_STATUS = frozenset({400, 404, 415, 422, 500, 501})
_UNSENT = frozenset({"ConnectError", "ConnectTimeout", "PoolTimeout"})  # of httpx
_REFUSING = re.compile(
    r"unsupported|not (?:be )?(?:supported|permitted|allowed|accepted|enabled|implemented|known)"
    r"|unknown|unrecognized|unexpected|extra|deprecated|does ?n[o']t|must (?:be|alternate)|invalid"
    r"|\bonly\b|cannot|no such|unavailable",
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
_TO_SHORTEN = {
    "summarizer": "lower clustering.max_tokens or summarizer.max_tokens, "
    "or raise summarizer.context_tokens of a local model",
    "reader": "lower the token budget of the context or reader.max_tokens, "
    "or raise reader.context_tokens of a local model",
    "audit": "lower clustering.max_tokens or audit.max_tokens, "
    "or raise audit.context_tokens of a local model",
    "embedder": "lower chunking.max_tokens or summarizer.max_tokens",
}
_TITLE = re.compile(r"<title[^>]*>(.*?)</title>|<h1[^>]*>(.*?)</h1>", re.IGNORECASE | re.DOTALL)


def fault_of(error: Exception, timeout_seconds: float, secret: str, purpose: str) -> FaultError:
    """Convert an error of the client library to a fault, without ``secret`` and the request.

    An error that is neither from the client library nor from its HTTP library is raised again.
    """
    import openai

    if isinstance(error, openai.APIStatusError):
        return _status_fault(error, secret, purpose)
    if isinstance(error, openai.APIConnectionError) or _is_of_transport(error):
        return _connection_fault(error, timeout_seconds, secret)
    if type(error) is openai.APIError:  # from an event of a stream
        return fault_of_text(message_of(error.body), _codes_of(error.body), 200, secret, purpose)
    # The last three come from JSON that the library cannot parse: syntax, numbers, depth.
    if isinstance(error, openai.APIError | ValueError | OverflowError | RecursionError):
        detail = error.msg if isinstance(error, JSONDecodeError) else type(error).__name__
        return FaultError(f"the answer is not JSON ({scrub(detail, secret)})")
    raise error


def _connection_fault(error: Exception, timeout_seconds: float, secret: str) -> FaultError:
    cause = error if _is_of_transport(error) else error.__cause__
    kind = type(cause).__name__
    unsent = kind in _UNSENT
    if kind.endswith("Timeout"):
        seconds = f"no answer within {timeout_seconds:g} s"
        reason = f"{seconds}; raise timeout_seconds if the server is slow"
        return FaultError(reason, meaning="down", unbilled=unsent)
    detail = f"{kind}: {cause}"
    hint = proxy_hint(str(error.request.url))  # type: ignore[attr-defined]  # both libraries have it
    if "CERTIFICATE_VERIFY_FAILED" in detail:
        hint += "; set SSL_CERT_FILE to the certificates of the authority that signed it"
    reason = f"the connection failed ({scrub(detail, secret)}){hint}"
    return FaultError(reason, meaning="down", unbilled=unsent)


def _is_of_transport(error: Exception) -> bool:
    """Return whether an error comes from the HTTP library, whose name depends on the release."""
    return type(error).__module__.partition(".")[0] in {"httpx", "httpx2"}


def retry_after_seconds(headers: Mapping[str, str], now: float) -> float | None:
    """Return the wait that an endpoint requests, or None; ``now`` is in seconds since 1970 UTC."""
    milliseconds = number(headers.get("retry-after-ms"))
    if milliseconds is not None:
        return max(0.0, milliseconds / 1000)
    value = headers.get("retry-after")
    seconds = number(value)
    if seconds is not None:
        return max(0.0, seconds)
    try:
        return max(0.0, parsedate_to_datetime(value or "").timestamp() - now)
    except ValueError:
        return None


def number(value: str | None) -> float | None:
    """Parse a finite number; return None for anything else."""
    try:
        parsed = float(value or "nan")
    except ValueError:
        return None
    return parsed if math.isfinite(parsed) else None


def parse(body: bytes) -> Any:
    """Parse the body of an answer as JSON; return it as text if it is not JSON."""
    with suppress(ValueError, RecursionError):
        return json.loads(body, strict=False)
    return body.decode("utf-8", "replace").strip()


def check_error(answer: Any, secret: str, purpose: str) -> None:
    """Raise a fault if an answer with status 200 is an error."""
    if isinstance(answer, str):
        raise _page_fault(answer, secret)
    body = answer[0] if isinstance(answer, list) and answer else answer
    if not isinstance(body, Mapping):
        return
    choices = body.get("choices")
    first = choices[0] if isinstance(choices, list) and choices else None
    parts = [body, first] if isinstance(first, Mapping) else [body]
    errors = [part.get(key) for part in parts for key in _CONTAINERS]
    has_answer = first or any(body.get(key) for key in _ANSWERS)
    has_answer = has_answer or isinstance(body.get("message"), Mapping)
    errors += [] if has_answer else [body]
    error = next((error for error in errors if message_of(error) and not _is_success(error)), None)
    if error is not None:
        codes = f"{_codes_of(error)} {_codes_of(body)}"
        fault = fault_of_text(message_of(error), codes, 200, secret, purpose)
        fault.unbilled = not first
        raise fault


def _is_success(error: Any) -> bool:
    """Return whether this is a status object for success, which some providers add to answers."""
    return isinstance(error, Mapping) and error.get("status_code") == 0


def message_of(body: Any) -> str:
    """Return a provider's message, wherever it is in ``body``, or ""."""
    if isinstance(body, str):
        parsed = parse(body.encode("utf-8", "replace")) if body.lstrip()[:1] in {"{", "["} else ""
        return (message_of(parsed) if isinstance(parsed, dict | list) else "") or body.strip()
    if isinstance(body, Sequence) and not isinstance(body, bytes):
        return "; ".join(filter(None, map(message_of, body[:3])))
    if not isinstance(body, Mapping):
        return ""
    keys = (*_CONTAINERS, *_FIELDS, "Message", "Error", "error_description")
    message = next((text for key in keys if (text := message_of(body.get(key)))), "")
    metadata = body.get("metadata")
    raw = message_of(metadata.get("raw")) if isinstance(metadata, Mapping) else ""
    where = body.get("loc")  # FastAPI names the field only here
    place = ".".join(map(str, where)) if message and isinstance(where, list) else ""
    parts = [part for part in (place, message, raw) if part]
    return ": ".join(parts) or str(body.get("code") or body.get("type") or "")


def _codes_of(error: Any) -> str:
    """Return the codes and types of an error in one line."""
    if isinstance(error, Sequence) and not isinstance(error, str):
        error = error[0] if error else None
    if not isinstance(error, Mapping):
        return ""
    inner = [_codes_of(error.get(key)) for key in (*_CONTAINERS, "innererror", "metadata")]
    values = (error.get(key) for key in _CODES)
    return " ".join([*(f"{value}" for value in values if isinstance(value, str | int)), *inner])


def fault_of_text(message: str, codes: str, status: int, secret: str, purpose: str) -> FaultError:
    """Return the fault that a provider's message, its codes and the HTTP status together mean.

    If ``status`` is 200, the status is derived from codes or words. No fault shows ``secret``.
    """
    words = f"{message[:_READ_CHARS]} {codes[:_READ_CHARS]}"
    shown = scrub(message or codes.strip() or "no message", secret, MAX_MESSAGE_CHARS)
    shown += " (an error instead of an answer)" if status == 200 else f" (HTTP {status})"
    status = _implied_status(words, codes) if status == 200 else status
    rule = next(rule for rule in _RULES if _matches(rule, words, status, purpose))
    remedy = rule.remedy
    if remedy == _SHORTEN:
        remedy += _TO_SHORTEN.get(purpose, "shorten the text")
    field = _refused_field(words) if status in _REFUSING_STATUS else ""
    reason = f"{shown}; {remedy}" if remedy else shown
    if rule.meaning in get_args(CallFault):
        return CallFaultError(
            reason, cast("CallFault", rule.meaning), meaning="stop", unbilled=True
        )
    return FaultError(reason, meaning=cast("Meaning", rule.meaning), unbilled=True, field=field)


def _matches(rule: _Rule, words: str, status: int, purpose: str) -> bool:
    if status not in rule.statuses or (rule.meaning == "batch" and purpose != "embedder"):
        return False
    return rule.words is None or rule.words.search(words) is not None


def _refused_field(words: str) -> str:
    """Return the field of a request that an error rejects, or ""."""
    fields = (f for f, form in _REFUSED_FIELDS.items() if re.search(form, words, re.IGNORECASE))
    return next(fields, "") if _REFUSING.search(words) else ""


def _implied_status(words: str, codes: str) -> int:
    """Return the status that the codes or the words of an error imply, or 200."""
    numbers = (int(code) for code in re.findall(r"\b[45]\d\d\b", codes))
    by_words = (status for pattern, status in _STATUS_OF_WORDS if pattern.search(words))
    return next(numbers, None) or next(by_words, 200)


def _status_fault(error: "APIStatusError", secret: str, purpose: str) -> FaultError:
    response = error.response
    body = parse(response.content)
    message = message_of(body)
    if page := _TITLE.search(message[:_READ_CHARS]):
        message = f"{(page[1] or page[2]).strip()}, an HTML page"
    fault = fault_of_text(message, _codes_of(body), error.status_code, secret, purpose)
    estimated = body.get("estimated_time") if isinstance(body, Mapping) else None
    requested = retry_after_seconds(response.headers, time.time())
    fault.retry_after_seconds = number(str(estimated)) if requested is None else requested
    return fault


def _page_fault(page: str, secret: str) -> FaultError:
    """Return the fault of an answer that is a text, such as a page of a gateway, and not JSON."""
    title = _TITLE.search(page[:_READ_CHARS])
    if title is None and "<html" not in page[:1000].lower():
        return FaultError(f"the answer is not JSON ({scrub(page, secret) or 'an empty body'})")
    shown = scrub((title[1] or title[2]) if title else page, secret)
    return FaultError(
        f"{shown} (an HTML page instead of JSON); check base_url, which often ends with /v1, and "
        "the proxy in front of the endpoint"
    )
