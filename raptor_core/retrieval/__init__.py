"""Retrieval from published trees: strategies, and traces to the sources.

Vector and text search are in ``raptor_core.store``. Read ``base`` next, and then ``hybrid``, the
default strategy.
"""

from raptor_core.retrieval.base import Query, Questions, Retrieval, Strategy
from raptor_core.retrieval.retriever import STRATEGIES, Retriever
from raptor_core.retrieval.trace import Family, SourceSpan, Trace, read_family, trace_node

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
    "read_family",
    "trace_node",
]
