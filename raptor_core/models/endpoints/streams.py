"""Joining of the events of a streamed chat answer.

The client library parses the events; ``answers`` parses the joined answer.
"""

from collections.abc import Callable, Mapping
from typing import Any

from raptor_core.models.endpoints.faults import FaultError

Watch = Callable[[str], object]
"""A function that receives the text of an answer so far, each time that it has grown."""

_ERRORS = ("message", "detail", "msg")
_TEXTS = ("content", "reasoning_content", "reasoning", "thinking", "refusal")


class StreamedAnswer:
    """An answer that is joined from events as they arrive."""

    def __init__(self, watch: Watch | None = None) -> None:
        self._watch = watch
        self._joined: dict[str, Any] = {}
        self._message: dict[str, Any] = {"role": "assistant"}
        self._choice = {"index": 0, "message": self._message, "finish_reason": None}

    def add(self, event: Any) -> None:
        """Add an event; raise FaultError if it is malformed."""
        if not isinstance(event, Mapping):
            raise FaultError("the answer is malformed: an event of its stream is not a JSON object")
        if "choices" not in event and any(isinstance(event.get(key), str) for key in _ERRORS):
            self._joined["error"] = dict(event)
        self._joined.update({key: value for key, value in event.items() if value is not None})
        choices = event.get("choices")
        first = choices[0] if isinstance(choices, list) and choices else None
        if not isinstance(first, Mapping) or first.get("index") not in {0, None}:
            return
        previous = self._message.get("content")
        if isinstance(delta := first.get("delta"), Mapping):
            self._add_delta(delta)
        for key in ("finish_reason", "error"):
            self._choice[key] = first.get(key) or self._choice.get(key)
        text = self._message.get("content")
        if self._watch is not None and isinstance(text, str) and text != previous:
            self._watch(text)

    def _add_delta(self, delta: Mapping[str, Any]) -> None:
        for key, value in delta.items():
            previous = self._message.get(key)
            if key in _TEXTS and isinstance(value, str) and isinstance(previous, str):
                self._message[key] = previous + value
            elif key in _TEXTS and (isinstance(value, list) or isinstance(previous, list)):
                self._message[key] = [*_to_list(previous), *_to_list(value)]
            elif value:
                self._message[key] = value

    def join_events(self) -> dict[str, Any]:
        """Return the answer or its error; raise FaultError if the stream broke off."""
        choice = self._choice
        if choice["finish_reason"] or choice.get("error") or self._joined.get("error"):
            return {**self._joined, "choices": [choice]}
        reason = "the connection ended in the middle of a streamed answer"
        raise FaultError(reason, meaning="down")


def _to_list(value: Any) -> list[Any]:
    return value if isinstance(value, list) else [value] if value else []
