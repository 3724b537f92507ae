"""Reading some documents of a source that was scanned, without listing it again."""

from __future__ import annotations

from collections.abc import Collection

from raptor_core.documents.base import Corpus, Document
from raptor_core.documents.catalog.catalog import catalog_key
from raptor_core.documents.catalog.scan import Queue, Scan, loaded
from raptor_core.documents.sources.base import SourceFile
from raptor_core.documents.sources.load import shown_path, split
from raptor_core.documents.sources.unique import Unique


def read_scanned(scan: Scan, ids: Collection[str]) -> Corpus:
    """The documents of these ids as they are now; of tables only those that held one are read.

    What has gone since the scan is missing. ``skipped`` is the scan's, and what cannot be read now.

    Raises:
        SourceError: a source cannot be reached.
        MissingExtraError: a file or URL needs an extra that is not installed.
    """
    skipped = list(scan.inventory.skipped)
    corpus: Unique[Document] = Unique(skipped)
    queue: Queue = [(s, [f for f in files if _holds(scan, f, ids)]) for s, files in scan.listed]
    for file, content in loaded(queue):
        named = scan.parsed.get((catalog_key(file), content.digest))
        if named is None:
            named = split(content.parse(), skipped)
        corpus.add([item for item in named if item[1].id in ids], shown_path(file))
    return Corpus(corpus.ordered(), tuple(dict.fromkeys(skipped)))


def _holds(scan: Scan, file: SourceFile, ids: Collection[str]) -> bool:
    if file.only_id is not None:
        return file.only_id in ids
    known = scan.catalog.get(catalog_key(file))
    return known is not None and any(document_id in ids for document_id in known.ids)
