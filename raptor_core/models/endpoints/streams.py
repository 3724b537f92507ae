"""Streamed chat answers: their events, joined into the answer that they are parts of.

The vendor's client hides whether a stream reached its end, so its events are read here.
``answers`` reads the joined answer.
"""

import re
from collections.abc import Iterable, Iterator, Mapping
from itertools import chain
from typing import Any

from raptor_core.models.endpoints.faults import FaultError
from raptor_core.models.endpoints.messages import parse

DONE = "[DONE]"
"""Event that ends a stream."""

_LINE_END = re.compile(rb"\r\n|\n|\r")
_ERRORS = ("message", "detail", "msg")
_TEXTS = ("content", "reasoning_content", "reasoning", "thinking", "refusal")


def read_events(chunks: Iterable[bytes]) -> Iterator[Any]:
    """Yield the parsed data of each server-sent event, one line each; DONE is text."""
    rest = b""
    for chunk in chain(chunks, (b"\n",)):
        *lines, rest = _LINE_END.split(rest + chunk)
        for line in lines:
            if line.startswith(b"data:"):
                yield parse(line.removeprefix(b"data:"))


def join_events(events: Iterable[Any]) -> dict[str, Any]:
    """Return the joined answer, or its error; a broken stream raises FaultError."""
    joined: dict[str, Any] = {}
    choice: dict[str, Any] = {"index": 0, "message": {"role": "assistant"}, "finish_reason": None}
    is_complete = is_chat = False
    for event in events:
        if event == DONE:
            is_complete = True
            break
        if not isinstance(event, Mapping):
            raise FaultError("the answer is malformed: an event of its stream is no JSON object")
        is_chat = is_chat or "choices" in event
        if "choices" not in event and any(isinstance(event.get(key), str) for key in _ERRORS):
            joined["error"] = dict(event)
        joined.update({key: value for key, value in event.items() if value is not None})
        _add(choice, event)
    if joined and not is_chat:
        return joined  # an error instead of a stream
    is_over = choice["finish_reason"] or choice.get("error") or joined.get("error")
    if not is_complete and not is_over:
        raise FaultError("the connection ended in the middle of a streamed answer", meaning="down")
    return {**joined, "choices": [choice]}


def _add(choice: dict[str, Any], event: Mapping[str, Any]) -> None:
    """Add the parts of an event to the choice."""
    choices = event.get("choices")
    first = choices[0] if isinstance(choices, list) and choices else None
    if not isinstance(first, Mapping) or first.get("index") not in {0, None}:
        return
    message, delta, complete = choice["message"], first.get("delta"), first.get("message")
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
