"""How many examples a law is tried on."""

from __future__ import annotations

from typing import Any

import hypothesis

DEFAULT = 100


def examples(n: int, **how: Any) -> hypothesis.settings:
    """Settings of ``n`` examples in the whole suite; of the same share as any in the quick one."""
    scaled = n * hypothesis.settings.default.max_examples // DEFAULT
    return hypothesis.settings(max_examples=max(2, scaled), deadline=None, **how)
