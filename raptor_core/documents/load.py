"""Reading sources: everything there is, or only the list of files."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Sequence
from pathlib import Path

from raptor_core.documents.base import Corpus, Document, Skipped
from raptor_core.documents.formats import parse_file
from raptor_core.documents.opening import open_source
from raptor_core.documents.parsed import EmptyFileError, UnreadableError
from raptor_core.documents.records import Named
from raptor_core.documents.source import Source, SourceFile
from raptor_core.errors import EmptySourceError, SourceError
from raptor_core.settings import SourceSettings

Progress = Callable[[int, int, str], None]
"""Called after every file with: files done, files in all, id of the file."""

_NAMED_IN_ERROR = 5


def load_documents(
    *paths: str | Path,
    settings: SourceSettings | None = None,
    progress: Progress | None = None,
) -> Corpus:
    """Read files, folders, tables and fsspec URLs.

    What cannot be read is in ``Corpus.skipped`` by name with the reason: the file's id, or for
    a row the file's id and the number of its line or row ("papers.jsonl:7").

    Args:
        paths: what to read; without any, ``settings.paths``.
        settings: rules, limits and field names; None for the defaults.
        progress: see ``Progress``.

    Raises:
        SourceError: no source is named, or one is missing or cannot be reached.
        EmptySourceError: there is no document in any of them.
        MissingExtraError: a file or URL needs an extra that is not installed.
    """
    settings = settings or SourceSettings()
    named = _named(paths, settings)
    skipped: list[Skipped] = []
    work = _listed(named, settings, skipped)
    corpus = _Unique(skipped)
    for done, (source, file) in enumerate(work, start=1):
        corpus.add(_read(source, file, settings, skipped))
        if progress:
            progress(done, len(work), file.id)
    if not corpus.documents:
        raise EmptySourceError(_explain_empty(named, skipped))
    ordered = sorted(corpus.documents.values(), key=lambda document: document.id)
    return Corpus(tuple(ordered), tuple(skipped))


def list_files(
    paths: Sequence[str | Path] = (), settings: SourceSettings | None = None
) -> list[SourceFile]:
    """The files that ``load_documents`` would read, without reading them, ordered by id.

    Raises:
        SourceError: as ``load_documents``; a source that holds no file gives an empty list.
    """
    settings = settings or SourceSettings()
    work = _listed(_named(paths, settings), settings, [])
    return sorted((file for _, file in work), key=lambda file: (file.id, file.path))


def _named(paths: Sequence[str | Path], settings: SourceSettings) -> Sequence[str | Path]:
    named = paths or settings.paths
    if not named:
        raise SourceError(
            "no source is named; give a file, a folder or a URL, or set paths under [source]"
        )
    return named


def _listed(
    paths: Iterable[str | Path], settings: SourceSettings, skipped: list[Skipped]
) -> list[tuple[Source, SourceFile]]:
    work: list[tuple[Source, SourceFile]] = []
    for path in paths:
        source = open_source(path, settings)
        listing = source.list()
        skipped += listing.skipped
        work += ((source, file) for file in listing.files)
    return work


def _read(
    source: Source, file: SourceFile, settings: SourceSettings, skipped: list[Skipped]
) -> Iterator[Named]:
    """Documents of a file by name; of a damaged table none rather than some."""
    try:
        found = list(parse_file(file, source.read(file), settings))
    except UnreadableError as error:
        skipped.append(Skipped(file.id, str(error), isinstance(error, EmptyFileError)))
        return
    for item in found:
        if isinstance(item, Skipped):
            skipped.append(item)
        else:
            yield item


class _Unique:
    """Documents by id; the first one of an id is kept, every other is reported."""

    def __init__(self, skipped: list[Skipped]) -> None:
        self.documents: dict[str, Document] = {}
        self._skipped = skipped

    def add(self, documents: Iterable[Named]) -> None:
        for name, document in documents:
            first = self.documents.setdefault(document.id, document)
            if first is not document:
                self._skipped.append(Skipped(name, _clash(first, document)))


def _clash(first: Document, second: Document) -> str:
    same = "the same text" if first.text == second.text else "another text"
    return (
        f"its id {second.id!r} is taken, by {same} in {first.source}; ids must be unique "
        f"in a corpus"
    )


def _explain_empty(paths: Sequence[str | Path], skipped: Sequence[Skipped]) -> str:
    where = ", ".join(str(path) for path in paths)
    if not skipped:
        return (
            f"no document in {where}: no file there passes the rules; "
            f"see include and exclude under [source]"
        )
    named = "; ".join(f"{item.name}: {item.reason}" for item in skipped[:_NAMED_IN_ERROR])
    more = len(skipped) - _NAMED_IN_ERROR
    rest = f"; and {more} more" if more > 0 else ""
    return f"no document in {where}; {len(skipped)} skipped: {named}{rest}"
