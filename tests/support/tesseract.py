"""The program that reads scanned pages."""

from __future__ import annotations

from raptor_core.documents.formats.pages import find_tesseract

PACKAGE = "tesseract-ocr"
MISSING = (
    "tesseract was not found and could not be installed. Install it (Debian: tesseract-ocr); "
    "`make test-quick` does without"
)

__all__ = ["MISSING", "PACKAGE", "find_tesseract"]
