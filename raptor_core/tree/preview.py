"""Preview of the documents that a build would read, with figures, before anything is paid."""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path

from raptor_core.checks.document_text import document_language, find_odd_text
from raptor_core.chunking.base import Chunk
from raptor_core.documents.base import Document, DocumentEntry, Skipped
from raptor_core.documents.catalog.scan import NO_READERS
from raptor_core.documents.reader_rules import ReaderRules
from raptor_core.documents.sources import load
from raptor_core.documents.sources.base import SourceFile
from raptor_core.errors import SourceError
from raptor_core.identity import to_nfc
from raptor_core.tree.components import Components
from raptor_formats.base import ENCODING


@dataclass(frozen=True, slots=True)
class Preview:
    """Figures on a document.

    Attributes:
        format: format of its file; "" for a row of a database.
        size_bytes: size of its file, which rows of a table share; None if it is not known.
        n_pages: number of printed pages; 0 for formats without pages.
        language: language or script of the text; "" if it is unclear.
        doubt: what the check ``document_text`` finds, or a guessed encoding; "" for neither.
    """

    document: str
    format: str
    size_bytes: int | None
    n_pages: int
    language: str
    n_sections: int
    n_chars: int
    n_tokens: int
    n_chunks: int
    doubt: str


class Previews:
    """Previews of a source's documents; an iteration reads the source once and keeps no texts.

    Without ``paths``, the sources of the settings are read. No model is used.

    Attributes:
        skipped: files that could not be read so far, with reasons.
        omitted: hidden files and folders, and those that a rule excludes.

    Raises:
        SourceError: no source is named, or one is missing or unreachable.
    """

    def __init__(self, paths: Sequence[str | Path], components: Components) -> None:
        self.skipped: list[Skipped] = []
        self.omitted: list[Skipped] = []
        self._paths = paths
        self._components = components
        sources = load.open_sources(paths, components.settings.source)
        self._listed = load.list_sources(sources, self.skipped, self.omitted)

    def __iter__(self) -> Iterator[Preview]:
        """Yield previews in the order of files; raise EmptySourceError if there are none."""
        is_empty = True
        for file, document in self._documents(self._listed):
            is_empty = False
            yield self._make_preview(file, document)
        if is_empty:
            raise load.make_empty_source_error(
                self._paths, self._components.settings.source, self.skipped
            )

    def preview_document(self, name: str) -> tuple[Preview, Document, list[Chunk]]:
        """Return the preview, the document and the chunks for a document id.

        Raises:
            SourceError: the source has no such document; the message has the reason, if known.
        """
        name = to_nfc(name)
        listed: load.Listed = [
            (source, [file for file in files if file.only_id in (None, name)])
            for source, files in self._listed
        ]
        for file, document in self._documents(listed):
            if document.id == name:
                chunks = self._components.chunk_document(document)
                return self._make_preview(file, document), document, chunks
        reasons = {item.name: item.reason for item in (*self.omitted, *self.skipped)}
        why = f": it {reasons[name]}" if name in reasons else ""
        raise SourceError(
            f"the source contains no document called {name!r}{why}; `raptor documents` with only "
            "the source lists them"
        )

    def _documents(self, listed: load.Listed) -> Iterator[tuple[SourceFile, Document]]:
        ids: load.FirstOfEachId[DocumentEntry] = load.FirstOfEachId(self.skipped)
        settings = self._components.settings
        required, rules = settings.access.required, ReaderRules(settings.source)
        for file, content in load.load_listed(listed):
            for name, document in load.separate_skipped(content.parse(), self.skipped):
                if not ids.add_if_new(
                    name, DocumentEntry(document.id, document.content_hash, ""), file.path
                ):
                    continue
                if required and rules.apply_to_document(document).readers is None:
                    self.skipped.append(Skipped(document.id, NO_READERS))
                    continue
                yield file, document

    def _make_preview(self, file: SourceFile, document: Document) -> Preview:
        odd = find_odd_text(document, self._components.unknown_share)
        guess = document.metadata.get(ENCODING)
        doubt = f"read as {guess}, which nothing declares" if guess else ""
        chunks = self._components.chunk_document(document)
        return Preview(
            document=document.id,
            format=str(document.metadata.get("format", "")),
            size_bytes=file.size_bytes,
            n_pages=len(document.pages),
            language=document_language(document),
            n_sections=len(document.sections),
            n_chars=len(document.text),
            n_tokens=sum(chunk.n_tokens for chunk in chunks),
            n_chunks=len(chunks),
            doubt=odd.reason if odd else doubt,
        )
