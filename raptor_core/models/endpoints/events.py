"""Streams of chat answers as server-sent events, joined into the answer that they are parts of.

``transport`` reads the bytes with their time limits, ``answers`` reads the joined answer.
"""

import json
import re
from collections.abc import Iterator, Mapping
from typing import Any

from raptor_core.models.endpoints.faults import FaultError
from raptor_core.models.endpoints.messages import parse

DONE = "[DONE]"
"""Data of the event that ends a stream."""

_TOKEN = re.compile(
    rb'"(?:content|text|reasoning|reasoning_content|thinking|arguments|refusal)"\s*:\s*(?:"[^"]|\[)'
)
_LINE_END = re.compile(r"\r\n|\n|\r")  # not ``splitlines``, which ends lines within texts
_ERRORS = ("message", "detail", "msg")
_TEXTS = ("content", "reasoning_content", "reasoning", "thinking", "refusal")


def is_stream(content_type: str, body: bytes | bytearray) -> bool:
    """Return whether an answer is a stream of events, by its type or its beginning."""
    start = body.lstrip()[:6]
    return "event-stream" in content_type.lower() or start.startswith((b"data:", b"event:"))


def holds_token(chunk: bytes) -> bool:
    """Return whether a piece of a stream holds a part of the answer, not only a sign of life."""
    return _TOKEN.search(chunk) is not None or b'"error"' in chunk or b"[DONE]" in chunk


def join_events(body: bytes) -> bytes:
    """Return the JSON of the joined answer, or of its error; a broken stream raises FaultError."""
    joined: dict[str, Any] = {}
    choice: dict[str, Any] = {"index": 0, "message": {"role": "assistant"}, "finish_reason": None}
    is_complete = is_chat = False
    for data in _events(body):
        if data.strip() == DONE:
            is_complete = True
            break
        event = parse(data.encode())
        if not isinstance(event, Mapping):
            raise FaultError("the answer is malformed: an event of its stream is no JSON object")
        is_chat = is_chat or "choices" in event
        if "choices" not in event and any(isinstance(event.get(key), str) for key in _ERRORS):
            joined["error"] = dict(event)
        joined.update({key: value for key, value in event.items() if value is not None})
        _add(choice, event)
    if joined and not is_chat:
        return json.dumps(joined).encode()  # an error instead of a stream
    is_over = choice["finish_reason"] or choice.get("error") or joined.get("error")
    if not is_complete and not is_over:
        raise FaultError("the connection ended in the middle of a streamed answer", is_down=True)
    return json.dumps({**joined, "choices": [choice]}).encode()


def _events(body: bytes) -> Iterator[str]:
    """Yield the data of each event; comments and other fields are left out."""
    lines: list[str] = []
    for line in [*_LINE_END.split(body.decode("utf-8", "replace").lstrip("\ufeff")), ""]:
        if line.startswith("data:"):
            lines.append(line.removeprefix("data:").removeprefix(" "))
        elif not line.strip() and lines:
            yield "\n".join(lines)
            lines = []


def _add(choice: dict[str, Any], event: Mapping[str, Any]) -> None:
    """Add the parts of an event to the choice."""
    choices = event.get("choices")
    first = choices[0] if isinstance(choices, list) and choices else None
    if not isinstance(first, Mapping) or first.get("index") not in {0, None}:
        return
    message = choice["message"]
    delta = first.get("delta")
    complete = first.get("message")
    if isinstance(complete, Mapping) and not message.get("content"):
        message.update(complete)
    elif isinstance(delta, Mapping):
        _add_delta(message, delta)
    elif isinstance(first.get("text"), str):
        message["content"] = message.get("content", "") + first["text"]
    for key in ("finish_reason", "error"):
        choice[key] = first.get(key) or choice.get(key)


def _add_delta(message: dict[str, Any], delta: Mapping[str, Any]) -> None:
    for key, value in delta.items():
        previous = message.get(key)
        if key in _TEXTS and isinstance(value, str) and isinstance(previous, str):
            message[key] = previous + value
        elif key in _TEXTS and (isinstance(value, list) or isinstance(previous, list)):
            message[key] = [*_parts(previous), *_parts(value)]
        elif value:
            message[key] = value


def _parts(value: Any) -> list[Any]:
    return value if isinstance(value, list) else [value] if value else []
