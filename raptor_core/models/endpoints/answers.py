"""Parsing of answers, which returns a complete text, vectors or scores, or raises a fault.

An answer is JSON, whether it comes from an endpoint, a batch or a model in this process.
``messages`` parses errors, ``texts`` removes reasoning and other wrappers from a text.
"""

import base64
import math
import re
from collections.abc import Mapping
from typing import Any

import numpy as np

from raptor_core.models.endpoints.faults import CallFaultError, FaultError, hide_secret_and_shorten
from raptor_core.models.endpoints.messages import raise_if_error_answer
from raptor_core.models.endpoints.texts import remove_reasoning, to_storable_text, trim_answer
from raptor_core.models.endpoints.values import ChatModelRequest
from raptor_core.models.money.usage import Usage, estimate_tokens
from raptor_core.vectors import Vectors

MAX_TEXT_CHARS = 400_000
"""Maximum length of an answer, many times the longest that any part of a build requests."""

_FINISH_REASONS = (
    ("cut off", r"length|max_|limit|window|incomplete"),
    ("filtered", r"filter|safety|recitation|blocklist|prohibited|spii|sensitive|guardrail|toxic"),
    ("refused", r"refus"),
    ("called a tool", r"tool|function"),
    ("broken off", r"error|abort|cancel|timeout|load|insufficient"),
    ("finished", r"stop|eos|\bend|complete|finish|done|normal|success|none|null|unspecified|^$"),
)
"""Meanings of finish reasons by words in them; the first that matches decides."""
_LETTER = re.compile(r"\w")
_REASONING = ("reasoning_content", "reasoning", "thinking", "reasoning_details", "thinking_blocks")
_REASONING_PARTS = frozenset({"thinking", "reasoning", "redacted_thinking", "reasoning_text"})
_WRAPPERS = ("data", "result", "response", "output", "body")


def read_usage(answer: Any, prompt_tokens: int) -> Usage:
    """Return the usage that an endpoint reports, or else ``prompt_tokens`` and an estimate."""
    usage = _json_fields(_json_fields(answer).get("usage"))
    counts = [_to_count(usage.get(key)) for key in ("prompt_tokens", "completion_tokens")]
    if any(counts):
        return Usage(1, *counts)
    text, _ = _message_text(_json_fields(_first_choice(answer).get("message")))
    n_tokens = estimate_tokens(text) if text else 0
    return Usage(calls=1, prompt_tokens=prompt_tokens, completion_tokens=n_tokens)


def read_chat(answer: Any, secret: str = "", purpose: str = "summarizer") -> str:
    """Return the text of a complete chat answer, without reasoning and other wrappers.

    ``answer`` is parsed JSON, or a text that is not JSON. No fault shows the key ``secret``.

    Raises:
        CallFaultError: the answer is refused, filtered, cut off, or contains no text.
        FaultError: the answer is an error of the endpoint, or malformed.
    """
    raise_if_error_answer(answer, secret, purpose)
    choice = _first_choice(answer)
    message = _json_fields(choice.get("message"))
    if not message:
        raise _malformed_answer_fault("message", answer, secret)
    refusal = message.get("refusal")
    raw, refused = _message_text(message)
    if refusal or refused:
        shown = hide_secret_and_shorten(str(refusal or refused), secret)
        raise CallFaultError(f"the model refused: {shown}", "refused")
    if len(raw) > MAX_TEXT_CHARS:
        raise CallFaultError(
            f"the answer has {len(raw):,} characters, expected at most {MAX_TEXT_CHARS:,}",
            "degenerate",
            is_too_long=True,
        )
    text, is_open = remove_reasoning(to_storable_text(raw))
    text = "" if is_open else trim_answer(text)
    _check_finish_reason(_finish_reason(choice, message), text, secret, purpose)
    if not _LETTER.search(text):
        raise _empty_answer_fault(
            answer, message, purpose, has_reasoning=is_open or bool(raw.strip())
        )
    return text


def read_trimmed_chat(
    answer: Any, ask: ChatModelRequest, secret: str = "", purpose: str = "summarizer"
) -> tuple[str, bool]:
    """Return the part of an answer that ``ask.trim`` keeps, and whether the rest is missing.

    Raises:
        FaultError: no part of the answer is usable.
    """
    cut: CallFaultError | None = None
    try:
        text = read_chat(answer, secret, purpose)
    except CallFaultError as fault:
        text, cut = fault.partial_text, fault
    kept = ask.trim(text, cut is not None) if text else ""
    if cut is not None and not kept:
        raise cut
    ask.check(kept)
    return kept, cut is not None or kept != text


def _malformed_answer_fault(content: str, answer: Any, secret: str) -> FaultError:
    shown = hide_secret_and_shorten(str(answer), secret)
    return FaultError(f"the answer is malformed: it contains no {content} ({shown})")


def _json_fields(value: Any) -> Mapping[str, Any]:
    """Return the fields of a JSON object; empty if the value is not an object."""
    return value if isinstance(value, Mapping) else {}


def _first_choice(answer: Any) -> Mapping[str, Any]:
    """Return the first choice of an answer with its message, in the shapes of all providers."""
    fields = _json_fields(answer[0] if isinstance(answer, list) and answer else answer)
    choices = fields.get("choices") or fields.get("candidates")
    if isinstance(choices, list) and choices:
        choice = _json_fields(choices[0])
        message = choice.get("message") or choice.get("delta")
        content = choice.get("text") or choice.get("content")
        if not _json_fields(message) and content:
            message = {"content": content}
        return {**choice, "message": message}
    if _json_fields(fields.get("message")):
        return {**fields, "finish_reason": fields.get("done_reason")}
    if fields.get("role") == "assistant":
        return {**fields, "message": fields}
    inner = (value for key in _WRAPPERS if _json_fields(value := fields.get(key)).get("choices"))
    return _first_choice(next(inner, None)) if fields else {}


def _message_text(message: Mapping[str, Any]) -> tuple[str, str]:
    """Return the text of a message, without reasoning parts, and the refusal in its parts."""
    content = message.get("content")
    if isinstance(content, str):
        return content, ""
    if isinstance(content, Mapping):
        content = content.get("parts", [content])
    texts, refusals = [], []
    for part in content if isinstance(content, list) else ():
        fields = _json_fields(part)
        text = part if isinstance(part, str) else fields.get("text", fields.get("content"))
        if fields.get("refusal"):
            refusals.append(str(fields["refusal"]))
        is_reasoning = fields.get("type") in _REASONING_PARTS or fields.get("thought") is True
        if isinstance(text, str) and not is_reasoning:
            texts.append(text)
    return "".join(texts), "; ".join(refusals)


def _finish_reason(choice: Mapping[str, Any], message: Mapping[str, Any]) -> str:
    """Return the finish reason in lower case, or ""."""
    keys = ("finish_reason", "finishReason", "stop_reason", "finish_details")
    reason = next((choice[key] for key in keys if key in choice), None)
    is_call = message.get("tool_calls") or message.get("function_call")
    if not reason and is_call and not message.get("content"):
        return "tool_calls"
    return str(reason or "").lower()


def _check_finish_reason(finish: str, text: str, secret: str, purpose: str) -> None:
    """Raise a fault unless the finish reason means that the answer is complete."""
    forms = (meaning for meaning, form in _FINISH_REASONS if re.search(form, finish))
    meaning = next(forms, "unknown")
    shown = hide_secret_and_shorten(repr(finish), secret)
    if meaning == "cut off":
        remedy = "" if text else f" within its reasoning; {_reasoning_remedy(purpose)}"
        reason = f"the answer was cut off at its token limit{remedy}"
        raise CallFaultError(reason, "cut off", text, is_too_long=True)
    if meaning == "filtered":
        raise CallFaultError("the endpoint's content filter stopped the answer", "filtered")
    if meaning == "refused":
        raise CallFaultError(
            f"the model refused: {hide_secret_and_shorten(text, secret)}", "refused"
        )
    if meaning == "broken off":
        raise FaultError(f"the endpoint broke off the answer ({shown})")
    if meaning == "called a tool":
        raise CallFaultError(f"the model called a tool ({shown}) instead of answering", "empty")
    if meaning != "finished":
        raise CallFaultError(f"the answer ended with {shown}, expected 'stop'")


def _empty_answer_fault(
    answer: Any, message: Mapping[str, Any], purpose: str, *, has_reasoning: bool
) -> CallFaultError:
    """Return the fault of an answer without text, with a remedy if it contains reasoning."""
    details = _json_fields(
        _json_fields(_json_fields(answer).get("usage")).get("completion_tokens_details")
    )
    counted = _to_count(details.get("reasoning_tokens")) > 0
    if has_reasoning or counted or any(message.get(key) for key in _REASONING):
        remedy = _reasoning_remedy(purpose)
        return CallFaultError(f"the answer is empty except for reasoning: {remedy}", "empty")
    return CallFaultError("the answer is empty", "empty")


def _reasoning_remedy(purpose: str) -> str:
    return (
        f"raise {purpose}.max_tokens, which includes reasoning, or switch off reasoning at the "
        "endpoint"
    )


def read_embeddings(answer: Any, n_texts: int, secret: str) -> Vectors:
    """Return vectors in the texts' order, ``(n_texts, n_dims)`` float32, or raise FaultError.

    Vectors that are not finite are returned, too, because they may concern only one text.
    """
    items = _vector_items(answer)
    if items is None:
        raise _malformed_answer_fault("vectors", answer, secret)
    indexes = [_json_fields(item).get("index") for item in items]
    if all(index is None for index in indexes):
        indexes = list(range(len(items)))
    by_index = {i: item for i, item in zip(indexes, items, strict=True) if isinstance(i, int)}
    if len(items) != n_texts or any(index not in by_index for index in range(n_texts)):
        raise FaultError(f"expected vectors 0 to {n_texts - 1}, got {len(items)} vectors")
    vectors = [_parse_vector(by_index[index]) for index in range(n_texts)]
    lengths = sorted({len(vector) for vector in vectors})
    if len(lengths) != 1 or lengths[0] == 0:
        raise FaultError(f"vectors of lengths {lengths}, expected one length above 0")
    return np.stack(vectors)


def read_scores(answer: Any, n_texts: int, secret: str) -> list[float]:
    """Return the scores of texts in order, from Cohere's format or a list, or raise FaultError."""
    items = answer if isinstance(answer, list) else _json_fields(answer).get("results")
    if not isinstance(items, list):
        raise _malformed_answer_fault("scores", answer, secret)
    scores = {
        item["index"]: item.get("relevance_score", item.get("score"))
        for item in map(_json_fields, items)
        if isinstance(item.get("index"), int)
    }
    found = [scores.get(index) for index in range(n_texts)]
    numbers = [float(s) for s in found if isinstance(s, int | float) and math.isfinite(s)]
    if len(numbers) != n_texts:
        raise FaultError(f"expected scores 0 to {n_texts - 1}, got {len(numbers)} finite scores")
    return numbers


def _vector_items(answer: Any) -> list[Any] | None:
    """Return the items of an answer, each of which contains a vector, or None."""
    fields = _json_fields(answer)
    lists = (fields.get("data"), fields.get("embeddings"), answer)
    return next((value for value in lists if isinstance(value, list)), None)


def _parse_vector(item: Any) -> Vectors:
    """Parse a vector that was sent as base64 of little-endian float32, or as a list of numbers."""
    value = _json_fields(item).get("embedding") if isinstance(item, Mapping) else item
    try:
        if isinstance(value, str):
            raw = base64.b64decode(value, validate=True)
            return np.frombuffer(raw, dtype="<f4").astype(np.float32)
        return np.asarray(value, dtype=np.float32).reshape(-1)
    except (ValueError, TypeError, OverflowError):
        reason = "a vector is neither base64 nor a list of numbers"
    raise FaultError(reason)


_MAX_TOKENS = 10**9
"""Largest plausible token count of a request."""


def _to_count(value: Any) -> int:
    return value if isinstance(value, int) and 0 <= value <= _MAX_TOKENS else 0
