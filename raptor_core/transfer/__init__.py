"""Backup and moving of published trees: a folder of Parquet files and a manifest.

An export is made from any store and goes into any store of the same embedder: from an embedded
one to a server and back, from one machine to another. ``docs/stores.md`` tells of the format.
"""

from raptor_core.transfer.exporting import check_target, export_trees, finish_export
from raptor_core.transfer.importing import (
    Imported,
    check_embedder,
    chosen,
    differing,
    import_trees,
    read_export,
    verify,
)
from raptor_core.transfer.values import Export, ExportFolder, Stamp, TableFile, TreeFile

__all__ = [
    "Export",
    "ExportFolder",
    "Imported",
    "Stamp",
    "TableFile",
    "TreeFile",
    "check_embedder",
    "check_target",
    "chosen",
    "differing",
    "export_trees",
    "finish_export",
    "import_trees",
    "read_export",
    "verify",
]
