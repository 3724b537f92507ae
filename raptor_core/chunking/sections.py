"""Heading paths of a document by character, with binary search."""

from bisect import bisect_right

from raptor_core.documents.base import Document


class SectionPaths:
    """Paths of headings by character, found by binary search."""

    def __init__(self, document: Document) -> None:
        marks = {0} | {s.start for s in document.sections} | {s.end for s in document.sections}
        self._marks = sorted(marks)
        self._paths = list(_paths(document, self._marks))

    def at(self, character: int) -> tuple[str, ...]:
        """Return the titles of the sections around the character, outermost first."""
        return self._paths[bisect_right(self._marks, character) - 1]


def _paths(document: Document, marks: list[int]) -> list[tuple[str, ...]]:
    """Return the path from each mark to the next; sections are nested and sorted by start."""
    paths: list[tuple[str, ...]] = []
    opened: list[tuple[int, str]] = []
    at = 0
    for mark in marks:
        opened = [(end, title) for end, title in opened if mark < end]
        while at < len(document.sections) and document.sections[at].start <= mark:
            section = document.sections[at]
            if mark < section.end:
                opened.append((section.end, section.title))
            at += 1
        paths.append(tuple(title for _, title in opened))
    return paths
