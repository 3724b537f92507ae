"""Documents of files that a test writes."""

from raptor_core.documents import load_documents
from raptor_core.documents.parsing.files import parse_file
from raptor_core.documents.parsing.names import FileName
from raptor_core.settings import SourceSettings


def read(folder, name, content, **settings):
    """Write a file, and return the one document that is read of it."""
    path = folder / name
    path.write_bytes(content if isinstance(content, bytes) else content.encode())
    (document,) = load_documents(path, settings=SourceSettings(**settings)).documents
    return document


def parse_all(extension, data, **settings):
    """Return the documents of a file with this content."""
    data = data if isinstance(data, bytes) else data.encode()
    file = FileName(f"a.{extension}", f"a.{extension}")
    return [item[1] for item in parse_file(file, data, SourceSettings(**settings))]


def parse(extension, data, **settings):
    """Return the one document of a file with this content."""
    (document,) = parse_all(extension, data, **settings)
    return document


def outline(document):
    """Return the levels and titles of a document's sections."""
    return [(section.level, section.title) for section in document.sections]


def governed(document, title):
    """Return the text of the section with this title."""
    (section,) = [section for section in document.sections if section.title == title]
    return document.text[section.start : section.end]
