"""How well files are read: words found, CPU seconds and memory, against other readers.

    python benchmarks/documents.py FOLDER

All PDF files under the folder. The yardstick is poppler's ``pdftotext``: of its words, each as
often as it comes, the share that a reader finds. Running heads and page numbers, which ours leaves
out and it does not, count as lost; a second row has them. pypdf is measured beside ours. Each
reader has a process of its own; memory is what reading added to it.
"""

from __future__ import annotations

import argparse
import io
import json
import logging
import re
import subprocess
from collections import Counter
from pathlib import Path
from unittest import mock

from measuring import cpu_seconds, in_process, peak_bytes, print_head, print_row

READERS = ("ours", "ours with running lines", "pypdf")


def words_of(text: str) -> Counter[str]:
    """Words, each as often as it comes."""
    return Counter(match[0] for match in re.finditer(r"\w+", text.casefold()))


def read(reader: str, path: Path) -> str:
    """The text of a file; empty where it cannot be read."""
    if reader == "pypdf":
        import pypdf

        logging.disable()
        try:
            pages = pypdf.PdfReader(io.BytesIO(path.read_bytes())).pages
            return "\n".join(page.extract_text() for page in pages)
        except Exception:  # noqa: BLE001 - whatever it is, nothing was read
            return ""
    from raptor_core.documents.formats import pdf
    from raptor_core.documents.formats.parsed import UnreadableError

    keep = mock.patch.object(pdf, "without_running_lines", list)
    try:
        if reader == "ours":
            return pdf.parse_pdf(path.read_bytes()).text
        with keep:
            return pdf.parse_pdf(path.read_bytes()).text
    except UnreadableError:
        return ""


def measure(reader: str, paths: list[Path]) -> None:
    """Print shares by file, CPU seconds and memory, as JSON."""
    read(reader, min(paths, key=lambda path: path.stat().st_size))
    before = peak_bytes()
    shares, n_seconds = [], 0.0
    for path in paths:
        start = cpu_seconds()
        found = words_of(read(reader, path))
        n_seconds += cpu_seconds() - start
        told = subprocess.run(["pdftotext", path, "-"], capture_output=True, check=False).stdout
        wanted = words_of(told.decode("utf-8", "replace"))
        n_found = sum(min(n, found[word]) for word, n in wanted.items())
        shares.append((n_found, wanted.total(), str(path)))
    print(json.dumps([shares, n_seconds, (peak_bytes() - before) // 2**20]))


def main() -> None:
    """Print a row for each reader."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("folder", type=Path)
    parser.add_argument("--reader", choices=READERS, help="of a process of its own")
    given = parser.parse_args()
    paths = sorted(given.folder.rglob("*.pdf"))
    if given.reader:
        measure(given.reader, paths)
        return
    print(f"{len(paths)} files, {sum(path.stat().st_size for path in paths) / 1e6:.0f} MB")
    print_head("reader", "words found", "worst file", "under .97", "CPU seconds", "memory, MB")
    for reader in READERS:
        shares, seconds, memory = in_process(__file__, given.folder, "--reader", reader)
        files = [(found / n, name) for found, n, name in shares if n]
        share = sum(found for found, *_ in shares) / sum(n for _, n, _ in shares)
        worst, name = min(files)
        n_low = sum(value < 0.97 for value, _ in files)
        told = f"{worst:.3f} ({Path(name).name})"
        print_row(reader, f"{share:.4f}", told, n_low, f"{seconds:.1f}", memory)


if __name__ == "__main__":
    main()
