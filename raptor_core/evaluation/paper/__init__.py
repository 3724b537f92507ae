"""The tables of the paper, as far as they can be made without a reader, beside its own figures."""

from raptor_core.evaluation.paper.curve import curve_tables
from raptor_core.evaluation.paper.layers import SPREAD, layer_tables, share_tables
from raptor_core.evaluation.paper.retrievers import retriever_tables
from raptor_core.evaluation.paper.scaling import calls_nothing, time_builds
from raptor_core.evaluation.paper.scaling_tables import scaling_tables
from raptor_core.evaluation.paper.sizes import compression_tables
from raptor_core.evaluation.paper.study import CONTIGUOUS, Study, measure_study, with_contiguous
from raptor_core.evaluation.paper.table import Table

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
