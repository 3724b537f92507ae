"""Streamed chat answers: their events, joined into the answer that they are parts of.

The vendor's client hides whether a stream reached its end, so its events are read here.
``answers`` reads the joined answer.
"""

import re
from collections.abc import Callable, Iterable, Iterator, Mapping
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


Watch = Callable[[str], object]
"""Function that gets the text of an answer so far, each time that it has grown."""


def join_events(events: Iterable[Any], watch: Watch | None = None) -> dict[str, Any]:
    """Return the joined answer, or its error; a broken stream raises FaultError."""
    answer = StreamedAnswer(watch)
    for event in events:
        answer.add(event)
        if answer.is_complete:
            break
    return answer.joined()


class StreamedAnswer:
    """Answer that is joined from its events, while they come."""

    def __init__(self, watch: Watch | None = None) -> None:
        self.is_complete = False
        self._watch = watch
        self._joined: dict[str, Any] = {}
        self._message: dict[str, Any] = {"role": "assistant"}
        self._choice = {"index": 0, "message": self._message, "finish_reason": None}
        self._is_chat = False

    def add(self, event: Any) -> None:
        """Add an event; raise FaultError if it is none."""
        if event == DONE:
            self.is_complete = True
            return
        if not isinstance(event, Mapping):
            raise FaultError("the answer is malformed: an event of its stream is no JSON object")
        self._is_chat = self._is_chat or "choices" in event
        if "choices" not in event and any(isinstance(event.get(key), str) for key in _ERRORS):
            self._joined["error"] = dict(event)
        self._joined.update({key: value for key, value in event.items() if value is not None})
        previous = self._message.get("content")
        _add(self._choice, event)
        text = self._message.get("content")
        if self._watch is not None and isinstance(text, str) and text != previous:
            self._watch(text)

    def joined(self) -> dict[str, Any]:
        """Return the answer or its error; raise FaultError for a broken stream."""
        if self._joined and not self._is_chat:
            return self._joined  # an error instead of a stream
        choice = self._choice
        is_over = choice["finish_reason"] or choice.get("error") or self._joined.get("error")
        if not self.is_complete and not is_over:
            reason = "the connection ended in the middle of a streamed answer"
            raise FaultError(reason, meaning="down")
        return {**self._joined, "choices": [choice]}


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
