"""Documents, and their reading from files, folders, tables and URLs."""

from raptor_core.documents.base import Corpus, Document, Entry, Skipped
from raptor_core.documents.catalog.catalog import Catalog, FileReading, parser_fingerprint
from raptor_core.documents.catalog.entries import Entries
from raptor_core.documents.catalog.scan import (
    Inventory,
    Scan,
    read_documents,
    read_scanned,
    scan_source,
)
from raptor_core.documents.grouping import Partitions, document_partition, partition_key, tree_name
from raptor_core.documents.removal import Removals, Unread, decide_removals
from raptor_core.documents.sources.base import SourceFile
from raptor_core.documents.sources.load import list_files, load_documents

__all__ = [
    "Catalog",
    "Corpus",
    "Document",
    "Entries",
    "Entry",
    "FileReading",
    "Inventory",
    "Partitions",
    "Removals",
    "Scan",
    "Skipped",
    "SourceFile",
    "Unread",
    "decide_removals",
    "document_partition",
    "list_files",
    "load_documents",
    "parser_fingerprint",
    "partition_key",
    "read_documents",
    "read_scanned",
    "scan_source",
    "tree_name",
]
