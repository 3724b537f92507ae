"""Documents: what they are, and reading them from files, folders, tables and URLs."""

from raptor_core.documents.base import (
    Corpus,
    Document,
    Entry,
    MetadataValue,
    Section,
    Skipped,
)
from raptor_core.documents.catalog import Catalog, Reading, parser_fingerprint
from raptor_core.documents.entries import Entries
from raptor_core.documents.grouping import (
    document_partition,
    partition_key,
    tree_name,
)
from raptor_core.documents.inventory import Inventory
from raptor_core.documents.load import Progress, list_files, load_documents
from raptor_core.documents.partitions import Partitions
from raptor_core.documents.reading import read_documents
from raptor_core.documents.scan import Scan, scan_source
from raptor_core.documents.scanned import read_scanned
from raptor_core.documents.source import SUPPORTED, SourceFile

__all__ = [
    "SUPPORTED",
    "Catalog",
    "Corpus",
    "Document",
    "Entries",
    "Entry",
    "Inventory",
    "MetadataValue",
    "Partitions",
    "Progress",
    "Reading",
    "Scan",
    "Section",
    "Skipped",
    "SourceFile",
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
