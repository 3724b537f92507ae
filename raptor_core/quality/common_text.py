"""What the documents of a corpus have in common: their language, and lines that most of them have.

Documents are looked at one by one and not kept. Lines are counted as lossy counting has it (Manku
and Motwani, 2002): no line that a tenth of the documents have is lost, and few others are kept.
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from typing import Any

from raptor_core.documents.base import Document
from raptor_core.quality.languages import LATIN, writing

MIN_DOCUMENTS = 20
"""Below so many documents nothing is said of most of them."""

_MIN_LETTERS = 8
"""Letters of a line, from which on it says something."""
_EDGE_CHARS = 10_000
"""What is read at either end of a document; what surrounds a text stands there."""
_SAMPLE_CHARS = 4_000
_PARAGRAPH_CHARS = 80
_BUCKET = 20
_NAMED = 5
_DIGITS = re.compile(r"\d+")


@dataclass
class CommonText:
    """Counts over the documents that were added.

    Attributes:
        n_documents: how many there were.
        languages: documents by language, or by script where it is not Latin; those that are
            plainly in one.
        named: the first ids of each language.
    """

    n_documents: int = 0
    languages: Counter[str] = field(default_factory=Counter)
    named: dict[str, list[str]] = field(default_factory=dict)
    _lines: dict[str, tuple[int, int]] = field(default_factory=dict)

    def add(self, document: Document) -> str:
        """Count a document; its language, empty where that is not plain."""
        language = language_of(document)
        if language:
            self.languages[language] += 1
            ids = self.named.setdefault(language, [])
            if len(ids) < _NAMED:
                ids.append(document.id)
        missed = self.n_documents // _BUCKET
        for line in set(lines_of(document)):
            count, before = self._lines.get(line, (0, missed))
            self._lines[line] = count + 1, before
        self.n_documents += 1
        if self.n_documents % _BUCKET == 0:
            kept = self._lines.items()
            self._lines = {line: seen for line, seen in kept if sum(seen) > missed + 1}
        return language

    def main_language(self, share: float) -> str:
        """The language of at least this share of the documents; empty where none is."""
        if self.languages.total() < MIN_DOCUMENTS:
            return ""
        language, count = self.languages.most_common(1)[0]
        return language if count >= share * self.languages.total() else ""

    def repeated_lines(self, share: float) -> Mapping[str, int]:
        """Lines that more than this share of the documents have, with how many do; most first."""
        if self.n_documents < MIN_DOCUMENTS:
            return {}
        counts = Counter({line: count for line, (count, _) in self._lines.items()})
        return {line: n for line, n in counts.most_common() if n > share * self.n_documents}

    def counts(self) -> dict[str, Any]:
        """The counts as plain values, for ``of``; of lines those that a tenth have."""
        lines = {line: n for line, (n, _) in self._lines.items() if 10 * n >= self.n_documents}
        return {"n_documents": self.n_documents, "languages": self.languages, "lines": lines}

    @classmethod
    def of(cls, counts: Mapping[str, Any]) -> CommonText:
        """From what ``counts`` gave."""
        lines = {line: (n, 0) for line, n in counts["lines"].items()}
        return cls(counts["n_documents"], Counter(counts["languages"]), _lines=lines)


def language_of(document: Document) -> str:
    """Language of a piece of the text, or its script where it is not Latin; empty if not plain.

    Paragraph by paragraph, so that a program among them hides no words of the others.
    """
    start = max(0, len(document.text) - _SAMPLE_CHARS) // 3
    sample = document.text[start : start + _SAMPLE_CHARS]
    long = [part for part in sample.split("\n\n") if len(part) >= _PARAGRAPH_CHARS] or [sample]
    first, *others = map(writing, long)
    found = sum(others, first)
    return found.language or (found.script if found.script != LATIN else None) or ""


def lines_of(document: Document) -> Iterator[str]:
    """Lines at either end of a text, numbers in them as 0, but for headings and the short ones."""
    text = document.text
    if len(text) > 2 * _EDGE_CHARS:
        text = f"{text[:_EDGE_CHARS]}\n{text[-_EDGE_CHARS:]}"
    titles = {section.title for section in document.sections}
    for line in map(str.strip, text.split("\n")):
        if len(line) >= _MIN_LETTERS and line.lstrip("# ") not in titles:
            even = _DIGITS.sub("0", line)
            if sum(map(str.isalpha, even)) >= _MIN_LETTERS:
                yield even
