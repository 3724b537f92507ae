"""A tree's nodes and vectors as the bytes of one Parquet file, and back, without loss."""

from __future__ import annotations

import io
from collections.abc import Mapping, Sequence

import numpy as np

from raptor_core.errors import ExportError
from raptor_core.nodes import Node
from raptor_core.tables import nodes_to_table, table_to_nodes
from raptor_core.vectors import Vectors

VECTOR = "vector"


def encode_rows(nodes: Sequence[Node], vectors: Mapping[str, Vectors], n_dims: int) -> bytes:
    """The file: a column for each field of a node, and ``vector``, null where there is none.

    Args:
        nodes: of one tree.
        vectors: by embedding key, each of shape ``(n_dims,)``, float32.
        n_dims: of the vectors.
    """
    import pyarrow as pa
    import pyarrow.parquet as pq

    known = [node.embedding_key in vectors for node in nodes]
    rows = [
        vectors[node.embedding_key] if there else np.zeros(n_dims, dtype=np.float32)
        for node, there in zip(nodes, known, strict=True)
    ]
    flat = np.asarray(rows, dtype=np.float32).reshape(-1)
    lost = pa.array([not there for there in known])
    column = pa.FixedSizeListArray.from_arrays(pa.array(flat), n_dims, mask=lost)
    file = io.BytesIO()
    pq.write_table(nodes_to_table(nodes).append_column(VECTOR, column), file, compression="zstd")
    return file.getvalue()


def decode_rows(data: bytes, where: str) -> tuple[tuple[Node, ...], dict[str, Vectors]]:
    """Nodes and vectors by embedding key; ``where`` is for messages.

    Raises:
        ExportError: the file is no Parquet file, or has other columns.
    """
    import pyarrow as pa
    import pyarrow.parquet as pq

    try:
        table = pq.read_table(io.BytesIO(data))
        vectors = table.column(VECTOR).combine_chunks()
        nodes = table_to_nodes(table)
    except (pa.ArrowException, KeyError, ValueError, TypeError) as error:
        raise ExportError(f"{where} is not a tree of an export: {error}; export again") from error
    flat = vectors.flatten().to_numpy(zero_copy_only=False)
    there = np.flatnonzero(vectors.is_valid().to_numpy(zero_copy_only=False))
    rows = np.asarray(flat, dtype=np.float32).reshape(len(there), vectors.type.list_size)
    return nodes, {nodes[at].embedding_key: row for at, row in zip(there, rows, strict=True)}
