"""Tables: values as data frames, and frames as Parquet files on any fsspec path."""

from raptor_core.tables.files import Properties, TableStore
from raptor_core.tables.frames import (
    clusterings_to_frame,
    documents_to_frame,
    frame_to_clusterings,
    frame_to_documents,
    frame_to_nodes,
    nodes_to_frame,
)

__all__ = [
    "Properties",
    "TableStore",
    "clusterings_to_frame",
    "documents_to_frame",
    "frame_to_clusterings",
    "frame_to_documents",
    "frame_to_nodes",
    "nodes_to_frame",
]
