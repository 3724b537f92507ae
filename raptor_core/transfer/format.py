"""Format of an export: its folder, its manifest, and the file of a tree.

    <folder>/export.json             manifest, written last: all files with sizes and SHA-256
    <folder>/trees/<digest>.parquet  one tree: a row for each node, with its vector
    <folder>/tables/…                tables of partitions, under the paths that they have in a home

The names of files are derived from the names of trees, tables and partitions. ``exporting`` writes
an export, ``importing`` reads it.
"""

import hashlib
import io
import json
from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass, field
from typing import Any

import numpy as np

from raptor_core.errors import DamagedTreeError, ExportError
from raptor_core.file_names import EXPORT_FORMAT, EXPORT_MANIFEST
from raptor_core.filesystems import Folder
from raptor_core.identity import digest
from raptor_core.nodes import Node
from raptor_core.store.base import Manifest, StoreIdentity
from raptor_core.store.payload import manifest_to_payload, payload_to_manifest
from raptor_core.tables.files import table_name
from raptor_core.tables.values import nodes_to_table, table_to_nodes
from raptor_core.vectors import Vectors

MANIFEST = EXPORT_MANIFEST


@dataclass(frozen=True, slots=True)
class Stamp:
    """Size and SHA-256 (hexadecimal) of a file."""

    n_bytes: int
    sha256: str

    @classmethod
    def of(cls, data: bytes) -> "Stamp":
        """Return the stamp of a file's content."""
        return cls(len(data), hashlib.sha256(data).hexdigest())


class ExportFolder(Folder):
    """Folder of an export; it raises ExportError and verifies what it reads."""

    def __init__(self, url: str) -> None:
        super().__init__(url, ExportError)

    def put(self, name: str, data: bytes) -> Stamp:
        """Write a file and return its stamp; see ``Folder.write``."""
        self.write(name, data)
        return Stamp.of(data)

    def read(self, name: str, stamp: Stamp | None = None) -> bytes:
        """Return a file's content; ExportError if it is missing or does not match ``stamp``."""
        data = self.find(name)
        if data is None:
            raise ExportError(f"{self.shown(name)} is missing; copy the whole export again")
        actual = Stamp.of(data)
        if stamp is not None and actual != stamp:
            problem = "is cut short" if actual.n_bytes < stamp.n_bytes else "is damaged"
            raise ExportError(
                f"{self.shown(name)} {problem}: {actual.n_bytes} bytes with SHA-256 "
                f"{actual.sha256[:12]} where the export says {stamp.n_bytes} with "
                f"{stamp.sha256[:12]}; copy it again, or export again"
            )
        return data


@dataclass(frozen=True, slots=True)
class TreeFile:
    """Manifest of an exported tree, and the stamp of its file."""

    manifest: Manifest
    stamp: Stamp

    @property
    def name(self) -> str:
        """Path of the file in the export."""
        return tree_file(self.manifest.tree)


@dataclass(frozen=True, slots=True)
class TableFile:
    """Exported table: the key of its asset, its partition, and the stamp of its file."""

    key: tuple[str, ...]
    partition: str
    stamp: Stamp

    @property
    def name(self) -> str:
        """Path of the file in the export."""
        return f"tables/{table_name(self.key, self.partition)}"


@dataclass(frozen=True, slots=True)
class Export:
    """Content of an export.

    ``made_at`` is an ISO 8601 time in UTC. ``grouping`` are the settings that put trees into
    partitions. ``tables`` are the tables of partitions, and the decisions.
    """

    identity: StoreIdentity
    trees: tuple[TreeFile, ...]
    made_at: str
    grouping: Mapping[str, Any] = field(default_factory=dict)
    tables: tuple[TableFile, ...] = ()

    @property
    def n_nodes(self) -> int:
        """Number of nodes of all trees."""
        return sum(sum(tree.manifest.layer_sizes) for tree in self.trees)

    @property
    def n_bytes(self) -> int:
        """Size of all files but the manifest."""
        stamps = [*(tree.stamp for tree in self.trees), *(table.stamp for table in self.tables)]
        return sum(stamp.n_bytes for stamp in stamps)


def tree_file(tree: str) -> str:
    """Return the path of a tree's file, which contains no character of the tree's name."""
    return f"trees/{digest('export', tree)[:32]}.parquet"


VERSION = 1
"""Version of the layout and the columns; any other one is rejected."""


def encode(export: Export) -> bytes:
    """Encode the manifest's file."""
    values = {
        "format": EXPORT_FORMAT,
        "version": VERSION,
        "made_at": export.made_at,
        "identity": asdict(export.identity),
        "grouping": dict(export.grouping),
        "trees": [
            {**manifest_to_payload(tree.manifest), **asdict(tree.stamp)} for tree in export.trees
        ],
        "tables": [
            {"key": list(t.key), "partition": t.partition, **asdict(t.stamp)} for t in export.tables
        ],
    }
    return json.dumps(values, indent=1).encode()


def decode(data: bytes, where: str) -> Export:
    """Decode the manifest's file ``where``; raise ExportError if it is damaged."""
    try:
        values = json.loads(data)
    except ValueError as error:
        raise ExportError(f"{where} is damaged or cut short; copy it again") from error
    if not isinstance(values, dict) or values.get("format") != EXPORT_FORMAT:
        raise ExportError(f"{where} was not written by `raptor export`")
    if (version := values.get("version")) != VERSION:
        raise ExportError(
            f"{where} has version {version!r:.40}, but this program reads {VERSION}; import with "
            "the program that exported it"
        )
    try:
        return Export(
            identity=StoreIdentity(**values["identity"]),
            trees=tuple(TreeFile(payload_to_manifest(v), _stamp(v)) for v in values["trees"]),
            made_at=values["made_at"],
            grouping=values["grouping"],
            tables=tuple(
                TableFile(tuple(v["key"]), v["partition"], _stamp(v)) for v in values["tables"]
            ),
        )
    except (KeyError, TypeError, DamagedTreeError) as error:
        raise ExportError(
            f"{where} contains what no manifest does: {error}; export again"
        ) from error


def _stamp(values: dict[str, Any]) -> Stamp:
    return Stamp(values["n_bytes"], values["sha256"])


VECTOR = "vector"
_NOTE = "raptor_note"


def encode_rows(nodes: Sequence[Node], vectors: Mapping[str, Vectors], note: str = "") -> bytes:
    """Encode nodes: a column for each field, and ``vector``, which is null if there is none.

    ``vectors`` are by embedding key, each of shape ``(n_dims,)``, float32. ``note`` is stored in
    the footer, from which ``read_note`` reads it.
    """
    import pyarrow as pa
    import pyarrow.parquet as pq

    rows = [vectors.get(node.embedding_key) for node in nodes]
    # No lists of fixed size: pyarrow before 26 cannot read nulls among them from Parquet. Made from
    # buffers, because ``pa.array`` imports pandas.
    known = np.array([row is not None for row in rows], dtype=bool)
    lengths = np.array([0 if row is None else len(row) for row in rows], dtype=np.int64)
    ends = pa.py_buffer(np.concatenate(([0], lengths.cumsum())))
    values = np.concatenate([row for row in rows if row is not None] or [np.zeros(0, np.float32)])
    numbers = pa.Array.from_buffers(pa.float32(), len(values), [None, pa.py_buffer(values)])
    validity = pa.py_buffer(np.packbits(known, bitorder="little"))
    list_of_numbers = pa.large_list(pa.float32())
    column = pa.Array.from_buffers(list_of_numbers, len(rows), [validity, ends], children=[numbers])
    table = nodes_to_table(nodes).append_column(VECTOR, column)
    notes = {EXPORT_FORMAT: str(VERSION), _NOTE: note}  # the first key: not a source's document
    marked = table.replace_schema_metadata(notes)
    file = io.BytesIO()
    pq.write_table(
        marked, file, compression="snappy", use_dictionary=False, write_page_checksum=True
    )
    return file.getvalue()


def read_note(data: bytes, where: str) -> str:
    """Return the note of a tree's file; raise ExportError if the file has another form."""
    import pyarrow as pa
    import pyarrow.parquet as pq

    try:
        notes = pq.ParquetFile(pa.BufferReader(data)).schema_arrow.metadata
        return str(notes[_NOTE.encode()].decode())
    except (pa.ArrowException, OSError, KeyError, ValueError, TypeError) as error:
        raise ExportError(f"{where} is damaged: {error}; remove it") from error


def decode_rows(data: bytes, where: str) -> tuple[tuple[Node, ...], tuple[Vectors | None, ...]]:
    """Decode nodes and vectors, row for row; raise ExportError if the file has another form."""
    import pyarrow as pa
    import pyarrow.parquet as pq

    try:
        # No threads: if an Arrow thread still starts while the process ends, it aborts.
        file = pq.ParquetFile(pa.BufferReader(data), page_checksum_verification=True)
        table = file.read(use_threads=False)
        return table_to_nodes(table), tuple(table.column(VECTOR).to_numpy())
    except (pa.ArrowException, OSError, KeyError, ValueError, TypeError) as error:
        raise ExportError(f"{where} is not a tree of an export: {error}; export again") from error
