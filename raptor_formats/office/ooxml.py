"""Office Open XML packages: their parts, relationships, properties, and texts of drawings.

Elements are compared by name without namespace, so that the Strict variant of the format parses
like the Transitional one. The parsers are in ``docx``, ``pptx`` and ``xlsx``.
"""

import posixpath
import zipfile
from collections.abc import Iterator
from functools import cache
from typing import Any

from raptor_formats.office.archive import local_tag, read_root_tag, read_xml
from raptor_formats.text import one_line

_BREAKS = {"br": "\n", "tab": " "}


class OfficePackage:
    """Parts of an open archive, by name and by relationship."""

    def __init__(self, archive: zipfile.ZipFile, root: str) -> None:
        """Find the main part, whose root element has the name ``read_root``."""
        self._archive = archive
        self._names = {f"/{name}".lower(): name for name in archive.namelist()}
        self._relations = cache(self._read_relations)
        self.main = self.find_related_part("/", "officeDocument")
        data = self.read_part(self.main)
        if not data or read_root_tag(data, self.main.lstrip("/")) != root:
            raise zipfile.BadZipFile(f"it has no part <{root}>")

    def read_part(self, name: str) -> bytes:
        """Return the bytes of a part; empty if the package lacks it."""
        known = self._names.get(name.lower())
        return self._archive.read(known) if known else b""

    def read_root(self, name: str) -> Any:
        """Return the root element of a part; None if the package lacks it."""
        known = self._names.get(name.lower())
        return read_xml(self._archive, known) if known else None

    def find_target(self, part: str, relation_id: str | None) -> str:
        """Return the name of the part to which a relationship of ``part`` points, or ""."""
        return self._relations(part).get(relation_id or "", ("", ""))[1]

    def find_related_part(self, part: str, kind: str) -> str:
        """Return the name of the first part that is related to ``part`` by a kind, or ""."""
        return next((name for key, name in self._relations(part).values() if key == kind), "")

    def read_title_and_author(self) -> tuple[str, str]:
        """Return the title and the author from the properties."""
        properties = self.read_root(self.find_related_part("/", "core-properties"))
        elements = () if properties is None else properties
        texts = {local_tag(element): one_line(element.text or "") for element in elements}
        return texts.get("title", ""), texts.get("creator", "")

    def _read_relations(self, part: str) -> dict[str, tuple[str, str]]:
        folder, name = posixpath.split(part)
        listed = self.read_root(f"{folder.rstrip('/')}/_rels/{name}.rels")
        return {
            element.get("Id", ""): (
                element.get("Type", "").rpartition("/")[2],
                posixpath.normpath(posixpath.join(folder, element.get("Target", ""))),
            )
            for element in (() if listed is None else listed)
            if element.get("TargetMode") != "External"
        }

    def read_drawing_texts(self, part: str, element: Any) -> Iterator[str]:
        """Yield the paragraphs of a drawing in ``part``: shapes, SmartArt and chart titles."""
        tag = local_tag(element)
        if tag == "p":
            yield read_paragraph_text(element)
        elif tag == "relIds":
            yield from self._read_diagram_texts(
                self.find_target(part, read_attribute(element, "dm"))
            )
        elif tag == "chart" and read_attribute(element, "id"):
            chart = self.read_root(self.find_target(part, read_attribute(element, "id")))
            for title in () if chart is None else chart.iter("{*}title"):
                yield " ".join(map(read_paragraph_text, title.iter("{*}p")))
        elif tag != "Fallback":
            for child in element.iterchildren():
                yield from self.read_drawing_texts(part, child)

    def _read_diagram_texts(self, part: str) -> Iterator[str]:
        diagram = self.read_root(part)
        for point in () if diagram is None else diagram.iter("{*}pt"):
            for text in point.iterchildren("{*}t"):
                yield " ".join(map(read_paragraph_text, text.iter("{*}p")))


def read_alternative_texts(element: Any) -> list[str]:
    """Return the distinct alternative texts of the pictures inside an element."""
    properties = element.iter("{*}docPr", "{*}cNvPr")
    texts = (one_line(each.get("descr") or each.get("title") or "") for each in properties)
    return list(dict.fromkeys(filter(None, texts)))


def read_attribute(element: Any, name: str) -> str:
    """Return the value of an attribute in any namespace, or ""."""
    pairs = element.attrib.items()
    return next((str(value) for key, value in pairs if key.rpartition("}")[2] == name), "")


def read_relation_id(element: Any) -> str:
    """Return the id of the relationship to the part of a slide or sheet, or ""."""
    return next((str(v) for key, v in element.attrib.items() if key.endswith("}id")), "")


def read_paragraph_text(paragraph: Any) -> str:
    """Return the text of a DrawingML paragraph, with its line breaks."""
    pieces = (
        _BREAKS.get(local_tag(e)) or (e.text or "" if local_tag(e) == "t" else "")
        for e in paragraph.iter()
    )
    return "".join(pieces)
