"""Named settings to start from."""

from __future__ import annotations

from collections.abc import Mapping
from types import MappingProxyType
from typing import Any

from raptor_core.errors import SettingsError
from raptor_core.settings.models import Settings

_PAPER: Mapping[str, Any] = {
    "tokens": {"counter": "tiktoken"},
    "chunking": {"method": "greedy", "max_tokens": 100, "context": False},
    "embedder": {"kind": "sentence-transformers", "model": "multi-qa-mpnet-base-cos-v1"},
    "clustering": {
        "method": "raptor",
        "engine": "reference",
        "dimensions": 10,
        "local_neighbors": 10,
        "threshold": 0.1,
        "patience": 0,
        "epochs": 0,
        "max_tokens": 3500,
    },
    "summarizer": {
        "kind": "openai",
        "model": "gpt-3.5-turbo",
        "prompt": "paper",
        "max_tokens": 100,
        "temperature": 1.0,
    },
    "tree": {"top_nodes": 11},
    "retrieval": {"strategy": "collapsed", "budget_tokens": 2000, "top_k": 20},
}

_SIMPLE: Mapping[str, Any] = {
    "tokens": {"counter": "words"},
    "chunking": {"method": "windows", "max_tokens": 200, "context": False},
    "clustering": {"method": "gmm", "threshold": 0.3},
    "summarizer": {"prompt": "simple"},
    "tree": {"max_layers": 12, "top_nodes": 1},
    "retrieval": {"strategy": "beam", "beam_width": 3, "top_k": 5},
}

PRESETS: Mapping[str, Mapping[str, Any]] = MappingProxyType(
    {"default": {}, "paper": _PAPER, "simple": _SIMPLE}
)
"""Values of each preset, as in a settings file. ``paper``: arXiv:2401.18059, as its authors' code
has it. ``simple``: the common short recipe, to compare with: windows of 200 words, one mixture on
the embeddings, a beam down."""


def preset(name: str) -> Settings:
    """The settings of a preset.

    Raises:
        SettingsError: no preset has this name.
    """
    return Settings.model_validate(preset_values(name))


def preset_values(name: str) -> Mapping[str, Any]:
    """What a preset says, without the defaults.

    Raises:
        SettingsError: no preset has this name.
    """
    if name not in PRESETS:
        raise SettingsError(
            f"no preset is called {name!r}; there are: {', '.join(sorted(PRESETS))}"
        )
    return PRESETS[name]
