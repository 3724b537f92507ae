"""The tables of the paper, as far as they can be made without a reader, beside its own figures."""

from raptor_core.evaluation.paper.scaling import calls_nothing, time_builds
from raptor_core.evaluation.paper.study import CONTIGUOUS, Study, measure_study, with_contiguous
from raptor_core.evaluation.paper.tables import (
    SPREAD,
    compression_tables,
    curve_tables,
    layer_tables,
    retriever_tables,
    scaling_tables,
    share_tables,
)
from raptor_core.evaluation.tables import Table

__all__ = [
    "CONTIGUOUS",
    "SPREAD",
    "Study",
    "Table",
    "calls_nothing",
    "compression_tables",
    "curve_tables",
    "layer_tables",
    "measure_study",
    "retriever_tables",
    "scaling_tables",
    "share_tables",
    "time_builds",
    "with_contiguous",
]
