"""What the stand-in endpoint answers where no fault is asked for, by the request alone."""

from __future__ import annotations

import hashlib
import re
from typing import Any

import numpy as np

Body = dict[str, Any]


def default_answer(body: Body) -> str:
    """Every third word of the last message's beginning, as one sentence within the limit."""
    limit = body.get("max_tokens") or body.get("max_completion_tokens") or 60
    content = re.sub(r"</?\w+>", " ", body["messages"][-1]["content"])
    words = content.split()[::3][: max(1, min(30, limit // 3))]
    return "In short: " + " ".join(word.strip(".")[:16] for word in words) + "."


def hash_vector(text: str, n_dims: int) -> np.ndarray:
    """A vector drawn from the text's hash, float32, not normalised."""
    seed = int.from_bytes(hashlib.sha256(text.encode()).digest()[:8], "big")
    return np.random.default_rng(seed).normal(size=n_dims).astype("<f4")


def usage_of(prompt_tokens: int, completion_tokens: int) -> Body:
    return {
        "prompt_tokens": prompt_tokens,
        "completion_tokens": completion_tokens,
        "total_tokens": prompt_tokens + completion_tokens,
    }
