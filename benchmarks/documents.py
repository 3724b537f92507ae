"""Quality of the PDF parser: words, paragraphs, outline, CPU seconds and memory.

    python benchmarks/documents.py FOLDER [--readers raptor pypdf markitdown]

The benchmark reads all PDF files under the folder. Measures:

- words: share of the words of poppler's ``pdftotext`` that a reader returns, each as often as it
  occurs. Running heads and feet do not count: lines at an edge of a page that three pages have,
  apart from their digits. Hyphens are ignored, Chinese and Japanese characters are words. Files
  whose words pdftotext falls apart into single letters do not count.
- broken: share of paragraph gaps between a letter or comma and a small letter.
- outline: share of the entries of outlines with a page of text that are sections, and share of
  these sections that begin with the words of their entry.

Each reader has a process of its own; memory is what reading added to it.
"""

from __future__ import annotations

import argparse
import io
import json
import logging
import re
import subprocess
import tempfile
import unicodedata
from collections import Counter
from collections.abc import Iterator, Sequence
from pathlib import Path

from measuring import cpu_seconds, in_process, peak_bytes, print_head, print_row

READERS = ("raptor", "pypdf", "markitdown")
EDGE_LINES = 3
YARDSTICK_SECONDS = 10
RUNNING_PAGES = 3
MIN_WORDS = 20
MAX_LETTERS = 0.3
LOW_SHARE = 0.97

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
    """Return the words of a file that pdftotext finds outside of running heads and feet."""
    try:
        run = subprocess.run(
            ["pdftotext", path, "-"], capture_output=True, check=False, timeout=YARDSTICK_SECONDS
        )
    except subprocess.TimeoutExpired:
        return Counter()
    words = words_of(without_running(run.stdout.decode("utf-8", "replace")))
    n_letters = sum(n for word, n in words.items() if len(word) == 1 and word.isascii())
    return words if n_letters < MAX_LETTERS * words.total() else Counter()


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
    if reader == "raptor":
        from raptor_core.documents.formats import pdf
        from raptor_core.documents.formats.parsed import UnreadableError

        try:
            parsed = pdf.parse_pdf(path.read_bytes())
        except UnreadableError:
            return "", []
        return parsed.text, [(section.title, section.start) for section in parsed.sections]
    try:
        return _read_other(reader, path), []
    except Exception:  # noqa: BLE001 - the reader failed, for whatever reason
        return "", []


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


def save_yardstick(folder: Path, file: Path) -> None:
    """Write the words and the outline of each file under the folder."""
    rows = []
    for path in sorted(folder.rglob("*.pdf"), key=lambda path: path.stat().st_size):
        try:
            outline = list(outline_of(path))
        except Exception:  # noqa: BLE001 - a damaged file has no outline
            outline = []
        rows.append({"path": str(path), "words": expected_words(path), "outline": outline})
    file.write_text(json.dumps(rows), encoding="utf-8")


def report(reader: str, yardstick: Path) -> None:
    """Print the row of a reader, and its worst files."""
    files = json.loads(yardstick.read_text(encoding="utf-8"))
    rows, seconds, memory = in_process(__file__, yardstick, "--reader", reader)
    n_words, n_gaps, n_broken, n_placed, n_right, n_titles = map(sum, zip(*rows, strict=True))
    n_expected = sum(sum(file["words"].values()) for file in files)
    n_entries = sum(len(file["outline"]) for file in files)
    shares = [
        (row[0] / sum(file["words"].values()), sum(file["words"].values()), file["path"])
        for row, file in zip(rows, files, strict=True)
        if sum(file["words"].values()) >= MIN_WORDS
    ]
    print_row(
        reader,
        f"{n_words / n_expected:.4f}",
        f"{sum(share < LOW_SHARE for share, *_ in shares)} of {len(shares)}",
        f"{n_broken / max(1, n_gaps):.3f}",
        f"{n_placed / max(1, n_entries):.3f} of {n_entries}",
        f"{n_right / max(1, n_titles):.3f}",
        f"{seconds:.1f}",
        memory,
    )
    worst = sorted(shares, key=lambda row: (row[0] - 1) * row[1])[:40]
    Path(f"{yardstick}.{reader}").write_text(
        "".join(f"{(1 - share) * n:7.0f} {share:.3f} {path}\n" for share, n, path in worst)
    )


def main() -> None:
    """Print a row for each reader."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("folder", type=Path)
    parser.add_argument("--readers", nargs="+", choices=READERS, default=READERS[:2])
    parser.add_argument("--reader", choices=READERS, help="of a process of its own")
    options = parser.parse_args()
    if options.reader:
        measure(options.reader, options.folder)
        return
    paths = list(options.folder.rglob("*.pdf"))
    print(f"{len(paths)} files, {sum(path.stat().st_size for path in paths) / 1e6:.0f} MB")
    print_head(
        *("reader", "words found", f"files under {LOW_SHARE}", "broken", "outline"),
        *("at its words", "CPU seconds", "memory, MB"),
    )
    with tempfile.TemporaryDirectory() as scratch:
        yardstick = Path(scratch, "yardstick.json")
        save_yardstick(options.folder, yardstick)
        for reader in options.readers:
            report(reader, yardstick)


if __name__ == "__main__":
    main()
