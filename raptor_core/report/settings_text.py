"""The settings that made a tree, as TOML, to read."""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping
from typing import Any

from raptor_core.redaction import hide_credentials
from raptor_core.settings import Settings

SHOWN = ("grouping", "chunking", "tokens", "embedder", "clustering", "summarizer", "tree")
"""Parts that a tree's content depends on. Keys and passwords stand in none of them."""


def settings_text(settings: Settings) -> str:
    """The parts named by ``SHOWN`` as TOML; credentials within a URL are replaced by ``***``."""
    lines: list[str] = []
    for part in SHOWN:
        values: Mapping[str, Any] = getattr(settings, part).model_dump(mode="json")
        lines += [f"[{part}]", *_lines(values), ""]
    return "\n".join(lines).rstrip()


def _lines(values: Mapping[str, Any]) -> Iterator[str]:
    for name, value in values.items():
        if value is not None:
            text = json.dumps(value, ensure_ascii=False)
            yield f"{name} = {hide_credentials(text)}"
