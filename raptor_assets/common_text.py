"""What the documents of a source have in common, kept from runs of many for runs of few."""

from __future__ import annotations

from raptor_core.documents.base import Corpus
from raptor_core.errors import TableError
from raptor_core.quality.document_text import MIN_DOCUMENTS, CommonText
from raptor_core.tables import Schema, TableStore

KEY = ("common_text",)
_NAME = "documents"
_COUNTS = Schema(("counts", "json"))


def common_text(corpus: Corpus, tables: TableStore) -> CommonText:
    """Of the run's documents; of an earlier run's that had more than twice as many.

    Raises:
        TableError: the place of the tables refuses.
    """
    counted = CommonText()
    for document in corpus.documents:
        counted.add(document)
    kept = _kept(tables)
    if kept and kept.n_documents > 2 * counted.n_documents:
        return kept
    if counted.n_documents >= MIN_DOCUMENTS:
        tables.write(KEY, _NAME, _COUNTS.table([(counted.counts(),)]))
    return counted


def _kept(tables: TableStore) -> CommonText | None:
    try:
        table = tables.find(KEY, _NAME)
    except TableError:  # only a cache
        return None
    return table and CommonText.of(next(_COUNTS.rows(table))[0])
