"""Checks of files before parsing: damage, and XML archives that expand too much."""

import re
import zipfile
from collections.abc import Iterator
from contextlib import contextmanager
from io import BytesIO
from typing import Any

from raptor_formats.base import MEGABYTE, UnreadableError, check_size

MAX_EXPANSION = 4
"""Multiple of ``max_file_mb`` that all uncompressed parts of a document may reach."""

MAX_TEXT_MB = 24
"""Limit of uncompressed XML, about a thousand pages; parsing needs ten times as much memory."""

_DEFECTS = (AttributeError, TypeError, LookupError, StopIteration, AssertionError, RecursionError)
"""Errors of a parser whose messages name Python objects."""

_OBJECT = re.compile(r"'?<[^<>]*\bat 0x[0-9a-fA-F]+>'?")
_SAFE: dict[str, Any] = {"resolve_entities": False, "no_network": True, "load_dtd": False}
_MARKUP = (".xml", ".rels", ".xhtml", ".html", ".htm", ".opf", ".ncx")


@contextmanager
def damage_as_unreadable(kind: str) -> Iterator[None]:
    """Raise every failure of a parser as UnreadableError; ``kind`` is such as "Word document"."""
    try:
        yield
    except (UnreadableError, MemoryError):
        raise
    except Exception as error:
        is_defect = isinstance(error, _DEFECTS)
        reason = "its parts do not fit together" if is_defect else str(error).partition("\n")[0]
        cause = _OBJECT.sub("it", reason)
        raise UnreadableError(f"is damaged, or not a valid {kind}: {cause}") from error


def open_archive(
    data: bytes, max_file_mb: float, formats: tuple[str, str] | None = None
) -> zipfile.ZipFile:
    """Open an archive within ``damage_as_unreadable``; reject it if encrypted or too large.

    ``formats`` are the old and the new extension of a Microsoft format.
    """
    if formats and data.startswith(b"\xd0\xcf\x11\xe0"):
        old, new = formats
        raise UnreadableError(f"is encrypted, or in the old {old} format; save it as plain {new}")
    archive = zipfile.ZipFile(BytesIO(data))
    sizes = {part.filename: part.file_size for part in archive.infolist()}
    markup = sum(size for name, size in sizes.items() if name.lower().endswith(_MARKUP))
    if markup > MAX_TEXT_MB * MEGABYTE:
        raise UnreadableError(
            f"{markup / MEGABYTE:.0f} MB of text and layout uncompressed is over the limit of "
            f"{MAX_TEXT_MB} MB; split the document"
        )
    check_size(sum(sizes.values()), max_file_mb, MAX_EXPANSION)
    return archive


def read_xml(archive: zipfile.ZipFile, name: str) -> Any:
    """Parse a part within ``damage_as_unreadable``; return its root, reject declared entities."""
    from lxml import etree

    root = etree.fromstring(archive.read(name), etree.XMLParser(**_SAFE))
    _refuse_entities(root, name)
    return root


def read_root_tag(data: bytes, name: str) -> str:
    """Return the tag of a part's root element, reading no further; reject declared entities."""
    from lxml import etree

    _, root = next(iter(etree.iterparse(BytesIO(data), events=("start",), **_SAFE)))
    _refuse_entities(root, name)
    return local_tag(root)


def _refuse_entities(root: Any, name: str) -> None:
    declared = root.getroottree().docinfo.internalDTD
    if declared is not None and any(declared.iterentities()):
        raise UnreadableError(f"its part {name} declares XML entities")


def read_elements(data: bytes, *names: str, parent: str = "") -> Iterator[Any]:
    """Yield elements by name, in any namespace, and free each after its use.

    With ``parent``, yield only children of elements with that name.
    """
    from lxml import etree

    tags = [f"{{*}}{name}" for name in names]
    for _, element in etree.iterparse(BytesIO(data), tag=tags, **_SAFE) if data else ():
        if parent and local_tag(element.getparent()) != parent:
            continue
        yield element
        element.clear()
        while element.getprevious() is not None:
            del element.getparent()[0]


def local_tag(element: Any) -> str:
    """Return the name of an element without its namespace, or "" for a comment."""
    tag = element.tag
    return tag.rpartition("}")[2] if isinstance(tag, str) else ""
