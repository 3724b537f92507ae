"""Tables: values as Arrow tables, and tables as Parquet files on any fsspec path."""

from raptor_core.tables.curation import decide, read_curation, read_decisions, take_back
from raptor_core.tables.files import Properties, TableStore, table_name, table_properties
from raptor_core.tables.schema import Schema
from raptor_core.tables.values import (
    audit_to_table,
    clusterings_to_table,
    documents_to_table,
    known_findings,
    nodes_to_table,
    table_to_clusterings,
    table_to_documents,
    table_to_findings,
    table_to_nodes,
    table_to_usages,
    usages_to_table,
)

__all__ = [
    "Properties",
    "Schema",
    "TableStore",
    "audit_to_table",
    "clusterings_to_table",
    "decide",
    "documents_to_table",
    "known_findings",
    "nodes_to_table",
    "read_curation",
    "read_decisions",
    "table_name",
    "table_properties",
    "table_to_clusterings",
    "table_to_documents",
    "table_to_findings",
    "table_to_nodes",
    "table_to_usages",
    "take_back",
    "usages_to_table",
]
