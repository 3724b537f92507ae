"""Documents: what they are, and reading them from files, folders, tables and URLs."""

from raptor_core.documents.base import Corpus, Document, MetadataValue, Section, Skipped
from raptor_core.documents.grouping import group_documents, partition_key, tree_name
from raptor_core.documents.load import Progress, list_files, load_documents
from raptor_core.documents.source import SUPPORTED, SourceFile

__all__ = [
    "SUPPORTED",
    "Corpus",
    "Document",
    "MetadataValue",
    "Progress",
    "Section",
    "Skipped",
    "SourceFile",
    "group_documents",
    "list_files",
    "load_documents",
    "partition_key",
    "tree_name",
]
