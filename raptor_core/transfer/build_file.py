"""File of one build of a tree, in Parquet: a row for each node with its vector.

The footer has the manifest, so a file has everything that its build needs. Kept builds, builds that
wait for approval and exports consist of such files.
"""

import io
import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from raptor_core.errors import DamagedTreeError, ExportError
from raptor_core.file_names import EXPORT_FORMAT
from raptor_core.nodes import Node
from raptor_core.store.base import Manifest, StoreIdentity, TreeEdition
from raptor_core.store.payload import manifest_to_payload, payload_to_manifest
from raptor_core.tables.values import nodes_to_table, table_to_nodes
from raptor_core.tree.publish import build_id
from raptor_core.vectors import Vectors

VECTOR = "vector"
VERSION = 1
"""Version of the columns and the footer."""
_FOOTER = "raptor_build"


@dataclass(frozen=True, slots=True)
class BuildFooter:
    """Manifest of a build, the fingerprint of its embedder, and notes on its costs and changes."""

    manifest: Manifest
    embedder: str
    notes: Mapping[str, Any]


def encode_build(
    edition: TreeEdition, identity: StoreIdentity, notes: Mapping[str, Any] | None = None
) -> bytes:
    """Return the file of a build, whose vectors are those of the embedder of ``identity``.

    A column stands for each field of a node; ``vector`` is null where the edition has none.
    """
    import pyarrow.parquet as pq

    footer = {
        "manifest": manifest_to_payload(edition.manifest),
        "embedder": identity.embedder_fingerprint,
        "notes": dict(notes or {}),
    }
    table = nodes_to_table(edition.nodes).append_column(
        VECTOR, _vector_column(edition.nodes, edition.vectors)
    )
    # The first entry marks the file, so that a source does not read it as a document.
    marked = table.replace_schema_metadata(
        {EXPORT_FORMAT: str(VERSION), _FOOTER: json.dumps(footer)}
    )
    file = io.BytesIO()
    pq.write_table(
        marked, file, compression="snappy", use_dictionary=False, write_page_checksum=True
    )
    return file.getvalue()


def _vector_column(nodes: Sequence[Node], vectors: Mapping[str, Vectors]) -> Any:
    """Return the vectors of nodes as a column of lists, null for a node without one."""
    import pyarrow as pa

    rows = [vectors.get(node.embedding_key) for node in nodes]
    # No lists of fixed size: pyarrow before 26 cannot read nulls among them from Parquet. Made from
    # buffers, because ``pa.array`` imports pandas.
    known = np.array([row is not None for row in rows], dtype=bool)
    lengths = np.array([0 if row is None else len(row) for row in rows], dtype=np.int64)
    ends = pa.py_buffer(np.concatenate(([0], lengths.cumsum())))
    values = np.concatenate([row for row in rows if row is not None] or [np.zeros(0, np.float32)])
    numbers = pa.Array.from_buffers(pa.float32(), len(values), [None, pa.py_buffer(values)])
    validity = pa.py_buffer(np.packbits(known, bitorder="little"))
    list_type = pa.large_list(pa.float32())
    return pa.Array.from_buffers(list_type, len(rows), [validity, ends], children=[numbers])


def read_footer(data: bytes, where: str) -> BuildFooter:
    """Return the footer of a build's file; raise ExportError if the file has another form."""
    import pyarrow as pa
    import pyarrow.parquet as pq

    try:
        metadata = pq.ParquetFile(pa.BufferReader(data)).schema_arrow.metadata
        values = json.loads(metadata[_FOOTER.encode()])
        return BuildFooter(
            payload_to_manifest(values["manifest"]), values["embedder"], values["notes"]
        )
    except (pa.ArrowException, OSError, KeyError, ValueError, TypeError, DamagedTreeError) as error:
        raise ExportError(
            f"{where} is damaged, or not the file of a build: {error}; remove it, or export again"
        ) from error


def decode_build(data: bytes, where: str) -> tuple[TreeEdition, BuildFooter]:
    """Decode the file of a build; raise ExportError if the file has another form."""
    import pyarrow as pa
    import pyarrow.parquet as pq

    footer = read_footer(data, where)
    try:
        # No threads: if an Arrow thread still starts while the process ends, it aborts.
        file = pq.ParquetFile(pa.BufferReader(data), page_checksum_verification=True)
        table = file.read(use_threads=False)
        nodes, rows = table_to_nodes(table), tuple(table.column(VECTOR).to_numpy())
    except (pa.ArrowException, OSError, KeyError, ValueError, TypeError) as error:
        raise ExportError(f"{where} is damaged: {error}; remove it, or export again") from error
    if build_id(nodes) != footer.manifest.build_id:
        raise ExportError(f"{where} is damaged: its nodes do not match its manifest")
    known = zip(nodes, rows, strict=True)
    vectors = {node.embedding_key: row for node, row in known if row is not None}
    return TreeEdition(footer.manifest, nodes, vectors), footer
