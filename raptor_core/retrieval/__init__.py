"""Retrieval over published trees: collapsed, traversal, trace."""

from raptor_core.retrieval.base import Query, Retrieval, Strategy
from raptor_core.retrieval.retriever import STRATEGIES, Retriever
from raptor_core.retrieval.trace import SourceSpan, Trace, trace

__all__ = [
    "STRATEGIES",
    "Query",
    "Retrieval",
    "Retriever",
    "SourceSpan",
    "Strategy",
    "Trace",
    "trace",
]
