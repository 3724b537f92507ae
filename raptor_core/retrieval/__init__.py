"""Retrieval over published trees: strategies, and the trace to the source."""

from raptor_core.retrieval.base import Query, Questions, Retrieval, Strategy
from raptor_core.retrieval.retriever import STRATEGIES, Retriever
from raptor_core.retrieval.trace import Family, SourceSpan, Trace, family, trace

__all__ = [
    "STRATEGIES",
    "Family",
    "Query",
    "Questions",
    "Retrieval",
    "Retriever",
    "SourceSpan",
    "Strategy",
    "Trace",
    "family",
    "trace",
]
