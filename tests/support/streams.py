"""Events of streamed chat answers, as endpoints send them."""

from __future__ import annotations

import json
from typing import Any

HEAD = b"HTTP/1.1 200 OK\r\nContent-Type: text/event-stream\r\nConnection: close\r\n\r\n"
DONE = b"data: [DONE]\n\n"


def event(content: str | None = None, finish: str | None = None, **fields: Any) -> bytes:
    """An event with a piece of the text, a reason for the end, or other fields."""
    delta = {} if content is None else {"content": content}
    return data({"choices": [{"index": 0, "delta": {**delta, **fields}, "finish_reason": finish}]})


def data(value: Any) -> bytes:
    """An event of any value."""
    return b"data: " + json.dumps(value).encode() + b"\n\n"


USAGE = data({"choices": [], "usage": {"prompt_tokens": 7, "completion_tokens": 3}})
