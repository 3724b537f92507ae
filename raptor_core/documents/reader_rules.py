"""Rules of ``source.readers``: readers of documents that declare none.

What a document itself declares is read in ``formats.records``; who reads a published document today
is ``catalog.scan.Inventory.readers_today``.
"""

from collections.abc import Collection, Iterable
from dataclasses import replace
from itertools import islice
from typing import TYPE_CHECKING, TypeVar

from raptor_core.documents.base import Document, Entry
from raptor_core.documents.sources.base import compile_patterns
from raptor_core.identity import composed, digest
from raptor_core.redaction import hide_secrets
from raptor_core.settings import SourceSettings

if TYPE_CHECKING:
    from pathspec import GitIgnoreSpec

Item = TypeVar("Item", Document, Entry)


class ReaderRules:
    """Readers by patterns, of which the last rule that matches decides.

    A pattern matches a document by its id, or by the path of its file, as for the rows of a table.
    """

    def __init__(self, settings: SourceSettings | None = None) -> None:
        settings = settings or SourceSettings()
        self._paths = [rule.paths for rule in settings.readers]
        rules = [(rule.paths, tuple(sorted(set(rule.readers)))) for rule in settings.readers]
        self._rules = [(compile_patterns(paths), readers) for paths, readers in reversed(rules)]
        self._urls = [hide_secrets(path).rstrip("/") for path in settings.paths if "://" in path]
        self.digest = digest("rules", *map(repr, rules))

    def apply(self, item: Item) -> Item:
        """Return a document or an entry with the readers of a rule, if it declares none."""
        if item.readers is not None or not self._rules:
            return item
        return replace(item, readers=self.readers_of(item.id, item.source))

    def readers_of(self, document_id: str, source: str) -> tuple[str, ...] | None:
        """Return the readers that a rule gives a document; None where no rule matches.

        ``source`` is that of ``Document``; empty is the id.
        """
        names = self._names(document_id, source)
        return next((readers for spec, readers in self._rules if _matches(spec, names)), None)

    def unmatched(self, names: Collection[tuple[str, str]]) -> tuple[str, ...]:
        """Return the patterns that match no document, and the rules that never decide.

        Each begins with the number of its rule in the settings, from 1.

        Args:
            names: id and source of each document.
        """
        deciding = self._deciding(names)
        labels: list[str] = []
        for number, paths in enumerate(self._paths, 1):
            patterns = [pattern for pattern in paths if not pattern.startswith("!")]
            missed = [pattern for pattern in patterns if not self._is_met(pattern, names)]
            labels += (f"[[source.readers]] {number}: {pattern!r}" for pattern in missed)
            if number not in deciding and len(missed) < len(patterns):
                labels.append(f"[[source.readers]] {number}: later rules decide on all it matches")
        return tuple(labels)

    def _is_met(self, pattern: str, names: Collection[tuple[str, str]]) -> bool:
        spec = compile_patterns([pattern])
        return any(_matches(spec, self._names(*pair)) for pair in names)

    def _deciding(self, names: Iterable[tuple[str, str]]) -> set[int]:
        """Return the numbers of the rules that are the last one to match some document."""
        last, deciding = len(self._rules), set[int]()
        for pair in names:
            if len(deciding) == last:
                break
            known = self._names(*pair)
            matching = (
                last - n for n, (spec, _) in enumerate(self._rules) if _matches(spec, known)
            )
            deciding.update(islice(matching, 1))
        return deciding

    def _names(self, document_id: str, source: str) -> set[str]:
        """Return the names by which patterns match a document."""
        return {composed(document_id), composed(self._path(source))} - {""}

    def _path(self, source: str) -> str:
        """Return the path of a file relative to its source, from its path or URL."""
        for url in self._urls:
            if source == url:
                return url.rpartition("/")[2].partition("?")[0]
            if source.startswith(f"{url}/"):
                return source[len(url) + 1 :]
        return source


def _matches(spec: "GitIgnoreSpec", names: Iterable[str]) -> bool:
    """Return whether the last pattern that matches one of the names is no exception."""
    results = (spec.check_file(name) for name in names)
    last = max(((r.index, r.include) for r in results if r.index is not None), default=(0, False))
    return bool(last[1])
