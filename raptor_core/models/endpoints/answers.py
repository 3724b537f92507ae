"""Readers of an endpoint's answers, which raise a fault for any that is not complete."""

from __future__ import annotations

import base64
from typing import Any

import numpy as np

from raptor_core.models.endpoints.faults import CallFaultError, FaultError, scrub
from raptor_core.models.money.usage import Usage, estimate_tokens
from raptor_core.vectors import Vectors


def read_usage(response: Any, prompt_tokens: int) -> Usage:
    """Return the usage of a call by the endpoint's count, or ``prompt_tokens`` and an estimate."""
    usage = getattr(response, "usage", None)
    counted = Usage(
        calls=1,
        prompt_tokens=_count(getattr(usage, "prompt_tokens", None)),
        completion_tokens=_count(getattr(usage, "completion_tokens", None)),
    )
    if counted.tokens:
        return counted
    text = getattr(_message(response), "content", None)
    n_tokens = estimate_tokens(text) if isinstance(text, str) else 0
    return Usage(calls=1, prompt_tokens=prompt_tokens, completion_tokens=n_tokens)


def read_chat(response: Any, secret: str) -> str:
    """Return the stripped text of a complete chat answer; no fault shows ``secret``.

    Raises:
        FaultError: malformed, refused, filtered, truncated, empty, or ended for a different reason.
    """
    message = _message(response)
    if message is None:
        raise FaultError(
            f"the answer is malformed: it holds no message ({scrub(str(response), secret)})"
        )
    refusal = getattr(message, "refusal", None)
    if refusal:
        reason = f"the model refused: {scrub(str(refusal), secret)}"
        raise CallFaultError(reason, kind="refused")
    finish = response.choices[0].finish_reason
    if finish == "length":
        text = message.content.strip() if isinstance(message.content, str) else ""
        reason = "the answer was cut off at its token limit"
        raise CallFaultError(reason, kind="cut off", text=text, too_long=True)
    if finish == "content_filter":
        raise CallFaultError("the endpoint's content filter stopped the answer", kind="filtered")
    text = message.content
    if not isinstance(text, str) or not text.strip():
        raise CallFaultError("the answer is empty", kind="empty")
    if finish != "stop":
        raise FaultError(f"the answer ended by {scrub(repr(finish), secret)}, expected 'stop'")
    return text.strip()


def _message(response: Any) -> Any:
    choices: Any = getattr(response, "choices", None)
    first = choices[0] if isinstance(choices, list) and choices else None
    message = getattr(first, "message", None)
    return message if hasattr(message, "content") else None


def read_embeddings(response: Any, n_texts: int, secret: str) -> Vectors:
    """Return the vectors in the order of the texts, shape ``(n_texts, n_dims)``, float32.

    Raises:
        FaultError: malformed, a vector is missing, or one is not of finite numbers.
    """
    data = getattr(response, "data", None)
    if not isinstance(data, list):
        raise FaultError(
            f"the answer is malformed: it holds no vectors ({scrub(str(response), secret)})"
        )
    indexed = [(getattr(item, "index", None), getattr(item, "embedding", None)) for item in data]
    by_index = {index: vector for index, vector in indexed if isinstance(index, int)}
    if len(data) != n_texts or any(index not in by_index for index in range(n_texts)):
        raise FaultError(f"expected vectors 0 to {n_texts - 1}, got {len(data)} vectors")
    vectors = [_vector(by_index[index]) for index in range(n_texts)]
    lengths = sorted({len(vector) for vector in vectors})
    if len(lengths) != 1 or lengths[0] == 0:
        raise FaultError(f"vectors of lengths {lengths}, expected one length above 0")
    stacked = np.stack(vectors)
    if not np.isfinite(stacked).all():
        raise FaultError("a vector holds numbers that are not finite")
    return stacked


def _vector(value: Any) -> Vectors:
    """Read a vector that was sent as base64 of little-endian float32, or as a list of numbers."""
    try:
        if isinstance(value, str):
            raw = base64.b64decode(value, validate=True)
            return np.frombuffer(raw, dtype="<f4").astype(np.float32)
        return np.asarray(value, dtype=np.float32).reshape(-1)
    except (ValueError, TypeError, OverflowError):
        reason = "a vector is neither base64 nor a list of numbers"
    raise FaultError(reason)


_MAX_TOKENS = 10**9
"""Maximum of a plausible count in a request."""


def _count(value: Any) -> int:
    return value if isinstance(value, int) and 0 <= value <= _MAX_TOKENS else 0
