"""Rules of ``source.readers``, which name the readers of documents that declare none.

``parsing.records`` reads the readers that a document declares. ``Inventory.current_readers`` in
``catalog.scan`` decides who may read a published document now.
"""

from collections.abc import Collection, Iterable
from dataclasses import replace
from itertools import islice
from typing import TYPE_CHECKING, TypeVar

from raptor_core.documents.base import Document, DocumentEntry
from raptor_core.documents.sources.base import compile_patterns
from raptor_core.identity import digest, to_nfc
from raptor_core.redaction import hide_secrets
from raptor_core.settings import SourceSettings

if TYPE_CHECKING:
    from pathspec import GitIgnoreSpec

Item = TypeVar("Item", Document, DocumentEntry)


class ReaderRules:
    """The rules of the settings; the last rule that matches a document decides.

    A pattern matches the id of a document or the path of its file, which differ for rows of tables.
    """

    def __init__(self, settings: SourceSettings | None = None) -> None:
        settings = settings or SourceSettings()
        self._paths = [rule.paths for rule in settings.readers]
        rules = [(rule.paths, tuple(sorted(set(rule.readers)))) for rule in settings.readers]
        self._rules = [(compile_patterns(paths), readers) for paths, readers in reversed(rules)]
        self._urls = [hide_secrets(path).rstrip("/") for path in settings.paths if "://" in path]
        self.digest = digest("rules", *map(repr, rules))

    def apply_to_document(self, item: Item) -> Item:
        """Return a document or entry with its own readers, or else with those of a rule."""
        if item.readers is not None or not self._rules:
            return item
        return replace(item, readers=self.readers_of(item.id, item.source))

    def readers_of(self, document_id: str, source: str) -> tuple[str, ...] | None:
        """Return the readers of the last rule that matches a document; None if none matches.

        ``source`` is that of ``Document``; "" if it equals the id.
        """
        names = self._names_to_match(document_id, source)
        return next((readers for spec, readers in self._rules if _matches(spec, names)), None)

    def describe_unmatched(self, names: Collection[tuple[str, str]]) -> tuple[str, ...]:
        """Describe the patterns that match no document, and the rules that never decide.

        Each description begins with the number of the rule in the settings, from 1.

        Args:
            names: id and source of each document.
        """
        deciding = self._deciding_rules(names)
        labels: list[str] = []
        for number, paths in enumerate(self._paths, 1):
            patterns = [pattern for pattern in paths if not pattern.startswith("!")]
            missed = [pattern for pattern in patterns if not self._matches_any(pattern, names)]
            labels += (f"[[source.readers]] {number}: {pattern!r}" for pattern in missed)
            if number not in deciding and len(missed) < len(patterns):
                labels.append(f"[[source.readers]] {number}: later rules match all its documents")
        return tuple(labels)

    def _matches_any(self, pattern: str, names: Collection[tuple[str, str]]) -> bool:
        spec = compile_patterns([pattern])
        return any(_matches(spec, self._names_to_match(*pair)) for pair in names)

    def _deciding_rules(self, names: Iterable[tuple[str, str]]) -> set[int]:
        """Return the numbers of the rules that decide on at least one document."""
        last, deciding = len(self._rules), set[int]()
        for pair in names:
            if len(deciding) == last:
                break
            each = self._names_to_match(*pair)
            matching = (last - n for n, (spec, _) in enumerate(self._rules) if _matches(spec, each))
            deciding.update(islice(matching, 1))
        return deciding

    def _names_to_match(self, document_id: str, source: str) -> set[str]:
        """Return the id and the path of a document, which patterns are compared with."""
        return {to_nfc(document_id), to_nfc(self._relative_path(source))} - {""}

    def _relative_path(self, source: str) -> str:
        """Return the path of a file relative to its source, from its path or URL."""
        for url in self._urls:
            if source == url:
                return url.rpartition("/")[2].partition("?")[0]
            if source.startswith(f"{url}/"):
                return source[len(url) + 1 :]
        return source


def _matches(spec: "GitIgnoreSpec", names: Iterable[str]) -> bool:
    """Return whether the last pattern that matches any of the names is not an exception ("!")."""
    results = (spec.check_file(name) for name in names)
    last = max(((r.index, r.include) for r in results if r.index is not None), default=(0, False))
    return bool(last[1])
