"""E-books (.epub): chapters in reading order, each as a section."""

import posixpath
import zipfile
from collections.abc import Iterator, Mapping
from dataclasses import replace
from typing import Any
from urllib.parse import unquote

from raptor_formats.base import Parsed, UnreadableError
from raptor_formats.markup.html import parse_html
from raptor_formats.metadata import clean_metadata
from raptor_formats.office.archive import (
    damage_as_unreadable,
    local_tag,
    open_archive,
    read_xml,
)
from raptor_formats.sections import join_parts, put_under_heading
from raptor_formats.text import one_line

_CONTAINER = "META-INF/container.xml"
_PROTECTED = "META-INF/encryption.xml"
_PAGES = frozenset({"application/xhtml+xml", "text/html"})


def parse_epub(data: bytes, max_file_mb: float) -> Parsed:
    """Parse chapters as web pages; the table of contents names chapters without a heading."""
    with damage_as_unreadable("EPUB book"), open_archive(data, max_file_mb) as archive:
        book = _EpubBook(archive)
        chapters = list(book.read_chapters()) or list(book.read_chapters(with_pictures=True))
    body = join_parts(chapters)
    metadata = clean_metadata({"chapters": len(chapters), "author": book.author})
    return replace(body, title=book.title, metadata=metadata)


class _EpubBook:
    """Package of an open book: its pages in reading order, and their names."""

    def __init__(self, archive: zipfile.ZipFile) -> None:
        self._archive = archive
        root = next(e for e in read_xml(archive, _CONTAINER).iter() if local_tag(e) == "rootfile")
        self._package = root.get("full-path")
        elements = list(read_xml(archive, self._package).iter())
        items = {e.get("id"): e for e in elements if local_tag(e) == "item"}
        order = [items.get(e.get("idref")) for e in elements if local_tag(e) == "itemref"]
        self._pages = dict.fromkeys(
            self._resolve_link(self._package, item.get("href"))
            for item in order
            if item is not None
            and item.get("media-type") in _PAGES
            and "nav" not in (item.get("properties") or "").split()
        )
        self._names = self._read_chapter_names(items)
        self.title = self._text_of_first(elements, "title")
        self.author = self._text_of_first(elements, "creator")

    def read_chapters(self, *, with_pictures: bool = False) -> Iterator[Parsed]:
        """Yield the chapters that contain text, or pictures with alternative texts."""
        protected = self._find_protected_paths()
        for page in self._pages:
            if page in protected:
                raise UnreadableError("is protected (DRM); save it without protection")
            data = self._archive.read(page)
            chapter = parse_html(data, is_whole=True, with_pictures=with_pictures)
            if not chapter.text:
                continue
            name = self._names.get(page, "")
            if name and not chapter.sections:
                chapter = put_under_heading(name, chapter)
            yield chapter

    def _read_chapter_names(self, items: Mapping[Any, Any]) -> dict[str, str]:
        """Return chapter names by path, from the table of contents of EPUB 2 or 3."""
        names: dict[str, str] = {}
        for item in items.values():
            kind, properties = item.get("media-type") or "", item.get("properties") or ""
            if not kind.endswith("ncx+xml") and "nav" not in properties.split():
                continue
            contents = self._resolve_link(self._package, item.get("href"))
            for point in read_xml(self._archive, contents).iter():
                if local_tag(point) not in {"navPoint", "a"}:
                    continue
                links = (e.get("src") or e.get("href") for e in point.iter())
                link = next(filter(None, links), "")
                label = next((e for e in point.iter() if local_tag(e) in {"navLabel", "a"}), point)
                path = self._resolve_link(contents, link.partition("#")[0])
                names.setdefault(path, one_line(" ".join(label.itertext())))
        return names

    def _find_protected_paths(self) -> set[str]:
        if _PROTECTED not in self._archive.namelist():
            return set()
        marked = (e.get("URI") for e in read_xml(self._archive, _PROTECTED).iter())
        return {unquote(path) for path in marked if path}

    @staticmethod
    def _resolve_link(base: str, link: str) -> str:
        return posixpath.normpath(posixpath.join(posixpath.dirname(base), unquote(link)))

    @staticmethod
    def _text_of_first(elements: list[Any], name: str) -> str:
        return next((one_line(e.text) for e in elements if local_tag(e) == name and e.text), "")
