"""Quality of the parsers of PDF, office and mail: words, paragraphs, outline, CPU and memory.

    python benchmarks/documents.py FOLDER [--readers raptor pypdf markitdown] [--baseline CHECKOUT]

The benchmark reads all files of these kinds under the folder, a table for each kind. With
``--baseline`` it also reads them by the code of another checkout. Measures of PDF files:

- words: share of the words of poppler's ``pdftotext`` that a reader returns, each as often as it
  occurs. Running heads and feet do not count: lines at an edge of a page that three pages have,
  apart from their digits. Hyphens are ignored, Chinese and Japanese characters are words. Files
  whose words pdftotext falls apart into single letters do not count.
- broken: share of paragraph gaps between a letter or comma and a small letter.
- outline: share of the entries of outlines with a page of text that are sections, and share of
  these sections that begin with the words of their entry.

Measures of office files and mails:

- words: share of the words with a letter that the format's own library returns: python-docx,
  python-pptx with notes, openpyxl (different words of a workbook), ``email`` (plain texts).
  Files that the library refuses, or reads for 10 s, have none.

Each reader has a process of its own; memory is what reading added to it.
"""

from __future__ import annotations

import argparse
import email.policy
import io
import json
import logging
import os
import re
import signal
import subprocess
import tempfile
import unicodedata
from collections import Counter
from collections.abc import Callable, Iterator, Sequence
from pathlib import Path
from typing import TypeVar

from measuring import cpu_seconds, in_process, peak_bytes, print_head, print_row

READERS = ("raptor", "pypdf", "markitdown", "before")
KINDS = {
    "PDF": (".pdf",),
    "Word": (".docx", ".docm", ".dotx"),
    "PowerPoint": (".pptx", ".pptm", ".ppsx", ".potx"),
    "Excel": (".xlsx", ".xlsm", ".xltx"),
    "mail": (".eml",),
}
EDGE_LINES = 3
YARDSTICK_SECONDS = 10
RUNNING_PAGES = 3
MIN_WORDS = 20
MAX_LETTERS = 0.3
LOW_SHARE = 0.97

T = TypeVar("T")

_IDEOGRAM = "\u3040-\u30ff\u3400-\u9fff\uf900-\ufaff"
_WORD = re.compile(rf"[{_IDEOGRAM}]|[^\W_{_IDEOGRAM}]+")
_HYPHEN = re.compile(r"[-\xad\u2010\u2011]\s*")
_PRIVATE = re.compile("[\ue000-\uf8ff]")
_DIGITS = re.compile(r"\d+")
_BROKEN = re.compile(r"[^\W\d_A-Z],?\n\n(?=[a-zß-ÿ])")


def words_of(text: str) -> Counter[str]:
    """Return the words of a text with their numbers."""
    plain = unicodedata.normalize("NFKC", _PRIVATE.sub("", text)).casefold()
    return Counter(_WORD.findall(_HYPHEN.sub("", plain)))


def without_running(text: str) -> str:
    """Return the output of pdftotext without lines that several pages have at an edge."""
    pages = [[line for line in page.split("\n") if line.strip()] for page in text.split("\f")]
    edges = [{_normal(line) for line in _edges(page)} for page in pages]
    n_pages = Counter(line for page in edges for line in page)
    kept: list[str] = []
    for page in pages:
        for at, line in enumerate(page):
            is_edge = at < EDGE_LINES or at >= len(page) - EDGE_LINES
            if not is_edge or n_pages[_normal(line)] < RUNNING_PAGES:
                kept.append(line)
    return "\n".join(kept)


def _edges(page: Sequence[str]) -> Sequence[str]:
    return page if len(page) <= 2 * EDGE_LINES else [*page[:EDGE_LINES], *page[-EDGE_LINES:]]


def _normal(line: str) -> str:
    return _DIGITS.sub("0", line).strip()


def expected_words(path: Path) -> Counter[str]:
    """Return the words of a file by pdftotext, without running heads and feet, or by a library."""
    if path.suffix != ".pdf":
        found = words_of(" ".join(_bounded(lambda: _library_texts(path)) or ()))
        words = Counter({word: n for word, n in found.items() if not word.isdecimal()})
        return Counter(dict.fromkeys(words, 1)) if path.suffix in KINDS["Excel"] else words
    try:
        run = subprocess.run(
            ["pdftotext", path, "-"], capture_output=True, check=False, timeout=YARDSTICK_SECONDS
        )
    except subprocess.TimeoutExpired:
        return Counter()
    words = words_of(without_running(run.stdout.decode("utf-8", "replace")))
    n_letters = sum(n for word, n in words.items() if len(word) == 1 and word.isascii())
    return words if n_letters < MAX_LETTERS * words.total() else Counter()


def _bounded(function: Callable[[], T]) -> T | None:
    """Return the result of a function, or None if it fails or takes too long."""

    def stop(*_: object) -> None:
        raise TimeoutError

    signal.signal(signal.SIGALRM, stop)
    signal.alarm(YARDSTICK_SECONDS)
    try:
        return function()
    except Exception:  # noqa: BLE001 - a hostile file fails in any way
        return None
    finally:
        signal.alarm(0)


def _library_texts(path: Path) -> list[str]:
    if path.suffix in KINDS["Word"]:
        return list(_word_texts(path))
    if path.suffix in KINDS["PowerPoint"]:
        return list(_slide_texts(path))
    if path.suffix in KINDS["Excel"]:
        import openpyxl

        book = openpyxl.load_workbook(path, read_only=True, data_only=True)
        rows = (row for sheet in book.worksheets for row in sheet.iter_rows(values_only=True))
        return [value for row in rows for value in row if isinstance(value, str)]
    message = email.message_from_bytes(path.read_bytes(), policy=email.policy.default)
    bodies = [part for part in message.walk() if part.get_content_type() == "text/plain"]
    shown = [part for part in bodies if part.get_content_disposition() != "attachment"]
    return [str(part.get_content()) for part in shown]


def _word_texts(path: Path) -> Iterator[str]:
    import docx

    document = docx.Document(str(path))
    yield from (paragraph.text for paragraph in document.paragraphs)
    for table in document.tables:
        for row in table.rows:
            cells = dict.fromkeys(cell.text for cell in row.cells)  # merged cells repeat
            yield from cells


def _slide_texts(path: Path) -> Iterator[str]:
    import pptx

    for slide in pptx.Presentation(str(path)).slides:
        for shape in slide.shapes:
            if shape.has_text_frame:
                yield shape.text_frame.text
            elif shape.has_table:
                yield from (cell.text for row in shape.table.rows for cell in row.cells)
        if slide.has_notes_slide and slide.notes_slide.notes_text_frame:
            yield slide.notes_slide.notes_text_frame.text


def outline_of(path: Path) -> Iterator[str]:
    """Yield the titles of the outline whose page has text, without spaces."""
    import pypdfium2 as pdfium

    document = pdfium.PdfDocument(path)
    for entry in document.get_toc():
        place = entry.get_dest()
        page = None if place is None else place.get_index()
        title = _plain(entry.get_title())
        is_page = title and page is not None and page < len(document)
        if is_page and document[page].get_textpage().count_chars():
            yield title


def _plain(text: str) -> str:
    return "".join(_WORD.findall(unicodedata.normalize("NFKC", text).casefold()))


def _begins(text: str, title: str) -> bool:
    """Return whether a text begins with the letters of a title, apart from numbers of sections."""
    first, second = (_DIGITS.sub("", _plain(part)) for part in (text, title))
    return first.startswith(second)


def read(reader: str, path: Path) -> tuple[str, list[tuple[str, int]]]:
    """Return the text of a file with its sections, or nothing if it cannot be read."""
    if reader in ("raptor", "before") and path.suffix != ".pdf":
        return _bounded(lambda: _read_office(path)) or "", []
    if reader in ("raptor", "before"):
        from raptor_formats.base import UnreadableError
        from raptor_formats.pdf.parser import parse_pdf

        try:
            parsed = parse_pdf(path.read_bytes())
        except UnreadableError:
            return "", []
        return parsed.text, [(section.title, section.start) for section in parsed.sections]
    return _bounded(lambda: _read_other(reader, path)) or "", []


def _read_office(path: Path) -> str:
    from raptor_core.documents.parsing.files import parse_file
    from raptor_core.documents.parsing.names import FileName
    from raptor_core.settings import SourceSettings
    from raptor_formats.table import FORMATS

    if path.suffix not in FORMATS:
        return ""
    name = FileName(path.name, path.name)
    items = list(parse_file(name, path.read_bytes(), SourceSettings()))
    return "\n".join(item[1].text for item in items if isinstance(item, tuple))


def _read_other(reader: str, path: Path) -> str:
    if reader == "markitdown":
        from markitdown import MarkItDown

        return str(MarkItDown(enable_plugins=False).convert(path).text_content)
    import pypdf

    pages = pypdf.PdfReader(io.BytesIO(path.read_bytes())).pages
    return "\n".join(page.extract_text() for page in pages)


def measure(reader: str, yardstick: Path) -> None:
    """Print the measures of each file, CPU seconds and memory, as JSON."""
    logging.disable()
    files = json.loads(yardstick.read_text(encoding="utf-8"))
    read(reader, Path(files[0]["path"]))
    before = peak_bytes()
    rows, n_seconds = [], 0.0
    for file in files:
        start = cpu_seconds()
        text, sections = read(reader, Path(file["path"]))
        n_seconds += cpu_seconds() - start
        words = words_of(text)
        n_words = sum(min(n, words[word]) for word, n in file["words"].items())
        left = Counter(file["outline"])
        titles = [(_plain(title), at) for title, at in sections if left[_plain(title)] > 0]
        n_placed = sum((Counter(title for title, _ in titles) & left).values())
        n_right = sum(_begins(text[at : at + 300], title) for title, at in titles)
        n_gaps, n_broken = text.count("\n\n"), len(_BROKEN.findall(text))
        rows.append((n_words, n_gaps, n_broken, n_placed, n_right, len(titles)))
    print(json.dumps([rows, n_seconds, (peak_bytes() - before) // 2**20]))


def save_yardstick(paths: Sequence[Path], file: Path) -> None:
    """Write the words and the outline of each file."""
    rows = []
    for path in sorted(paths, key=lambda path: path.stat().st_size):
        try:
            outline = list(outline_of(path)) if path.suffix == ".pdf" else []
        except Exception:  # noqa: BLE001 - a damaged file has no outline
            outline = []
        rows.append({"path": str(path), "words": expected_words(path), "outline": outline})
    file.write_text(json.dumps(rows), encoding="utf-8")


def report(reader: str, yardstick: Path) -> None:
    """Print the row of a reader."""
    files = json.loads(yardstick.read_text(encoding="utf-8"))
    rows, seconds, memory = in_process(__file__, yardstick, "--reader", reader)
    n_words, n_gaps, n_broken, n_placed, n_right, n_titles = map(sum, zip(*rows, strict=True))
    n_expected = sum(sum(file["words"].values()) for file in files)
    n_entries = sum(len(file["outline"]) for file in files)
    shares = [
        row[0] / sum(file["words"].values())
        for row, file in zip(rows, files, strict=True)
        if sum(file["words"].values()) >= MIN_WORDS
    ]
    print_row(
        reader,
        f"{n_words / n_expected:.4f}",
        f"{sum(share < LOW_SHARE for share in shares)} of {len(shares)}",
        f"{n_broken / max(1, n_gaps):.3f}",
        f"{n_placed / max(1, n_entries):.3f} of {n_entries}",
        f"{n_right / max(1, n_titles):.3f}",
        f"{seconds:.1f}",
        memory,
    )


def main() -> None:
    """Print a row for each reader."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("folder", type=Path)
    parser.add_argument("--readers", nargs="+", choices=READERS, default=["raptor"])
    parser.add_argument("--baseline", type=Path, help="checkout of the code to compare with")
    parser.add_argument("--reader", choices=READERS, help="of a process of its own")
    options = parser.parse_args()
    if options.reader:
        measure(options.reader, options.folder)
        return
    if options.baseline:
        options.readers.append("before")
    for kind, suffixes in KINDS.items():
        paths = [path for path in options.folder.rglob("*") if path.suffix in suffixes]
        if paths:
            print(
                f"\n{kind}: {len(paths)} files, {sum(p.stat().st_size for p in paths) / 1e6:.0f} MB"
            )
            compare(paths, options.readers, options.baseline)


def compare(paths: Sequence[Path], readers: Sequence[str], baseline: Path | None) -> None:
    """Print a table of the readers of files of a kind."""
    print_head(
        *("reader", "words found", f"files under {LOW_SHARE}", "broken", "outline"),
        *("at its words", "CPU seconds", "memory, MB"),
    )
    with tempfile.TemporaryDirectory() as scratch:
        yardstick = Path(scratch, "yardstick.json")
        save_yardstick(paths, yardstick)
        for reader in readers:
            code = os.environ.get("PYTHONPATH", "")
            if reader == "before":
                os.environ["PYTHONPATH"] = f"{baseline}{os.pathsep}{code}"
            report(reader, yardstick)
            os.environ["PYTHONPATH"] = code


if __name__ == "__main__":
    main()
