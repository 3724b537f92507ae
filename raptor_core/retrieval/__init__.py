"""Retrieval over published trees: strategies, and the trace to the sources.

Stores and their search methods are in ``raptor_core.store``. Read ``base`` next, then ``hybrid``,
the default strategy.
"""

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
