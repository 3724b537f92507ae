"""Speed of a local model on this machine, from one short request."""

import platform
from pathlib import Path
from typing import NamedTuple

from raptor_core.blas import n_cores
from raptor_core.models.local.engine import engine_of
from raptor_core.models.local.records import add_record, read_record
from raptor_core.settings.base import ChatPart

_PROMPT = "The keeper lit the lamp at dusk and wrote the hour into the book. " * 16
_ANSWER_TOKENS = 24
_SLOWEST = 0.01


class Speed(NamedTuple):
    """Tokens a second of a model: of prompts that it reads, and of answers that it writes."""

    read: float
    written: float

    def seconds(self, prompt_tokens: int, completion_tokens: int) -> float:
        """Return the seconds that calls with these tokens take."""
        return prompt_tokens / self.read + completion_tokens / self.written


def speed_of(part: ChatPart, records: Path | None = None) -> Speed:
    """Return the speed of a local model, measured once for each file, machine and thread number.

    Raises:
        MissingExtraError, ModelError: the model cannot be loaded.
    """
    key = machine_key(part)
    match read_record(records, "speeds").get(key):
        case [float(read), float(written)] if read > 0 and written > 0:
            return Speed(read, written)
    speed = measure(part)
    add_record(records, "speeds", key, list(speed))
    return speed


def machine_key(part: ChatPart) -> str:
    """Return the key of a model's speed: file, machine and number of threads."""
    return f"{part.sha256} {platform.node()} {part.threads or n_cores()}"


def measure(part: ChatPart) -> Speed:
    """Measure the speed of a local model with a prompt of some 250 tokens."""
    message = {"role": "user", "content": f"Write a summary of the following:\n{_PROMPT}"}
    body = {"messages": [message], "max_tokens": _ANSWER_TOKENS, "cache_prompt": False}
    timings = engine_of(part).complete(body)["timings"]
    read, written = (timings[f"{kind}_per_second"] for kind in ("prompt", "predicted"))
    return Speed(max(float(read), _SLOWEST), max(float(written), _SLOWEST))
