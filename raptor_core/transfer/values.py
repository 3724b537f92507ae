"""What an export holds: values, the JSON of its manifest, and the Parquet files of its trees.

    <folder>/export.json             written last: what is there, with sizes and SHA-256
    <folder>/trees/<digest>.parquet  one tree: a row for each node, with its vector
    <folder>/tables/…                a partition's tables, as they lie in a home

Names of files follow from the names of trees, tables and partitions and stand nowhere: a forged
manifest cannot name a file outside.
"""

from __future__ import annotations

import hashlib
import io
import json
from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass, field
from typing import Any

from raptor_core.errors import ExportError
from raptor_core.identity import digest
from raptor_core.layout import EXPORT_FORMAT, EXPORT_MANIFEST
from raptor_core.nodes import Node
from raptor_core.places import Folder
from raptor_core.store.base import Manifest, StoreIdentity
from raptor_core.store.payload import manifest_to_payload, payload_to_manifest
from raptor_core.tables.files import table_name
from raptor_core.tables.values import nodes_to_table, table_to_nodes
from raptor_core.vectors import Vectors

MANIFEST = EXPORT_MANIFEST
FORMAT = EXPORT_FORMAT
VERSION = 1
"""Of the layout and of the columns; a newer one is refused."""


@dataclass(frozen=True, slots=True)
class Stamp:
    """Size and SHA-256 (hexadecimal) of a file."""

    n_bytes: int
    sha256: str

    @classmethod
    def of(cls, data: bytes) -> Stamp:
        """Of a file's content."""
        return cls(len(data), hashlib.sha256(data).hexdigest())


class ExportFolder(Folder):
    """The folder of an export. See ``Folder``; what it raises is ExportError."""

    def __init__(self, url: str) -> None:
        super().__init__(url, ExportError)

    def put(self, name: str, data: bytes) -> Stamp:
        """Write a file; see ``Folder.write``."""
        self.write(name, data)
        return Stamp.of(data)

    def read(self, name: str, stamp: Stamp | None = None) -> bytes:
        """Content of a file, which is what it was when it was written.

        Raises:
            ExportError: it is missing, or not what ``stamp`` says: cut short, or another.
        """
        data = self.find(name)
        if data is None:
            raise ExportError(f"{self.shown(name)} is missing; copy the export again, whole")
        actual = Stamp.of(data)
        if stamp is not None and actual != stamp:
            what = "is cut short" if actual.n_bytes < stamp.n_bytes else "is damaged"
            raise ExportError(
                f"{self.shown(name)} {what}: {actual.n_bytes} bytes with SHA-256 "
                f"{actual.sha256[:12]} where the export says {stamp.n_bytes} with "
                f"{stamp.sha256[:12]}; copy it again, or export again"
            )
        return data


@dataclass(frozen=True, slots=True)
class TreeFile:
    """One exported tree."""

    manifest: Manifest
    stamp: Stamp

    @property
    def name(self) -> str:
        """Name of its file in the export."""
        return tree_file(self.manifest.tree)


@dataclass(frozen=True, slots=True)
class TableFile:
    """One exported table of a partition; ``key`` is its asset's."""

    key: tuple[str, ...]
    partition: str
    stamp: Stamp

    @property
    def name(self) -> str:
        """Name of its file in the export."""
        return f"tables/{table_name(self.key, self.partition)}"


@dataclass(frozen=True, slots=True)
class Export:
    """What an export holds.

    ``identity`` is the store's that it came from; its corpus may differ from the one that it goes
    to. ``grouping`` are the settings by which trees were put into partitions.
    """

    identity: StoreIdentity
    trees: tuple[TreeFile, ...]
    made_at: str
    grouping: Mapping[str, Any] = field(default_factory=dict)
    tables: tuple[TableFile, ...] = ()

    @property
    def n_nodes(self) -> int:
        """Nodes of all trees."""
        return sum(sum(tree.manifest.layer_sizes) for tree in self.trees)

    @property
    def n_bytes(self) -> int:
        """Bytes of all files but the manifest."""
        stamps = [*(tree.stamp for tree in self.trees), *(table.stamp for table in self.tables)]
        return sum(stamp.n_bytes for stamp in stamps)


def tree_file(tree: str) -> str:
    """Name of a tree's file in an export, whatever characters the tree's name has."""
    return f"trees/{digest('export', tree)[:32]}.parquet"


def encode(export: Export) -> bytes:
    """The manifest's file; it ends with a digest of all that stands before."""
    values = {
        "format": FORMAT,
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
    return json.dumps({**values, "digest": _digest(values)}, indent=1).encode()


def decode(data: bytes, where: str) -> Export:
    """The export that a manifest's file tells of; ``where`` is for messages.

    Raises:
        ExportError: it is no such file, damaged, or of a newer version.
    """
    try:
        values = json.loads(data)
    except ValueError as error:
        raise ExportError(f"{where} is damaged or cut short; copy it again") from error
    if not isinstance(values, dict) or values.get("format") != FORMAT:
        raise ExportError(f"{where} was not written by `raptor export`")
    version = values.get("version")
    if not isinstance(version, int) or version > VERSION:
        raise ExportError(
            f"{where} has version {version} and this program reads up to {VERSION}; import with "
            "the program that exported, or a newer one"
        )
    if values.pop("digest", None) != _digest(values):
        raise ExportError(f"{where} is damaged: its digest is another; copy or export it again")
    return Export(
        identity=StoreIdentity(**values["identity"]),
        trees=tuple(TreeFile(payload_to_manifest(t), _stamp(t)) for t in values["trees"]),
        made_at=values["made_at"],
        grouping=values["grouping"],
        tables=tuple(
            TableFile(tuple(t["key"]), t["partition"], _stamp(t)) for t in values["tables"]
        ),
    )


def _stamp(values: Mapping[str, Any]) -> Stamp:
    return Stamp(values["n_bytes"], values["sha256"])


def _digest(values: Mapping[str, Any]) -> str:
    return digest("export manifest", json.dumps(values, sort_keys=True))


VECTOR = "vector"


def encode_rows(nodes: Sequence[Node], vectors: Mapping[str, Vectors]) -> bytes:
    """The file: a column for each field of a node, and ``vector``, null where there is none.

    Args:
        nodes: of one tree.
        vectors: by embedding key, each of shape ``(n_dims,)``, float32.
    """
    import pyarrow as pa
    import pyarrow.parquet as pq

    rows = [vectors.get(node.embedding_key) for node in nodes]
    # No lists of fixed size: pyarrow before 26 reads none with nulls among them from Parquet.
    column = pa.array(rows, pa.large_list(pa.float32()))
    file = io.BytesIO()
    table = nodes_to_table(nodes).append_column(VECTOR, column)
    marked = table.replace_schema_metadata({FORMAT: str(VERSION)})  # no document of any source
    pq.write_table(marked, file, compression="zstd")
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
        vectors = table.column(VECTOR).to_numpy()
        nodes = table_to_nodes(table)
    except (pa.ArrowException, KeyError, ValueError, TypeError) as error:
        raise ExportError(f"{where} is not a tree of an export: {error}; export again") from error
    known = zip(nodes, vectors, strict=True)
    return nodes, {node.embedding_key: row for node, row in known if row is not None}
