"""RAPTOR trees: build them, keep them in Qdrant, search them. Knows nothing of Dagster.

Importing this package loads no model and no vendor; the names below are loaded when used.
"""

from __future__ import annotations

import importlib
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from raptor_core.documents import Corpus, Document, load_documents
    from raptor_core.errors import RaptorError
    from raptor_core.nodes import Layer, Node, Tree
    from raptor_core.reading import Reader
    from raptor_core.retrieval import Query, Retrieval, Retriever
    from raptor_core.settings import Settings, load_settings, preset
    from raptor_core.store import open_store
    from raptor_core.tree.build import build_tree, build_trees
    from raptor_core.tree.tools import Tools

_HOMES = {
    "Corpus": "raptor_core.documents",
    "Document": "raptor_core.documents",
    "Layer": "raptor_core.nodes",
    "Node": "raptor_core.nodes",
    "Query": "raptor_core.retrieval",
    "RaptorError": "raptor_core.errors",
    "Reader": "raptor_core.reading",
    "Retrieval": "raptor_core.retrieval",
    "Retriever": "raptor_core.retrieval",
    "Settings": "raptor_core.settings",
    "Tools": "raptor_core.tree.tools",
    "Tree": "raptor_core.nodes",
    "build_tree": "raptor_core.tree.build",
    "build_trees": "raptor_core.tree.build",
    "load_documents": "raptor_core.documents",
    "load_settings": "raptor_core.settings",
    "open_store": "raptor_core.store",
    "preset": "raptor_core.settings",
}

__all__ = [
    "Corpus",
    "Document",
    "Layer",
    "Node",
    "Query",
    "RaptorError",
    "Reader",
    "Retrieval",
    "Retriever",
    "Settings",
    "Tools",
    "Tree",
    "build_tree",
    "build_trees",
    "load_documents",
    "load_settings",
    "open_store",
    "preset",
]


def __getattr__(name: str) -> Any:
    """Load a public name from its home."""
    if name in _HOMES:
        return getattr(importlib.import_module(_HOMES[name]), name)
    raise AttributeError(f"module {__name__!r} has no attribute {name!r}")


def __dir__() -> list[str]:
    """The public names."""
    return sorted(__all__)
