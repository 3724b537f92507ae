"""Opening, listing and reading of sources. Scans that skip unchanged files are in ``catalog``."""

from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import replace
from functools import partial, reduce
from pathlib import Path
from typing import Generic

from raptor_core.documents.base import Corpus, Document, Skipped, readers_of_both
from raptor_core.documents.parsing.names import Named, describe_formats
from raptor_core.documents.reader_rules import Item, ReaderRules
from raptor_core.documents.sources.base import FileContent, Source, SourceFile
from raptor_core.documents.sources.local import LocalSource
from raptor_core.documents.sources.remote import RemoteSource
from raptor_core.errors import EmptySourceError, SourceError
from raptor_core.identity import MAX_ID_BYTES, n_bytes, to_nfc
from raptor_core.redaction import hide_secrets
from raptor_core.settings import CorpusTreeGrouping, SourceSettings

Listed = list[tuple[Source, Sequence[SourceFile]]]
"""Sources with their files."""

_CORPUS_TREE_IDS = tuple(f"{CorpusTreeGrouping.corpus_name}{end}" for end in ("/", " ("))
"""Prefixes of names that are reserved for corpus trees."""

_NAMED_IN_ERROR = 5

_SHOWN_CHARS = 40
"""Characters that are shown at both ends of a long name."""


def load_documents(*paths: str | Path, settings: SourceSettings | None = None) -> Corpus:
    """Read files, folders, fsspec URLs and tables of databases.

    ``Corpus.skipped`` names everything that could not be read, with the reason. Without ``paths``,
    ``settings.paths`` and ``settings.tables`` are read.

    Raises:
        SourceError: no source is named, or one is missing or cannot be reached.
        EmptySourceError: none of them contains a document.
        MissingExtraError: a file or URL needs an extra that is not installed.
    """
    settings = settings or SourceSettings()
    skipped: list[Skipped] = []
    listed = list_sources(open_sources(paths, settings), skipped)
    corpus: FirstOfEachId[Document] = FirstOfEachId(skipped)
    for file, content in load_listed(listed):
        corpus.add(separate_skipped(content.parse(), skipped), file.path)
    documents = corpus.sorted_with_readers(ReaderRules(settings))
    if not documents:
        raise make_empty_source_error(paths, settings, skipped)
    return Corpus(documents, tuple(skipped))


def open_sources(paths: Sequence[str | Path], settings: SourceSettings) -> list[Source]:
    """Open the sources at these paths; without paths, all sources of the settings."""
    return [opened() for opened in source_openers(paths, settings)]


def source_openers(
    paths: Sequence[str | Path], settings: SourceSettings
) -> list[Callable[[], Source]]:
    """Return functions that open the sources one by one; see ``open_sources``."""
    if not paths and not settings.has_sources:
        raise SourceError(
            "no source is named; give a file, a folder or a URL, or set paths under [source]"
        )
    openers = [partial(_open_source, path, settings) for path in paths or settings.paths]
    if not paths and settings.tables:
        from raptor_core.documents.sources.sql import SqlSource

        return [*openers, *(partial(SqlSource, table) for table in settings.tables)]
    return [*openers]


def _open_source(path: str | Path, settings: SourceSettings) -> Source:
    text = str(path).removeprefix("file://")
    is_url = isinstance(path, str) and ("://" in text or "::" in text)
    return RemoteSource(text, settings) if is_url else LocalSource(text, settings)


def list_sources(
    sources: Iterable[Source], skipped: list[Skipped], omitted: list[Skipped] | None = None
) -> Listed:
    """List every source, and append to ``skipped`` and ``omitted``; see ``SourceListing``."""
    listed: Listed = []
    for source in sources:
        listing = source.list()
        skipped += listing.skipped
        if omitted is not None:
            omitted += listing.omitted
        listed.append((source, listing.files))
    return listed


def load_listed(listed: Listed) -> Iterator[tuple[SourceFile, FileContent]]:
    """Yield the listed files of all sources with their contents."""
    for source, files in listed:
        yield from zip(files, source.load(files), strict=True)


def separate_skipped(items: Iterable[Named | Skipped], skipped: list[Skipped]) -> list[Named]:
    """Return the documents of ``items``, and append all other items to ``skipped``.

    Documents whose id is too long or reserved are skipped, too.
    """
    named: list[Named] = []
    for item in items:
        if isinstance(item, Skipped):
            skipped.append(item)
        elif n_bytes(item[1].id) > MAX_ID_BYTES:
            skipped.append(_skip_long_id(*item))
        elif f"{item[1].id}/".startswith(_CORPUS_TREE_IDS):
            reason = f"has the id {item[1].id!r}, a name of the corpus tree; give it another id"
            skipped.append(Skipped(item[0], reason, is_empty=True, readers=item[1].readers))
        else:
            named.append(item)
    return named


def _skip_long_id(name: str, document: Document) -> Skipped:
    """Return the reason why a document with a long id is skipped, with a shortened name."""
    is_long = n_bytes(name) > MAX_ID_BYTES
    shown = f"{name[:_SHOWN_CHARS]}…{name[-_SHOWN_CHARS:]}" if is_long else name
    return Skipped(
        shown,
        f"has an id of {n_bytes(document.id):,} bytes; at most {MAX_ID_BYTES:,} are allowed; "
        "shorten it, or the path of its file",
        is_empty=True,
        readers=document.readers,
    )


def make_empty_source_error(
    paths: Sequence[str | Path], settings: SourceSettings, skipped: Sequence[Skipped]
) -> EmptySourceError:
    """Return the error for sources that contain no documents."""
    named = [hide_secrets(str(path)) for path in paths or settings.paths]
    where = ", ".join(named if paths else [*named, *(table.label for table in settings.tables)])
    if not skipped:
        return EmptySourceError(
            f"no document in {where}: no file there passes the rules; "
            f"see include and exclude under [source]"
        )
    reasons = "; ".join(f"{item.name}: {item.reason}" for item in skipped[:_NAMED_IN_ERROR])
    n_more = len(skipped) - _NAMED_IN_ERROR
    rest = f"; and {n_more} more" if n_more > 0 else ""
    rest += f" ({describe_formats()})" if any(item.kind for item in skipped) else ""
    return EmptySourceError(f"no document in {where}; {len(skipped)} skipped: {reasons}{rest}")


class FirstOfEachId(Generic[Item]):
    """The first document or entry of each id; later ones are appended to ``skipped``.

    Nobody can tell which of several documents with the same id is meant. So only those who may read
    all of them may read the first.
    """

    def __init__(self, skipped: list[Skipped]) -> None:
        self._skipped = skipped
        self._first: dict[str, tuple[Item, str]] = {}
        self._rest: dict[str, list[Item]] = {}

    def add(self, named: Iterable[tuple[str, Item]], path: str) -> None:
        """Add documents with their names, all from one path."""
        for name, document in named:
            self.add_if_new(name, document, path)

    def add_if_new(self, name: str, document: Item, path: str) -> bool:
        """Add a document and return whether it is the first with its id."""
        first, place = self._first.setdefault(document.id, (document, path))
        if first is not document:
            is_same_name = place != path and to_nfc(place) == to_nfc(path)
            reason = _explain_id_clash(first, hide_secrets(place), document)
            reason += "; the two file names differ only in their Unicode form" * is_same_name
            self._skipped.append(Skipped(name, reason))
            self._rest.setdefault(document.id, []).append(document)
        return first is document

    def sorted_with_readers(self, rules: ReaderRules) -> tuple[Item, ...]:
        """Return the first documents, ordered by id, with their readers."""
        return tuple(self._with_readers(key, rules) for key in sorted(self._first))

    def _with_readers(self, key: str, rules: ReaderRules) -> Item:
        first = rules.apply_to_document(self._first[key][0])
        declared = {rules.apply_to_document(item).readers for item in self._rest.get(key, ())}
        if declared <= {first.readers}:
            return first
        names = (readers or () for readers in declared)
        return replace(first, readers=reduce(readers_of_both, names, first.readers or ()))


def _explain_id_clash(first: Item, place: str, second: Item) -> str:
    owner = "the same text" if first.content_hash == second.content_hash else "another document"
    return f"its id {second.id!r} is taken, by {owner} in {place}; ids must be unique in a corpus"
