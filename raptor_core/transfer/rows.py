"""Parquet file of an exported tree: a row for each node, with its vector."""

import io
from collections.abc import Mapping, Sequence

from raptor_core.errors import ExportError
from raptor_core.layout import EXPORT_FORMAT
from raptor_core.nodes import Node
from raptor_core.tables.values import nodes_to_table, table_to_nodes
from raptor_core.transfer.manifest import VERSION
from raptor_core.vectors import Vectors

VECTOR = "vector"


def encode_rows(nodes: Sequence[Node], vectors: Mapping[str, Vectors]) -> bytes:
    """Return the file: a column for each field of a node, and ``vector``, null where none is.

    ``vectors`` are by embedding key, each of shape ``(n_dims,)``, float32.
    """
    import pyarrow as pa
    import pyarrow.parquet as pq

    rows = [vectors.get(node.embedding_key) for node in nodes]
    # No lists of fixed size: pyarrow before 26 reads none with nulls among them from Parquet.
    column = pa.array(rows, pa.large_list(pa.float32()))
    table = nodes_to_table(nodes).append_column(VECTOR, column)
    marked = table.replace_schema_metadata({EXPORT_FORMAT: str(VERSION)})  # no document of a source
    file = io.BytesIO()
    pq.write_table(marked, file, compression="snappy", use_dictionary=False)
    return file.getvalue()


def decode_rows(data: bytes, where: str) -> tuple[tuple[Node, ...], tuple[Vectors | None, ...]]:
    """Return the nodes and their vectors row for row; a file of another form raises ExportError."""
    import pyarrow as pa
    import pyarrow.parquet as pq

    try:
        # No threads: one of Arrow's that still starts when the process ends aborts it.
        table = pq.ParquetFile(pa.BufferReader(data)).read(use_threads=False)
        return table_to_nodes(table), tuple(table.column(VECTOR).to_numpy())
    except (pa.ArrowException, OSError, KeyError, ValueError, TypeError) as error:
        raise ExportError(f"{where} is not a tree of an export: {error}; export again") from error
