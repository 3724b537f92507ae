"""Pages that are only pictures, read by tesseract where it is installed and switched on."""

from __future__ import annotations

import os
import re
import shutil
import subprocess
from typing import Any

from raptor_core.documents.formats.parsed import UnreadableError, clean_text
from raptor_core.documents.formats.running_lines import DIVIDED, Line

PROGRAM = "tesseract"
PAGE_SECONDS = 60
DOTS_PER_INCH = 300
MAX_PIXELS = 4000
"""Of the longer side of a page, whatever its size."""

_POINTS_PER_INCH = 72
_BROKEN_WORD = re.compile(r"(?<=\w)-\n(?=[^\W\d_A-Z])")


def find_tesseract() -> str:
    """Path of the program; empty where it is not installed."""
    return shutil.which(PROGRAM) or ""


def recognize(page: Any, languages: str) -> list[Line]:
    """The lines of a page of PDFium, in reading order; a gap above each paragraph.

    Raises:
        UnreadableError: tesseract is not installed, lacks a language, or takes too long.
    """
    program = find_tesseract()
    if not program:
        raise UnreadableError(
            "holds no text, only images, and source.ocr needs the program tesseract, which is not "
            "installed (Debian: apt install tesseract-ocr)"
        )
    try:
        done = subprocess.run(  # noqa: S603
            [program, "stdin", "stdout", "-l", languages],
            input=_picture(page),
            capture_output=True,
            timeout=PAGE_SECONDS,
            check=False,
            env={**os.environ, "OMP_THREAD_LIMIT": "1"},
        )
    except subprocess.TimeoutExpired as error:
        raise UnreadableError(f"a page took more than {PAGE_SECONDS} s of OCR") from error
    if done.returncode:
        told = " ".join(done.stderr.decode(errors="replace").split())
        raise UnreadableError(f"holds only images, and OCR by source.ocr = {languages!r}: {told}")
    text = _BROKEN_WORD.sub(DIVIDED, done.stdout.decode(errors="replace"))
    rows = (" ".join(clean_text(row).split()) for row in text.split("\n"))
    return [Line(row, top=-float(at)) for at, row in enumerate(rows) if row]


def _picture(page: Any) -> bytes:
    """The page in shades of grey, as PGM."""
    scale = min(DOTS_PER_INCH / _POINTS_PER_INCH, MAX_PIXELS / max(page.get_size()))
    bitmap = page.render(scale=scale, grayscale=True)
    try:
        rows = memoryview(bitmap.buffer).cast("B")
        starts = range(0, bitmap.stride * bitmap.height, bitmap.stride)
        pixels = b"".join(rows[start : start + bitmap.width] for start in starts)
        return b"P5 %d %d 255\n%s" % (bitmap.width, bitmap.height, pixels)
    finally:
        bitmap.close()
