"""The Parquet file of an exported tree: a row for each node, with its vector.

Files are written without dictionaries and packed by Snappy, so that none unpacks to more than some
twenty times its size. ``checks.py`` checks what the rows say.
"""

import io
import math
from collections.abc import Iterator, Mapping, Sequence
from typing import TYPE_CHECKING, Any

from raptor_core.documents.base import metadata_entries
from raptor_core.errors import ExportError
from raptor_core.layout import EXPORT_FORMAT
from raptor_core.nodes import Node
from raptor_core.tables.files import check_unpacked
from raptor_core.tables.values import NODES, nodes_to_table, table_to_nodes
from raptor_core.transfer.manifest import VERSION
from raptor_core.vectors import Vectors

if TYPE_CHECKING:
    import pyarrow.parquet as pq

VECTOR = "vector"
_CODECS = ("SNAPPY", "UNCOMPRESSED")
_MAX_EXPANSION = 16


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


def decode_rows(
    data: bytes, where: str, n_rows: int | None = None
) -> tuple[tuple[Node, ...], tuple[Vectors | None, ...]]:
    """Return the nodes and their vectors row for row; a file of another form raises ExportError."""
    import pyarrow as pa
    import pyarrow.parquet as pq

    try:
        file = pq.ParquetFile(pa.BufferReader(data))
        check_unpacked(file, _CODECS, _MAX_EXPANSION)
        _check_shape(file, n_rows)
        # No threads: one of Arrow's that still starts when the process ends aborts it.
        table = file.read(use_threads=False)
        vectors = table.column(VECTOR).to_numpy()
        nodes = table_to_nodes(table)
    except (pa.ArrowException, OSError, KeyError, ValueError, TypeError, RecursionError) as error:
        raise ExportError(f"{where} is not a tree of an export: {error}; export again") from error
    for row, node in enumerate(nodes, 1):
        for problem in wrong_cells(node):
            raise ExportError(f"{where}, row {row}: {problem}; export again")
    return nodes, tuple(vectors)


def _check_shape(file: "pq.ParquetFile", n_rows: int | None) -> None:
    """Raise ValueError for columns, or a number of rows, that ``encode_rows`` does not write."""
    import pyarrow as pa

    if n_rows is not None and file.metadata.num_rows != n_rows:
        raise ValueError(f"{file.metadata.num_rows} rows, expected {n_rows}")
    schema = file.schema_arrow
    NODES.check(pa.schema([field for field in schema if field.name != VECTOR]))
    vector = schema.field(VECTOR).type
    is_list = pa.types.is_list(vector) or pa.types.is_large_list(vector)
    if not is_list or vector.value_type != pa.float32():
        raise ValueError(f"the column {VECTOR} has type {vector}, expected lists of float32")


def wrong_cells(node: Node) -> Iterator[str]:
    """Yield what is wrong with the types of a node's fields."""
    texts = (node.id, node.tree, node.content_key, node.text, node.fingerprint, node.embedding_key)
    more = (*node.documents, *node.children, *node.section, *node.key_terms)
    labels = (node.source, node.context, node.slot, node.name)
    if any(not isinstance(text, str) for text in (*texts, *more, *labels)):
        yield "a text is missing"
    numbers = (node.layer, node.n_tokens, node.position, node.start, node.end)
    if any(not isinstance(number, int) for number in numbers):
        yield "a number is missing"
    entries = dict(enumerate(value for _, value in metadata_entries(node.metadata)))
    if not _is_mapping(entries, (str, bool, int, float)):
        yield f"its metadata is {node.metadata!r:.80}, expected an object of texts and numbers"
    if not _is_mapping(node.quality, (int, float)):
        yield f"its quality is {node.quality!r:.80}, expected an object of numbers"
    if any(type(part) is not int for pair in node.paragraphs for part in pair):
        yield f"its paragraphs are {node.paragraphs!r:.80}, expected pairs of integers"


def _is_mapping(values: Any, types: tuple[type, ...]) -> bool:
    return isinstance(values, dict) and all(
        isinstance(value, types) and not (isinstance(value, float) and not math.isfinite(value))
        for value in values.values()
    )
