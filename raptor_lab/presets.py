"""Presets for comparisons; those for users are in ``raptor_core.settings.load``."""

from collections.abc import Mapping
from types import MappingProxyType
from typing import Any

SIMPLE: Mapping[str, Any] = MappingProxyType(
    {
        "tokens": {"counter": "words"},
        "components": {
            "chunker": "raptor_lab.chunking:windows",
            "clusterer": "raptor_lab.clustering:make_gmm",
        },
        "chunking": {"max_tokens": 200, "max_context_tokens": 0},
        "clustering": {"threshold": 0.3},
        "summarizer": {"prompt": "simple", "max_tokens": 200},
        "tree": {"max_layers": 12, "top_nodes": 1},
        "retrieval": {"strategy": "flat", "top_k": 5},
    }
)
"""Common simplification of RAPTOR: 200-word windows, one mixture on the embeddings, 5 chunks."""
