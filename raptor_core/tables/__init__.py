"""Tables: values as data frames, and frames as Parquet files on any fsspec path."""

from raptor_core.tables.files import Properties, TableStore, table_name
from raptor_core.tables.findings import audit_to_frame, frame_to_findings, known_findings
from raptor_core.tables.frames import (
    clusterings_to_frame,
    documents_to_frame,
    frame_to_clusterings,
    frame_to_documents,
    frame_to_nodes,
    nodes_to_frame,
)
from raptor_core.tables.usages import frame_to_usages, usages_to_frame

__all__ = [
    "Properties",
    "TableStore",
    "audit_to_frame",
    "clusterings_to_frame",
    "documents_to_frame",
    "frame_to_clusterings",
    "frame_to_documents",
    "frame_to_findings",
    "frame_to_nodes",
    "frame_to_usages",
    "known_findings",
    "nodes_to_frame",
    "table_name",
    "usages_to_frame",
]
